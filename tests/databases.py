"""Real databases for tests: a PostgreSQL server and files of DuckDB, filled with the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import duckdb
import psycopg
from psycopg import sql

KINDS = {int: "bigint", float: "double precision", str: "text"}


@dataclass(frozen=True)
class Database:
    """A database that tests write to with its own driver, and that confide reads by URL."""

    engine: str
    place: str

    @property
    def url(self) -> str:
        """URL of the database, without a table."""
        return f"postgresql://postgres@/postgres?host={self.place}" if self._on_server else f"duckdb:///{self.place}"

    def table_url(self, table: str) -> str:
        joined = "&" if self._on_server else "?"
        return f"{self.url}{joined}table={table}"

    def run(self, statement: str) -> None:
        """Run SQL as the owner of the database."""
        if self._on_server:
            with psycopg.connect(host=self.place, user="postgres", dbname="postgres") as connection:
                connection.execute(statement.encode())
            return
        with duckdb.connect(self.place) as file:
            file.execute(statement)

    def fill(self, table: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Make a table anew."""
        kinds = ", ".join(f"{name} {KINDS[type(values[0])]}" for name, values in columns.items())
        self.run(f"DROP TABLE IF EXISTS {table}")
        self.run(f"CREATE TABLE {table} ({kinds})")
        rows = list(zip(*columns.values(), strict=True))
        if self._on_server:
            with psycopg.connect(host=self.place, user="postgres", dbname="postgres") as connection:
                places = sql.SQL(", ").join(sql.Placeholder() * len(columns))
                insert = sql.SQL("INSERT INTO {} VALUES ({})").format(sql.Identifier(*table.split(".")), places)
                connection.cursor().executemany(insert, rows)
            return
        with duckdb.connect(self.place) as file:
            file.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)  # noqa: S608

    @property
    def _on_server(self) -> bool:
        return self.engine == "postgresql"


def on_server(uri: str) -> Database:
    """Return the database of a running server."""
    return Database("postgresql", parse_qs(urlsplit(uri).query)["host"][0])


def in_file(path: Path) -> Database:
    """Return a database of DuckDB in a file."""
    return Database("duckdb", str(path))
