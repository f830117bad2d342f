"""Options of `confide release`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from confide.cli import choices
from confide.errors import ParameterError

T = TypeVar("T")

GRIDS = (
    "arcsine:32, uniform:16, uniform:16:-4:4, logit:64, edges:0,0.1,0.3,1 or public:FILE:COLUMN:16 (quantiles of "
    "public scores); or, for a fifth of epsilon, quantiles:16, quantiles:16:-4:4 (of the private ones) or medians:10"
)

Score = Annotated[list[str] | None, typer.Option("--score", "-s", metavar="COL", help="Column of scores, one.")]
Model = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL.json", help="Instead of columns: the file that `confide train` wrote; run on held-out rows."
    ),
]
Epsilon = Annotated[
    str | None,
    typer.Option(
        "--epsilon",
        "-e",
        metavar="E",
        help="Privacy budget of this release, for example 1 or 1/3. [default with --model: that of its workflow]",
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="NAME",
        autocompletion=choices.several_of(choices.METRICS),
        help="Metric to release; repeatable, or several with commas. [default: auc]",
    ),
]
Neighbours = Annotated[
    str | None,
    typer.Option(
        metavar="RELATION",
        autocompletion=choices.one_of(choices.NEIGHBOURS),
        help="What may differ: a row's values (replace-one), its presence (add-remove-one) or its label (label-only). "
        "[default: replace-one; with --model that of the training]",
    ),
]
Mechanism = Annotated[
    str, typer.Option(metavar="NAME", help="Mechanism that adds noise; auto chooses from public facts alone.")
]
Threshold = Annotated[
    list[float] | None,
    typer.Option(
        "--threshold", "-t", metavar="T", help="For confusion measures, one: score >= T is positive. [default: 0.5]"
    ),
]
GridOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND:CELLS",
        help=f"Cells of scores, for curves and private-counts: {GRIDS}. [default: cells on 0 to 1, for "
        "probabilities; under label-only cells with equally many rows]",
    ),
]
Strategy = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=choices.one_of(choices.STRATEGIES),
        help="How cells of curves are counted: flat, tree, tree:8, haar or auto.",
    ),
]
Shape = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=choices.one_of(choices.SHAPES),
        help="Shape of curves: concave (default), isotonic, counts, binormal or roc-glm; costs nothing.",
    ),
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option(metavar="MEASURE=P", help="Choose a threshold from the curves: recall=0.9 or specificity=0.9."),
]
Safe = Annotated[
    bool, typer.Option("--safe", help="With --target: the lower end of its interval must reach the target.")
]
WithAuc = Annotated[
    bool,
    typer.Option(
        "--with-auc", help="With curves: a quarter of epsilon for an AUC of its own; for scores with few values."
    ),
]
PrevalenceGuess = Annotated[
    float | None, typer.Option(metavar="P", help="A public guess of the share of positives; steers the noise.")
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT",
        autocompletion=choices.one_of(choices.UNITS),
        help="What it protects: row or person. [default: row; with --model that of the training]",
    ),
]
DataName = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="With --table: the declared name and version of its rows, which identify them in the ledger.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="OUT.json", help="Write JSON that may be published as it is: no ledger in it."),
]
Report = Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write a page that may be published as it is.")]
Reveal = Annotated[
    bool,
    typer.Option(
        "--reveal", help="Draw exact curves on the report too. It is then NOT private and must not be published."
    ),
]


def split_names(given: Sequence[str] | None, default: str) -> list[str]:
    """Return the names in repeated options, each of which may hold several with commas."""
    return [name.strip() for one in given or [default] for name in one.split(",") if name.strip()]


def at_most_one(given: Sequence[T] | None, option: str) -> T | None:
    """Return the value of an option. Refuse a repeated one: silently taking the last would charge for the wrong one."""
    if given and len(given) > 1:
        raise ParameterError(f"a release takes one {option}; request each of them by itself")
    return given[0] if given else None
