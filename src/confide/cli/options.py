"""Options that several verbs share, with one wording each, and what they are read as.

The names stand here a second time, so that pressing Tab loads nothing heavy. A test compares them with the registries.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.errors import ParameterError, TokenError, UsageError

if TYPE_CHECKING:
    from confide.contest.client import OracleClient
    from confide.sources.locations import TableLocation


NEIGHBOURS = ("replace-one", "add-remove-one", "label-only")
UNITS = ("row", "person")
COMPOSITIONS = ("addition", "zcdp")
NOISES = ("laplace", "gaussian")
MODES = ("disclosure-control", "secure-sum", "private", "noisy-scores")
METRICS = ("auc", "average_precision", "brier", "prevalence", "confusion", "curves", "roc", "pr", "calibration",
           "counts", "observed_expected")  # fmt: skip
STRATEGIES = ("auto", "flat", "tree", "haar")
SHAPES = ("concave", "isotonic", "counts", "binormal", "roc-glm")
METHODS = ("score-perturbation", "sparse-vector", "peeling", "permute-and-flip", "clusters")
FEATURE_SCORES = ("total-count", "difference-count", "purity-index", "information-gain")
ENGINES = ("postgresql", "duckdb", "spark")
MODELS = ("naive-bayes", "logistic-regression")


def one_of(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a function that completes one of several names.

    >>> one_of(UNITS)("p")
    ['person']
    """
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def several_of(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a function that completes the last of several names with commas.

    >>> several_of(METRICS)("auc,bri")
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
Label = Annotated[str | None, typer.Option("--label", "-l", metavar="COL", help="Column of labels; it has two values.")]
Positive = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        help="The positive label of two, unless they are 0/1, -1/1 or false/true. A third label is an error.",
    ),
]
PrivatePositive = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        help="The positive label, unless labels are 0/1, -1/1 or false/true. All others are negative: an error about a "
        "third one would tell that a row has it.",
    ),
]
Level = Annotated[float, typer.Option(metavar="P", help="Confidence level of intervals.")]
Delta = Annotated[str, typer.Option(metavar="D", help="For mechanisms that need one; far below 1 / rows.")]
Composition = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        autocompletion=one_of(COMPOSITIONS),
        help="How prices become a total: addition, or zcdp for many small requests (needs --delta). "
        "[default: addition]",
    ),
]
RowsPerPerson = Annotated[
    int | None,
    typer.Option(metavar="K", help="With --unit person: nobody has more than K rows. [default: 1]"),
]
LedgerOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help="A path or postgresql://...; [default: $CONFIDE_LEDGER, or your own ledger]"),
]
AccountOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Account to charge; open it with `confide ledger new`. [default: the only one that knows the file]",
    ),
]
Analyst = Annotated[
    str | None, typer.Option(metavar="NAME", help="The analyst who asks, if the account has caps for analysts.")
]
AlsoCharge = Annotated[
    bool,
    typer.Option(
        "--also-charge",
        help="Charge this account although another one knows the same file; their budgets then add up.",
    ),
]
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
    from confide.sources.files import spooled_input

    return spooled_input()


def split_columns(given: Iterable[str], parameter: str = "score") -> list[str]:
    """Return the columns that a repeatable option names, each time one or several with commas.

    A name with a comma stands in double quotes, as in a CSV file.

    >>> split_columns(["new,old", "age"])
    ['new', 'old', 'age']
    >>> split_columns(['"risk, adjusted",age'])
    ['risk, adjusted', 'age']
    """
    return [name for text in given for name in _split(text, parameter)]


def _split(text: str, parameter: str) -> list[str]:
    if "," not in text and not text.startswith('"'):
        return [text]
    try:
        (names,) = csv.reader([text], strict=True, skipinitialspace=True)
    except (csv.Error, ValueError):
        names = []
    if not names or not all(name.strip() for name in names):
        raise ParameterError(
            f"`{parameter}` must name columns with commas, for example new,old, and a name that has a comma in double "
            f"quotes, for example '\"risk, adjusted\",old'; got {text!r}"
        )
    return [name if '"' in text else name.strip() for name in names]


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
