"""Where the ledgers of the contract are, and how to reach behind their backs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, NullPool, create_engine, text

TABLES = ("confide_meta", "confide_heads", "confide_entries")


@cache
def engine_at(url: str) -> Engine:
    """The way around the ledger; no connection stays open."""
    return create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)


@dataclass(frozen=True)
class Place:
    """A place for a ledger that is not made yet: its URL, and the file of its key."""

    kind: str
    url: str
    key: Path

    def execute(self, statement: str, **values: Any) -> list[Any]:
        """Run SQL without asking the ledger."""
        with engine_at(self.url).begin() as connection:
            result = connection.execute(text(statement), values)
            return [tuple(row) for row in result] if result.returns_rows else []

    def dump(self) -> dict[str, list[Any]]:
        """Everything that is stored."""
        return {table: sorted(self.execute(f"SELECT * FROM {table}"), key=repr) for table in TABLES}  # noqa: S608

    @property
    def file(self) -> Path:
        return Path(self.url.removeprefix("sqlite:///"))
