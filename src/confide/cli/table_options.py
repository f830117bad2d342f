"""Options that name a table in a database instead of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import choices
from confide.errors import UsageError

if TYPE_CHECKING:
    from confide.sources.locations import TableLocation

OptionalFile = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE]",
        help="CSV, TSV, JSON lines or Parquet; text also as .gz; `-` is standard input. Or give --table.",
        show_default=False,
    ),
]
Table = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Instead of FILE, a table: postgresql://host/database/schema.table, duckdb:///file.db?table=name or "
        "spark://host:7077/rows.parquet. Credentials come from the environment (PGUSER, PGPASSWORD, PGPASSFILE, "
        "PGSERVICE); a password in the URL is refused.",
    ),
]
Query = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.sql",
        help="With --table, which then names the database alone, or with --engine spark: a file with one SELECT, whose "
        "rows are read.",
    ),
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        autocompletion=choices.one_of(choices.ENGINES),
        help="Engine that reads: spark, for a path of Parquet. [default: that of the URL; DuckDB for files]",
    ),
]


def choose_source(file: str | None, table: str | None, query: Path | None, engine: str | None) -> str | TableLocation:
    """Return the file, or the location of the table, that a command is about."""
    if file is not None and table is not None:
        raise UsageError("both a FILE and a --table are given; give one of them")
    if file is None and table is None and (query is None or engine != "spark"):
        raise UsageError("no data are named; give a FILE, or a --table with its URL")
    if table is None and engine is None:
        if query is not None:
            raise UsageError("--query is for a database; name it with --table postgresql://host/database")
        return _file_or_location(str(file))
    from confide.sources.locations import TableLocation

    return TableLocation.parse(table or file or "", query=query, engine=engine)


def _file_or_location(file: str) -> str | TableLocation:
    """Return the path as it is, or the location that is given in place of it; refuse URLs of other kinds unquoted."""
    if ":" not in file and "=" not in file:
        return file
    from confide.sources.locations import TableLocation, as_location

    found = as_location(file)
    return found if isinstance(found, TableLocation) else file


def local_file(source: str | TableLocation) -> str:
    """Return the file that holds the rows, for checks that nothing is written over it; `-` if there is none."""
    if isinstance(source, str):
        return source
    from confide.sources.locations import Engine

    return "-" if source.engine is Engine.POSTGRESQL else source.place or "-"


def shown_source(source: str | TableLocation) -> str:
    """Return the name of a source for a title."""
    from confide.cli.output import shown_name

    return shown_name(source) if isinstance(source, str) else source.name
