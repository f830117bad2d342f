"""Options that several attacks share."""

from __future__ import annotations

from typing import Annotated

import typer

Label = Annotated[str, typer.Option("--label", "-l", metavar="COL", help="Column of labels, two values.")]
Seed = Annotated[
    int | None, typer.Option(metavar="N", help="Draw rows, labelings and coins again as before; noise is always new.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of words and tables.")]
Releases = Annotated[
    list[str] | None,
    typer.Option(
        "--release",
        "-r",
        metavar="SPEC",
        help="Publication to examine: METRIC or METRIC:exact, METRIC:digits=4, METRIC:epsilon=1 or "
        "METRIC:epsilon=0.1,times=10, for auc, roc, average_precision, accuracy, log_loss or brier; repeatable, "
        "each judged alone. [default: a selection for auc and roc]",
    ),
]
