"""Options of `confide validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import choices
from confide.tasks.output_files import check_report


def _checked_report(path: Path | None) -> Path | None:
    """Refuse a report that could not be written, before any site is asked."""
    if path is not None:
        check_report(path)
    return path


FederationOption = Annotated[
    Path, typer.Option("--federation", "-f", metavar="DIR", help="The folder made by `confide federation init`.")
]
ModelOption = Annotated[
    str, typer.Option("--model-name", metavar="NAME", help="The name by which sites know the model.")
]
ModeOption = Annotated[
    str,
    typer.Option(
        "--mode",
        metavar="MODE",
        autocompletion=choices.one_of(choices.MODES),
        help="disclosure-control, secure-sum, private or noisy-scores; see above.",
    ),
]
StudyOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The study, as sites' policies name it. [default: the federation's name]"),
]
EpsilonOption = Annotated[
    str | None,
    typer.Option(
        "--epsilon",
        "-e",
        metavar="E",
        help="Mode private: the price of this validation, such as 1, charged to the privacy budget of each site. Mode "
        "noisy-scores: epsilon of its noise calibration.",
    ),
]
SiteShareOption = Annotated[
    str | None,
    typer.Option(
        metavar="F",
        help="Mode private: the share of epsilon for each site's own results; 0 for the sum alone. [default: 1/2]",
    ),
]
ColludersOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Mode private: the promise holds even if N sites collude with the coordinator. [default: fewer than half]",
    ),
]
MinimumCellOption = Annotated[
    int | None,
    typer.Option(metavar="Q", help="Modes without noise: least rows of a class in a cell. [default: 5; sums: 1]"),
]
GridOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND:CELLS",
        help="Cells of scores: uniform:100, arcsine:40, logit:32, uniform:16:-4:4. [default: by mode; private: by "
        "--rows and --epsilon]",
    ),
]
RowsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Mode private: about how many rows all sites together have, as they state publicly. It decides the "
        "number of cells. [default: 1,000 a site]",
    ),
]
BinsOption = Annotated[int, typer.Option(metavar="N", help="Bins of the calibration curve.")]
SitesOption = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="Ask only these sites. [default: all of the federation]")
]
FewestOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="At least N sites must take part; signed. [default: all that are asked]"),
]
TimeoutOption = Annotated[float, typer.Option(metavar="SECONDS", help="The most that each of two rounds may take.")]
NullAucOption = Annotated[
    float | None, typer.Option(metavar="A", help="Also test whether the pooled AUC is at most A.")
]
LevelOption = Annotated[float, typer.Option(metavar="P", help="Confidence level of intervals.")]
UnitOption = Annotated[str, typer.Option(metavar="UNIT", help="Mode private: whom it protects, row or person.")]
RowsPerPersonOption = Annotated[
    int, typer.Option(metavar="K", help="Mode private, with --unit person: nobody has more than K rows.")
]
EditionOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Mode private: after data changed, ask as the next edition, which is charged anew. [default: 1]",
    ),
]
DeltaOption = Annotated[
    str | None, typer.Option(metavar="D", help="Mode noisy-scores: delta of its noise calibration.")
]
SensitivityOption = Annotated[
    str | None,
    typer.Option(metavar="S", help="Mode noisy-scores: the model's sensitivity, which is stated and not measured."),
]
ReportOption = Annotated[
    Path | None,
    typer.Option(
        metavar="OUT.html", callback=_checked_report, help="Write a report: one HTML file that opens offline."
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Show question, promise, price and expected error; ask nobody, charge nothing."),
]
