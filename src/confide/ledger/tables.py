"""Tables of a ledger, the same in SQLite and PostgreSQL."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, MetaData, Table, Text

VERSION = "2"

SCHEMA = MetaData()

META = Table(
    "confide_meta",
    SCHEMA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

HEADS = Table(
    "confide_heads",
    SCHEMA,
    Column("account", Text, primary_key=True),
    Column("sequence", Integer, nullable=False),
    Column("hash", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("seal", Text, nullable=False),
)

# The primary key is a second net: two entries cannot take the same place in a chain.
ENTRIES = Table(
    "confide_entries",
    SCHEMA,
    Column("account", Text, primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("analyst", Text),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("request_id", Text),
    Column("data", Text),
    Column("answer", Text),
    Column("charge", Integer),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

# A charge looks up the entries of its own request.
Index("confide_entries_request", ENTRIES.c.account, ENTRIES.c.request_id)
