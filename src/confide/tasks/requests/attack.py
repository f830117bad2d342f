"""Requests for attacks: what publishing exact numbers would give away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.errors import ParameterError
from confide.metrics.names import Face, names_of
from confide.tasks.requests import options
from confide.tasks.requests.options import Repeat, option, optional

if TYPE_CHECKING:
    import numpy as np

    from confide.attacks.adversaries import Effort
    from confide.attacks.disclosure import Publication
    from confide.attacks.from_curve.points import RocPoints

_ATTACKED = names_of(Face.ATTACK)
_SEED = option(metavar="N", kind=int, help="Draw rows, labelings and coins again as before; noise is always new.")


def _check_seed(seed: int | None, generator: object) -> None:
    if seed is not None and generator is not None:
        raise ParameterError("give `seed` or `generator`, not both")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackRequest:
    """Request to examine publications of a dataset. `confide.attack` says what the fields mean."""

    source: Any = field(kw_only=False, repr=False)
    releases: Sequence[str | Publication] | None = field(
        default=None,
        kw_only=False,
        metadata=option(
            *("--release", "-r"),
            metavar="SPEC",
            repeat=Repeat.LISTED,
            help="Publication to examine: METRIC or METRIC:exact, METRIC:digits=4, METRIC:epsilon=1 or "
            f"METRIC:epsilon=0.1,times=10, for {', '.join(_ATTACKED[:-1])} or {_ATTACKED[-1]}; repeatable, each "
            "judged alone. [default: a selection for auc and roc]",
        ),
    )
    label: str | None = optional(None, "-l", metavar="COL", required=True, help="Column of labels, two values.")
    score: str | None = optional(None, "-s", metavar="COL", required=True, help="Column of scores.")
    positive: str | None = field(default=None, metadata=options.POSITIVE)
    class_sizes: bool = optional(
        False, kind=bool, help="The exact numbers of positives and negatives are published too."
    )
    level: float = optional(0.9, metavar="P", kind=float, help="Probability from which on a label counts as known.")
    sure: float = optional(
        0.75, metavar="P", kind=float, help="Probability of a label that no adversary may reach; epsilon follows."
    )
    trials: int = optional(
        200, metavar="N", kind=int, least=1, help="Number of times that a release with noise is drawn and attacked."
    )
    seed: int | None = field(default=None, metadata=_SEED)
    generator: np.random.Generator | None = None
    effort: Effort | None = None
    starting: Callable[[Publication], None] | None = None

    def __post_init__(self) -> None:
        _check_seed(self.seed, self.generator)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveAttackRequest:
    """Request to examine a published ROC curve. `attack_curve` says what the fields mean."""

    curve: str | Path | RocPoints = field(kw_only=False)
    before: str | Path | RocPoints | None = optional(
        None, metavar="CURVE", kind=Path, help="Earlier curve of the same rows without one: find that row."
    )
    scores: Any = field(
        default=None,
        repr=False,
        metadata=option(metavar="FILE", kind=Path, help="Scores of all rows, without labels: find the labels."),
    )
    known: Any = field(
        default=None,
        repr=False,
        metadata=option(metavar="FILE", kind=Path, help="Rows that the adversary knows: find them on the curve."),
    )
    label: str | None = optional(None, "-l", metavar="COL", help="With --known: labels.")
    score: str | None = optional(None, "-s", metavar="COL", help="Column of scores of --scores or --known.")
    positive: str | None = field(default=None, metadata=options.POSITIVE)
    digits: int | None = optional(
        None, metavar="D", kind=int, help="Decimals that rates were rounded to. [default: exact]"
    )
    rows: int | None = optional(None, "-n", metavar="N", kind=int, least=2, help="Rows, if known.")
    positives: int | None = field(
        default=None, repr=False, metadata=option(metavar="N", kind=int, least=1, help="Positive rows, if known.")
    )
    negatives: int | None = field(
        default=None, repr=False, metadata=option(metavar="N", kind=int, least=1, help="Negative rows, if known.")
    )

    def __post_init__(self) -> None:
        if self.known is not None and self.label is None:
            raise ParameterError("name the column of labels of the known rows (`label=COL`)")
        if (self.known is not None or self.scores is not None) and self.score is None:
            raise ParameterError("name the column of scores (`score=COL`)")
        if self.known is None and (self.label, self.positive) != (None, None):
            raise ParameterError("`label` and `positive` are about known rows; give `known`, or leave them out")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContestAttackRequest:
    """Request to rehearse a contest. `attack_contest` says what the fields mean."""

    rows: int = field(
        kw_only=False, metadata=option("-n", metavar="N", kind=int, help="Number of rows of the test set.")
    )
    queries: int = field(
        kw_only=False, metadata=option("-q", metavar="K", kind=int, help="Number of submissions allowed.")
    )
    oracle: str | Publication | None = optional(
        None,
        metavar="SPEC",
        help="Answers of the oracle: METRIC:exact, METRIC:digits=5 or METRIC:epsilon=1 (for each answer), for auc, "
        "average_precision, accuracy, log_loss or brier. [default: auc:digits=5, with a Ladder accuracy]",
    )
    positives: int | None = field(
        default=None,
        repr=False,
        metadata=option(metavar="N", kind=int, help="Number of positive rows. [default: half]"),
    )
    ladder: str | None = optional(None, metavar="STEP", help="Defend with the Ladder of Blum & Hardt and this step.")
    seed: int | None = field(default=None, metadata=_SEED)
    generator: np.random.Generator | None = None

    def __post_init__(self) -> None:
        _check_seed(self.seed, self.generator)
