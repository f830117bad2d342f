"""Requests for a contest: to plan one, to make one, and to publish its final."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import ParameterError
from confide.metrics.names import Face, names_of
from confide.tasks.requests import options
from confide.tasks.requests.options import option, optional

if TYPE_CHECKING:
    from confide.contest.terms import ContestTerms
    from confide.ledger.payer import LedgerPlace
    from confide.privacy.guarantee import Exact

METRICS = names_of(Face.CONTEST)

_METRIC = option(
    "-m",
    metavar="NAME",
    choices=METRICS,
    help=f"Metric of the board and of the final: {', '.join(METRICS[:-1])} or {METRICS[-1]}.",
)
_FINAL = "Final"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestPlanRequest:
    """Request to plan a contest by simulation. `plan_contest` says what the fields mean."""

    rows: int = field(metadata=option("-n", metavar="N", kind=int, least=10, help="Number of rows with labels."))
    prevalence: float = field(
        metadata=option(metavar="P", kind=float, help="A public guess of the share of positives.")
    )
    answers: int = field(
        metadata=option(metavar="K", kind=int, least=2, help="Number of submissions of all teams together.")
    )
    epsilon: Exact = field(metadata=option("-e", metavar="E", help="Promise of the public part."))
    teams: int = optional(50, metavar="T", kind=int, least=2, help="Number of teams.")
    public: float = optional(1.0, metavar="SHARE", kind=float, help="Share of rows that the board is computed from.")
    metric: str = field(default="auc", metadata=_METRIC)
    threshold: float | None = optional(
        None, metavar="T", kind=float, help="Threshold of metrics that need one. [default: 0.5]"
    )
    auc: float = optional(0.8, metavar="A", kind=float, help="AUC that a typical team reaches.")
    final_epsilon: Exact | None = optional(
        None, metavar="E", panel=_FINAL, help="Promise of a final on the other rows."
    )
    final_delta: Exact = optional(0, metavar="D", panel=_FINAL, help="Above 0: shaped Gaussian noise, with less error.")
    finalists: int = optional(20, metavar="K", kind=int, least=2, panel=_FINAL, help="Number of finalists.")
    repetitions: int | None = optional(
        None, metavar="R", kind=int, least=1, help="Simulated contests. [default: as many as take seconds]"
    )
    seed: int = optional(0, metavar="S", kind=int, least=0, help="Seed of the simulation.")
    begin: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestRequest:
    """Request to make a contest. `make_contest` says what the fields mean; `terms` are those without any row."""

    name: str = field(kw_only=False)
    labels_file: str | Path = field(kw_only=False)
    label: str = field(metadata=option("-l", metavar="COL", help="Column of labels."))
    epsilon: Exact = field(
        metadata=option("-e", metavar="E", help="Promise of the board: of all its answers together.")
    )
    id: str = optional("id", metavar="COL", help="Column of ids, which are public.")
    positive: str | None = field(default=None, metadata=options.PRIVATE_POSITIVE)
    metric: str = field(default="auc", metadata=_METRIC)
    threshold: float | None = optional(
        None, metavar="T", kind=float, help="Decision threshold, for metrics that need one. [default: 0.5]"
    )
    public: Exact | None = optional(
        None, metavar="SHARE", help="Share of rows for the board. [default: 0.5 if there is a final, else all]"
    )
    final_epsilon: Exact | None = optional(
        None, metavar="E", help="Promise of the final, on the other rows. [default: no final]"
    )
    final_delta: Exact = optional(
        0, metavar="D", help="For a final with shaped noise, which is less noise; far below 1 / rows."
    )
    per_answer: bool = optional(
        False, kind=bool, help="Charge each answer instead of masking labels: for few questions."
    )
    title: str | None = optional(None, metavar="TEXT", help="Title on pages. [default: the name]")
    score: str = optional("score", metavar="COL", help="Column of scores in submissions.")
    daily_limit: int = optional(5, metavar="N", kind=int, help="Scored submissions of a participant each day.")
    total_limit: int = optional(1000, metavar="N", kind=int, help="Scored submissions of a participant in all.")
    finalists: int = optional(2, metavar="N", kind=int, help="Submissions of a participant in the final.")
    level: float = field(default=0.95, metadata=options.LEVEL)
    ledger: LedgerPlace = field(default=None, repr=False, metadata=options.LEDGER)
    account: str | None = field(default=None, metadata=options.ACCOUNT)
    also_charge: bool = field(default=False, metadata=options.ALSO_CHARGE)
    out: str | Path = optional(
        ".", "-o", metavar="DIR", kind=Path, help="Folder in which the contest's folder is made."
    )
    terms: ContestTerms = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", _draft(self))


def _draft(request: ContestRequest) -> ContestTerms:
    """Return terms whose rows are not known yet, to refuse wrong parameters before any row is read."""
    from confide.contest.labels import flip_probability
    from confide.contest.metric import ContestMetric
    from confide.contest.terms import ContestTerms, FinalMechanism, Mode
    from confide.privacy.guarantee import checked_delta, checked_epsilon

    mode, epsilon = Mode.PER_ANSWER if request.per_answer else Mode.MASKED, checked_epsilon(request.epsilon)
    terms = ContestTerms(
        rows=4,
        public_rows=2,
        flip=flip_probability(epsilon) if mode == Mode.MASKED else None,
        name=request.name,
        title=request.name if request.title is None else request.title,
        metric=ContestMetric.checked(request.metric, request.threshold),
        mode=mode,
        public_share=_share(request.public, request.final_epsilon),
        epsilon=epsilon,
        final_epsilon=None if request.final_epsilon is None else checked_epsilon(request.final_epsilon),
        final_delta=checked_delta(request.final_delta),
        id_column=request.id,
        score_column=request.score,
        daily_limit=request.daily_limit,
        total_limit=request.total_limit,
        finalists=request.finalists,
        level=request.level,
    )
    if terms.final_delta and terms.final_mechanism != FinalMechanism.SHAPED:
        raise ParameterError(
            f"`final_delta` is for a final with shaped noise, which {terms.metric.title} cannot have; leave it out"
            if terms.final_epsilon is not None
            else "`final_delta` is for a final; give `final_epsilon` with it"
        )
    return terms


def _share(public: Exact | None, final_epsilon: Exact | None) -> Fraction:
    """Return the share of public rows; refuse to keep rows for a final that there is not, and no rows for one."""
    if public is None:
        return Fraction(1, 2) if final_epsilon is not None else Fraction(1)
    from confide.privacy.guarantee import exact_fraction

    share = exact_fraction(public, "`public`")
    if not 0 < share <= 1:
        raise ParameterError(f"`public` must lie above 0 and not above 1, for example 0.5; got {public!r}")
    if (share < 1) != (final_epsilon is not None):
        raise ParameterError(
            "rows that are not public are for the final; give `public` below 1 and `final_epsilon` together, or neither"
        )
    return share


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalRequest:
    """Request to publish the final of a contest. `publish_final` says what the fields mean."""

    holder: str | Path = field(kw_only=False)
    labels_file: str | Path = field(
        kw_only=False,
        metadata=option("--labels", metavar="FILE", kind=Path, help="The private file that the contest was made from."),
    )
    finalists_file: str | Path = field(kw_only=False)
    ledger: LedgerPlace = field(default=None, repr=False, metadata=options.LEDGER)
    account: str | None = optional(
        None, metavar="NAME", help="Account to charge. [default: the one that paid for the board]"
    )
    also_charge: bool = field(default=False, metadata=options.ALSO_CHARGE)
    out: str | Path | None = optional(
        None, "-o", metavar="FILE.json", kind=Path, help="File of the result. [default: final.json by HOLDER]"
    )
