"""Options of `confide site`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.errors import UsageError

_DATA = typer.Option(
    "--data",
    "-d",
    metavar="FILE|URL",
    help="The rows: CSV, TSV, JSON lines or Parquet, which stay where they are; or a table: "
    "postgresql://host/database/schema.table, duckdb:///file.db?table=name. Credentials come from the site's "
    "environment (PGUSER, PGPASSWORD, PGPASSFILE, PGSERVICE); a password in the URL is refused.",
)
_LABEL = typer.Option(
    "--label", "-l", metavar="COL", help="Column of labels. It has two values, such as 0 and 1; see --positive."
)

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The site's folder.")]
KitArgument = Annotated[Path, typer.Argument(metavar="KIT.zip", help="The kit that the coordinator sent back.")]
NewFolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The folder for this site; it holds keys.")]
RequestFolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder in which `confide site request` made the site's keys.")
]
SiteNameOption = Annotated[
    str | None, typer.Option("--name", metavar="SITE", help="The site's name, as the coordinator listed it.")
]
RootComparedOption = Annotated[
    bool, typer.Option("--compared", help="I have compared the root's fingerprint with the coordinator by telephone.")
]
ModelOption = Annotated[
    str, typer.Option("--model-name", metavar="NAME", help="The model's name, as the coordinator asks for it.")
]
DataOption = Annotated[str, _DATA]
LabelOption = Annotated[str, _LABEL]
OptionalDataOption = Annotated[str | None, _DATA]
QueryOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.sql",
        help="With the URL of a database in --data: a file with the SELECT that returns the rows, such as a cohort. "
        "Its digest is fixed here; a changed file is refused.",
    ),
]
OptionalLabelOption = Annotated[str | None, _LABEL]
PositiveOption = Annotated[
    str | None,
    typer.Option(metavar="VALUE", help="The label of positive rows. Needed unless labels are 0/1, -1/1 or false/true."),
]
ScoreOption = Annotated[
    str | None,
    typer.Option("--score", "-s", metavar="COL", help="Column of the model's scores, probabilities if possible."),
]
ModelFileOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Instead of --score: the model, run here on --features. scikit-learn (.joblib, .pkl: runs as a program, "
        "so take it only from people you trust) or ONNX (.onnx, with its weights inside).",
    ),
]
FeaturesOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="With --model-file: the columns that the model takes, matched by name if the model knows names, else in "
        "this order.",
    ),
]
RangeOption = Annotated[
    str | None,
    typer.Option(
        "--range",
        metavar="LOW,HIGH",
        help="Range of the model's scores, the same at every site. A score beyond an end counts as that end. "
        "[default: 0,1]",
    ),
]
SameAsOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Make NAME another name for this model, which the site has; give no data then. An answer without noise "
        "under one name counts for both.",
    ),
]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Replace a model of that name.")]
StudiesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--study",
        metavar="NAME",
        help="A study that this site takes part in, as the coordinator names it; repeatable. Others are refused. "
        "[default: one with the federation's name]",
    ),
]
MoreStudiesOption = Annotated[
    list[str] | None,
    typer.Option("--study", metavar="NAME", help="Another study that this site takes part in; repeatable."),
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="E",
        help="Mode private: this site's privacy budget, the most epsilon that all studies together may spend. "
        "[default: 3]",
    ),
]
StudyBudgetOption = Annotated[
    str | None,
    typer.Option(
        "--epsilon-per-study",
        metavar="E",
        help="Mode private: the most epsilon that one study may spend, out of the budget. [default: 1]",
    ),
]
ModesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--modes",
        metavar="MODE,...",
        help="Modes in which this site answers; repeatable. Name disclosure-control or secure-sum to answer without "
        "noise as well. [default: private]",
    ),
]
SiteDeltaOption = Annotated[
    str | None,
    typer.Option(
        "--delta",
        metavar="D",
        help="Mode private: also answer with Gaussian noise, for many small questions; the most delta of all studies "
        "together, far below 1 / rows, such as 1e-6. The ledger then adds up rho (zCDP). [default: Laplace noise only]",
    ),
]
BackgroundOption = Annotated[
    bool, typer.Option("--background", help="Return at once; stop it with `confide site stop`.")
]
RequestsOption = Annotated[int, typer.Option(metavar="N", min=0, help="Show the last N requests.")]
DecidedOption = Annotated[bool, typer.Option("--decided", help="Also show questions that were decided on.")]
QuestionArgument = Annotated[
    str,
    typer.Argument(
        metavar="NUMBER",
        help="The question's number, as `confide site pending` shows it, or its first 8 digits at least.",
    ),
]
WhyOption = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason, which the coordinator reads.")]
CheckOption = Annotated[
    bool, typer.Option("--check", help="Print nothing, and exit with 1 unless the site is connected: for monitoring.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="I have read what this may disclose.")]


def parse_range(text: str | None) -> tuple[float, float] | None:
    """Read a range of scores, two numbers with a comma."""
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--range must be two numbers with a comma, such as -4,4; got {text!r}") from None
    return low, high
