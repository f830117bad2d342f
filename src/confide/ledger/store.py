"""Stores of entries: SQLite by default, PostgreSQL for many machines.

Both make the same promise: a transaction is on the disk when its commit returns, and only one transaction at a time
adds to an account.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from confide.errors import LedgerError
from confide.ledger.place import FilePlace, ServerPlace

LOCK_SECONDS = 30


class Store(ABC):
    """A database that may hold a ledger."""

    shown: str
    engine: Engine

    @abstractmethod
    def exists(self) -> bool:
        """Return whether there is a ledger, without creating one."""

    @abstractmethod
    def create(self, settle: Callable[[], bytes]) -> None:
        """Make an empty ledger, unless another process just did.

        `settle` returns the key of the new ledger; while it runs, no other process creates the ledger.
        """

    @abstractmethod
    def begin(self, connection: Connection, *, writing: bool) -> None:
        """Begin a transaction."""

    @abstractmethod
    def strange_objects(self, connection: Connection) -> bool:
        """Return whether the database holds a foreign trigger, rule or index that could change the ledger's tables."""

    @abstractmethod
    def explain(self, error: Exception) -> str:
        """Describe a driver's error and the next step, without its text, which may hold secrets."""

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[Connection]:
        """Run a block in one transaction: all of it is stored, or nothing."""
        with self.explained(), self.engine.connect() as connection:
            self.begin(connection, writing=writing)
            if self.strange_objects(connection):
                raise LedgerError(
                    f"ledger {self.shown}: somebody added triggers, rules or indexes to its tables, which could undo "
                    "charges. Nothing is released; restore it from a backup"
                )
            yield connection
            connection.commit()  # whoever leaves by an exception is rolled back when the connection closes

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn a driver's errors into ours."""
        try:
            yield
        except (SQLAlchemyError, UnicodeDecodeError) as error:  # a damaged file may name what is wrong in damaged text
            raise LedgerError(f"ledger {self.shown}: {self.explain(error)}. Nothing is released") from None


def open_store(place: FilePlace | ServerPlace) -> Store:
    """Return the store at a place; nothing is read or written yet."""
    if isinstance(place, FilePlace):
        from confide.ledger.sqlite import SQLiteStore

        return SQLiteStore(place)
    from confide.ledger.postgresql import PostgreSQLStore

    return PostgreSQLStore(place)
