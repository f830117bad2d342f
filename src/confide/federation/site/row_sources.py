"""Places of a model's rows at a site: a file, or a table or query in a database.

Both can be opened, digested as they are, and compared by what the settings say. A file is identified by its bytes, a
table by a digest of all its rows, taken in the snapshot in which they are counted. The text of a query is fixed when
the model is set up: its digest stands in `site.toml`, and a changed file is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from hashlib import file_digest
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from confide.errors import ParameterError, UsageError
from confide.ledger.requests import source_digest
from confide.sources.digests import raw_bytes
from confide.sources.locations import Engine, TableLocation, query_digest, read_query

Rows: TypeAlias = Any
"""The path of a file, or a table of Ibis: what counts are taken from."""

_CREDENTIAL_VARIABLES = ("PGPASSFILE", "PGSERVICEFILE", "PGSYSCONFDIR", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY")
_CREDENTIAL_FILES = (".pgpass", ".pg_service.conf", ".postgresql")
_TLS_FILES = ("sslrootcert", "sslcert", "sslkey")


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Open rows, and a function that returns their digest at this moment."""

    rows: Rows
    digest: Callable[[], bytes]


class RowSource(Protocol):
    """Place of a model's rows."""

    def place(self) -> Any:
        """Return what identifies the place, as plain data: it is stored in the site's register."""

    def files(self) -> tuple[Path, ...]:
        """Return the files that the site's engine reads."""

    def copies(self, other: RowSource) -> bool:
        """Return whether both are files with the same bytes."""

    def open(self) -> Any:
        """Open the rows for a block: a context manager of `HeldRows`."""


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows in a file."""

    path: Path

    def place(self) -> str:
        """Return the path, with links followed."""
        return str(self.path.resolve())

    def files(self) -> tuple[Path, ...]:
        """Return the file."""
        return (self.path.resolve(),)

    def copies(self, other: RowSource) -> bool:
        """Return whether two files hold the same bytes."""
        return isinstance(other, FileRows) and same_content(self.path, other.path)

    @contextmanager
    def open(self) -> Iterator[HeldRows]:
        """Open the file. Its digest is taken anew at each call, to see whether somebody writes to it."""
        yield HeldRows(self.path, lambda: source_digest(raw_bytes(self.path)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseRows:
    """Rows of a table, or of a query whose text has a digest that was fixed at set-up."""

    url: str
    folder: Path
    query_file: Path | None = None
    query_sha256: str | None = None

    def location(self, query: str | None = None) -> TableLocation:
        """Return the location; a relative path of a database is one in the site's folder."""
        found = checked_location(self.url, query)
        return replace(found, place=str(self.folder / found.place)) if found.engine is Engine.DUCKDB else found

    def place(self) -> list[Any]:
        """Return the database with the table, or with the digest of the query."""
        found = self.location(None if self.query_sha256 is None else "SELECT")
        return [*map(str, found.database()), self.query_sha256 or list(found.table_name())]

    def files(self) -> tuple[Path, ...]:
        """Return the file of the query, and that of a database of DuckDB."""
        found = self.location(None if self.query_file is None else "SELECT")
        database = (Path(found.place),) if found.engine is Engine.DUCKDB else ()
        return tuple(file.resolve() for file in (*database, self.query_file) if file is not None)

    def credential_files(self) -> Iterator[Path]:
        """Yield the files in which PostgreSQL's driver looks for passwords, services and certificates."""
        found = self.location(None if self.query_file is None else "SELECT")
        if found.engine is Engine.POSTGRESQL:
            yield from (Path(os.environ[name]) for name in _CREDENTIAL_VARIABLES if os.environ.get(name))
            yield from (Path.home() / name for name in _CREDENTIAL_FILES)
            yield from (Path(found.settings[name]) for name in _TLS_FILES if name in found.settings)

    def copies(self, other: RowSource) -> bool:
        """Return False: the rows of tables are compared by their counts alone."""
        return False

    @contextmanager
    def open(self) -> Iterator[HeldRows]:
        """Open one snapshot, in which rows are counted and digested."""
        from confide.sources.open_tables import open_table

        with open_table(self.location(self._query()), private=True) as held:
            yield HeldRows(held.table, cache(held.digest))

    def _query(self) -> str | None:
        if self.query_file is None:
            return None
        text = read_query(self.query_file)
        if query_digest(text) != self.query_sha256:
            raise UsageError(
                f"the query {self.query_file} is not the one that was set up (query_sha256 in site.toml). Put it back, "
                "or set the model up again with `confide site add-model --replace`"
            )
        return text


def is_url(data: str) -> bool:
    """Return whether data are named by the URL of a database, not by a path."""
    return "://" in data


def checked_location(url: str, query: str | None) -> TableLocation:
    """Parse the URL of a site's data; refuse engines whose rows have no identity."""
    found = TableLocation.parse(url, query=query)
    if found.engine is Engine.SPARK:
        raise ParameterError("a site reads files, PostgreSQL and DuckDB; give the rows of Spark as Parquet files")
    return found


def same_source(one: RowSource, other: RowSource) -> bool:
    """Return whether two places are the same by what the settings say; links to files are followed."""
    if isinstance(one, FileRows) and isinstance(other, FileRows):
        return same_file(one.path, other.path)
    return type(one) is type(other) and one.place() == other.place()


def same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, through links of either kind."""
    try:
        return one.resolve() == other.resolve() or one.samefile(other)
    except OSError:
        return False


def same_content(one: Path, other: Path) -> bool:
    """Return whether two files hold the same bytes; unreadable files count as different."""
    try:
        return one.stat().st_size == other.stat().st_size and _digest(one) == _digest(other)
    except OSError:
        return False


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return file_digest(file, "sha256").digest()
