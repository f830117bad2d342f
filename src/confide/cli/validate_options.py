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
        help="Mode private, and secure-sum with --fewest: the promise holds even if N sites collude with the "
        "coordinator. [default: fewer than half]",
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
        help="Mode private, and --dry-run in every mode: about how many rows all sites together have, as they state "
        "publicly. In mode private it decides the number of cells. [default: 1,000 a site]",
    ),
]
BinsOption = Annotated[int, typer.Option(metavar="N", help="Bins of the calibration curve.")]
SitesOption = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="Ask only these sites. [default: all of the federation]")
]
FewestOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="At least N sites must take part, so that some may drop out; signed. [default: all that are asked]",
    ),
]
TimeoutOption = Annotated[float, typer.Option(metavar="SECONDS", help="The most that each round may take.")]
DropAfterOption = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        help="With --fewest: a silent site has dropped out after this time, from when enough others have replied.",
    ),
]
ValidDaysOption = Annotated[
    int,
    typer.Option(metavar="N", help="Sites answer the question, as it is signed now, for N days and no later."),
]
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
NoiseOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        autocompletion=choices.one_of(choices.NOISES),
        help="Mode private: laplace, or gaussian with --delta, which costs less where many questions are asked; sites "
        "must allow it. [default: laplace]",
    ),
]
DeltaOption = Annotated[
    str | None,
    typer.Option(
        metavar="D",
        help="Mode private, with --noise gaussian: far below 1 / rows, such as 1e-6. Mode noisy-scores: delta of its "
        "noise calibration.",
    ),
]
SensitivityOption = Annotated[
    str | None,
    typer.Option(metavar="S", help="Mode noisy-scores: the model's sensitivity, which is stated and not measured."),
]
PurposeOption = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Why this is asked, for people at sites that approve each question; signed."),
]
EveryOption = Annotated[
    str | None,
    typer.Option(
        metavar="PERIOD",
        help="Mode private: ask once in each month, quarter or year, as a new edition, and keep results in --series. "
        "For a timer: called again in the same period, it asks nobody, and writes --report from what is stored.",
    ),
]
SeriesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="With --every: the folder of all results, with a page of performance over time. A folder holds one "
        "question; another one is refused.",
    ),
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
