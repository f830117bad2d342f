"""Records: sealed, append-only chains in SQLite or PostgreSQL, their keys, and the anchor beside the database.

The ledger, a site's register and logs, and the server of contests build on `transaction`; `chain` is its pure part.
"""
