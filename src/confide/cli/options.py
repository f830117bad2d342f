"""Options that several verbs share, with one wording each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import choices

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
        autocompletion=choices.one_of(choices.COMPOSITIONS),
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
