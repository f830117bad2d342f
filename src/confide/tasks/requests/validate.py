"""Request for a validation at several sites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import ParameterError, UsageError
from confide.tasks.requests import options
from confide.tasks.requests.options import Repeat, option, optional

if TYPE_CHECKING:
    from confide.federation.coordinator.run_state import Progress


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValidateRequest:
    """Request to validate a model at the sites of a federation. `confide.validate` says what the fields mean.

    What follows from the fields alone is checked here; `prepare_validation` checks the question that they make.
    """

    federation: str | Path = field(
        kw_only=False,
        metadata=option("-f", metavar="DIR", kind=Path, help="The folder made by `confide federation init`."),
    )
    model_name: str = field(metadata=option(metavar="NAME", help="The name by which sites know the model."))
    mode: str = field(
        metadata=option(
            metavar="MODE",
            choices=options.MODES,
            help="disclosure-control, secure-sum, private or noisy-scores; see above.",
        )
    )
    study: str | None = optional(
        None, metavar="NAME", help="The study, as sites' policies name it. [default: the federation's name]"
    )
    epsilon: object = optional(
        None,
        "-e",
        metavar="E",
        help="Mode private: the price of this validation, such as 1, charged to the privacy budget of each site. "
        "Mode noisy-scores: epsilon of its noise calibration.",
    )
    site_share: object = optional(
        None,
        metavar="F",
        help="Mode private: the share of epsilon for each site's own results; 0 for the sum alone. [default: 1/2]",
    )
    colluders: int | None = optional(
        None,
        metavar="N",
        kind=int,
        help="Mode private, and secure-sum with --fewest: the promise holds even if N sites collude with the "
        "coordinator. [default: fewer than half]",
    )
    minimum_cell: int | None = optional(
        None, metavar="Q", kind=int, help="Modes without noise: least rows of a class in a cell. [default: 5; sums: 1]"
    )
    grid: str | None = optional(
        None,
        metavar="KIND:CELLS",
        help="Cells of scores: uniform:100, arcsine:40, logit:32, uniform:16:-4:4. [default: by mode; private: by "
        "--rows and --epsilon]",
    )
    rows: int | None = optional(
        None,
        metavar="N",
        kind=int,
        help="Mode private, and --dry-run in every mode: about how many rows all sites together have, as they "
        "state publicly. In mode private it decides the number of cells. [default: 1,000 a site]",
    )
    bins: int = optional(10, metavar="N", kind=int, help="Bins of the calibration curve.")
    sites: Sequence[str] | None = optional(
        None, metavar="A,B,...", repeat=Repeat.COMMAS, help="Ask only these sites. [default: all of the federation]"
    )
    fewest: int | None = optional(
        None,
        metavar="N",
        kind=int,
        help="At least N sites must take part, so that some may drop out; signed. [default: all that are asked]",
    )
    timeout: float = optional(60, metavar="SECONDS", kind=float, help="The most that each round may take.")
    drop_after: float = optional(
        5,
        metavar="SECONDS",
        kind=float,
        help="With --fewest: a silent site has dropped out after this time, from when enough others have replied.",
    )
    valid_days: int = optional(
        30, metavar="N", kind=int, help="Sites answer the question, as it is signed now, for N days and no later."
    )
    null_auc: float | None = optional(
        None, metavar="A", kind=float, help="Also test whether the pooled AUC is at most A."
    )
    level: float = field(default=0.95, metadata=options.LEVEL)
    unit: str = optional(
        "row", metavar="UNIT", choices=options.UNITS, help="Mode private: whom it protects, row or person."
    )
    rows_per_person: int = optional(
        1, metavar="K", kind=int, help="Mode private, with --unit person: nobody has more than K rows."
    )
    edition: int | None = optional(
        None,
        metavar="N",
        kind=int,
        help="Mode private: after data changed, ask as the next edition, which is charged anew. [default: 1]",
    )
    noise: str | None = optional(
        None,
        metavar="KIND",
        choices=options.NOISES,
        help="Mode private: laplace, or gaussian with --delta, which costs less where many questions are asked; "
        "sites must allow it. [default: laplace]",
    )
    delta: object = optional(
        None,
        metavar="D",
        help="Mode private, with --noise gaussian: far below 1 / rows, such as 1e-6. Mode noisy-scores: delta of "
        "its noise calibration.",
    )
    sensitivity: object = optional(
        None, metavar="S", help="Mode noisy-scores: the model's sensitivity, which is stated and not measured."
    )
    purpose: str | None = optional(
        None, metavar="TEXT", help="Why this is asked, for people at sites that approve each question; signed."
    )
    progress: Progress | None = None

    def __post_init__(self) -> None:
        from confide.federation.coordinator.rounds import checked_timeout
        from confide.federation.flare.job import checked_valid_days
        from confide.intervals.interval import check_level

        check_level(self.level)
        if self.null_auc is not None and not 0.0 < self.null_auc < 1.0:
            raise UsageError(f"`null_auc` must lie between 0 and 1; got {self.null_auc:g}")
        checked_timeout(self.timeout)
        checked_timeout(self.drop_after, "drop_after")
        checked_valid_days(self.valid_days)
        if self.sites is not None and (not self.sites or isinstance(self.sites, str)):
            raise ParameterError("`sites` must be a list of names; give some, or leave it out")
