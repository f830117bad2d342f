"""Options of commands: those of a request, made from its fields, and those that several verbs share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from functools import partial, wraps
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any

import typer

from confide.errors import ParameterError, TokenError, UsageError
from confide.tasks.requests import options as shared
from confide.tasks.requests.options import OPTION, Option, Repeat

if TYPE_CHECKING:
    from confide.contest.client import OracleClient
    from confide.sources.locations import TableLocation


def options_of(*requests: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command have the fields of requests as options.

    The first parameters of the decorated function are a `partial` of each request, with the values that a user gave in
    place of defaults. An option with a name that several requests have goes to each.
    """
    known = [{each.name: each for each in fields(request) if OPTION in each.metadata} for request in requests]
    every = {name: each for one in reversed(known) for name, each in one.items()}
    every = {name: every[name] for one in known for name in one}  # in the order of the requests

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = list(signature.parameters.values())[len(requests) :]
        parameters = [_parameter(each, required=len(requests) == 1) for each in every.values()]
        parameters.sort(key=lambda each: each.default is not each.empty)  # first those that are required
        defaults = {each.name: each.default for each in parameters}

        @wraps(command)
        def run(**values: Any) -> None:
            typed = {name: values.pop(name) for name in every}
            given = {name: _read(every[name], one) for name, one in typed.items() if one != defaults[name]}
            given = {name: one for name, one in given.items() if one is not None}
            filled = [
                partial(request, **{name: given[name] for name in names if name in given})
                for request, names in zip(requests, known, strict=True)
            ]
            command(*filled, **values)

        all_of = [*parameters, *(each.replace(kind=each.KEYWORD_ONLY) for each in own)]
        run.__signature__ = signature.replace(parameters=all_of)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in all_of}
        return run

    return decorate


def _parameter(each: Field[Any], *, required: bool) -> inspect.Parameter:
    """Return the parameter of a command for a field: its type, its option and its default.

    Of several requests a user means one: then no field is `required` of all users.
    """
    described: Option = each.metadata[OPTION]
    repeated = described.repeat is not Repeat.NEVER
    default: Any = None if repeated else each.default
    if each.default is MISSING or described.required:
        default = inspect.Parameter.empty if required else None
    if default is not None and default is not inspect.Parameter.empty and described.kind is str:
        default = str(default)
    kind: Any = GenericAlias(list, described.kind) if repeated else described.kind
    annotation: Any = Annotated[kind | None if default is None else kind, as_typer(described, each.name)]
    return inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def as_typer(described: Option, name: str) -> Any:
    """Return Typer's form of an option."""
    complete = several_of if described.repeat is Repeat.COMMAS else one_of
    return typer.Option(
        *_flags(described, name),
        metavar=described.metavar,
        help=described.help,
        autocompletion=complete(described.choices) if described.choices else None,
        rich_help_panel=described.panel,
        min=described.least,
        max=described.most,
    )


def _flags(described: Option, name: str) -> tuple[str, ...]:
    """Return the flags of an option; its long name is that of the field, unless it has one."""
    if len(name) == 1 or any(flag.startswith("--") for flag in described.flags):
        return described.flags
    return (f"--{name.replace('_', '-')}", *described.flags)


def _read(each: Field[Any], typed: Any) -> Any:
    """Return the value of a field as it was typed; None if it was left out."""
    described: Option = each.metadata[OPTION]
    if typed is None or typed in ([], ()):
        return None
    if described.repeat is Repeat.REFUSED:
        if len(typed) > 1:
            flag = max(_flags(described, each.name), key=len)
            raise ParameterError(f"there can be one {flag}; request each of them by itself")
        typed = typed[0]
    elif described.repeat is Repeat.COMMAS:
        typed = [name.strip() for one in typed for name in one.split(",") if name.strip()]
    return typed if described.read is None else described.read(typed, each.name)


def _shared_option(name: str, metadata: Mapping[str, Option]) -> Any:
    return as_typer(metadata[OPTION], name)


ENGINES = ("postgresql", "duckdb", "spark")


def one_of(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a function that completes one of several names.

    >>> one_of(shared.UNITS)("p")
    ['person']
    """
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def several_of(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a function that completes the last of several names with commas.

    >>> several_of(shared.METRICS)("auc,bri")
    ['auc,brier']
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        given = before.split(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in given]

    return complete


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, TSV, JSON lines or Parquet; text also as .gz; `-` is standard input.",
        show_default=False,
    ),
]
LedgerOption = Annotated[str | None, _shared_option("ledger", shared.LEDGER)]
AccountOption = Annotated[str | None, _shared_option("account", shared.ACCOUNT)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the price; charge and release nothing.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE.json", help="Write what was released to this file.")
]
Title = Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.")]


def readable(file: str) -> Path:
    """Return the path of a file. Standard input is copied to a temporary file, since its bytes are needed twice."""
    if file != "-":
        return Path(file)
    from confide.sources.duckdb_files import spooled_input

    return spooled_input()


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
        autocompletion=one_of(ENGINES),
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


ContestArgument = Annotated[str, typer.Argument(metavar="CONTEST", help="Name of the contest.")]
To = Annotated[
    str,
    typer.Option(
        "--to", metavar="URL", help="Address of the server. The token is read from the variable CONFIDE_TOKEN."
    ),
]
OptionalTo = Annotated[
    str | None,
    typer.Option("--to", metavar="URL", help="Address of the server; your own token is read from CONFIDE_TOKEN."),
]
AllowHttp = Annotated[
    bool, typer.Option("--allow-http", help="Allow http:// to another machine, where others may read the token.")
]


def client_of(to: str, contest: str | None, *, allow_http: bool, token_needed: bool = True) -> OracleClient:
    """Return a client of a contest; refuse to ask without a token where one is needed."""
    from confide.contest.client import OracleClient

    client = OracleClient(to, contest=contest, allow_http=allow_http)
    if token_needed and not client.has_token:
        raise TokenError(
            "there is no token; set the variable CONFIDE_TOKEN to the token that the organiser gave you. There is "
            "no option for it, because other users can see a command's options"
        )
    return client
