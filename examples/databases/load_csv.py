"""Load a CSV file of numbers and texts into a new table of PostgreSQL.

    python examples/databases/load_csv.py demo/heart_attack.csv trial.scores

The server, the user and the password come from the environment (PGHOST, PGUSER, PGPASSWORD).
"""

from __future__ import annotations

import sys

import pandas as pd
import psycopg
from psycopg import sql


def main(file: str, name: str) -> None:
    """Make the schema and the table, and fill it."""
    rows = pd.read_csv(file)
    schema, table = name.split(".")
    numeric = {column: pd.api.types.is_numeric_dtype(rows[column]) for column in rows.columns}
    columns = sql.SQL(", ").join(
        sql.SQL("{} double precision" if numeric[column] else "{} text").format(sql.Identifier(column))
        for column in rows.columns
    )
    with psycopg.connect(dbname="postgres") as connection:
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        connection.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(schema, table), columns))
        with connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(schema, table))) as copy:
            for row in rows.astype(object).where(rows.notna(), None).itertuples(index=False):
                copy.write_row(row)


if __name__ == "__main__":
    main(*sys.argv[1:])
