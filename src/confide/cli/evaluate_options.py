"""Options of `confide evaluate`, with their help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.errors import ParameterError

Label = Annotated[str, typer.Option("--label", "-l", metavar="COL", help="Column of labels; it has two values.")]
Score = Annotated[
    list[str] | None,
    typer.Option("--score", "-s", metavar="COL", help="Column of scores; repeat it, or use commas, to compare models."),
]
Imputed = Annotated[
    list[str] | None,
    typer.Option(
        "--imputed",
        metavar="NAME=COL,COL",
        help="A model with one column of scores for each imputed dataset; estimates are pooled (Rubin). Repeatable.",
    ),
]
Weight = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of weights: the number of rows that a row stands for.")
]
SurveyWeight = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of sampling weights: inverse sampling probabilities.")
]
Group = Annotated[
    list[str] | None,
    typer.Option("--group", "-g", metavar="COL", help="Evaluate each value of this column too; repeat it to cross."),
]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Rows with one value here depend on each other, as the stays of one patient do."),
]
Fold = Annotated[
    str | None, typer.Option(metavar="COL", help="Fold of a cross-validation; ranking is averaged over folds.")
]
MissingRows = Annotated[
    str, typer.Option("--missing", metavar="RULE", help="Rows without a score: refuse, or drop and count them.")
]
Threshold = Annotated[
    list[float] | None,
    typer.Option("--threshold", "-t", metavar="T", help="Call score >= T positive; repeatable. [default: 0.5]"),
]
CostRatio = Annotated[
    float | None,
    typer.Option(metavar="R", help="Cost of a missed positive over that of a false alarm: find the best threshold."),
]
Specificity = Annotated[
    list[str] | None,
    typer.Option("--specificity", metavar="LOW:HIGH", help="Partial AUC over these specificities; repeatable."),
]
Sensitivity = Annotated[
    list[str] | None,
    typer.Option("--sensitivity", metavar="LOW:HIGH", help="Partial AUC over these sensitivities; repeatable."),
]
IntervalMethod = Annotated[
    str | None,
    typer.Option(
        "--interval", metavar="METHOD", help="plain, logit or bootstrap, for all numbers. [default: what suits each]"
    ),
]
Replicates = Annotated[int, typer.Option(metavar="N", help="Replicates of the bootstrap; 0 for none, which is fast.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the bootstrap.")]
Report = Annotated[
    Path | None, typer.Option(metavar="OUT.html", help="Write a report: one HTML file that opens offline.")
]
Figures = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Write each figure as SVG, PDF and PNG (300 dpi) into this folder.")
]
Tables = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Write each table as CSV, LaTeX, Markdown and Word into this folder."),
]


def ranges(given: list[str] | None, parameter: str) -> list[tuple[float, float]] | None:
    """Read ranges such as 0.9:1."""
    return None if given is None else [_range(text, parameter) for text in given]


def _range(text: str, parameter: str) -> tuple[float, float]:
    low, separator, high = text.partition(":")
    try:
        if separator:
            return float(low), float(high)
    except ValueError:
        pass
    raise ParameterError(f"`{parameter}` must be a range such as 0.9:1, got {text!r}")


def imputed_columns(given: list[str] | None) -> dict[str, list[str]] | None:
    """Read models such as risk=risk_1,risk_2."""
    from confide.cli.inputs import split_columns

    if given is None:
        return None
    models: dict[str, list[str]] = {}
    for text in given:
        name, separator, columns = text.partition("=")
        if not (name and separator and columns) or name in models:
            raise ParameterError(
                f"`imputed` must name each model once with its columns, for example risk=risk_1,risk_2; got {text!r}"
            )
        models[name] = split_columns([columns], "imputed")
    return models
