"""Exposure of labels by publishing numbers of a dataset, and the epsilon that would prevent it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.attacks.adversaries import Effort, Insider, Outsider, insider, outsider
from confide.attacks.disclosure import NUMBERS, SCHEMA, Publication
from confide.attacks.numbers import checked_rows
from confide.attacks.one_row.differencing import DifferencedRows, differenced_rows
from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.privacy.adversary import success_bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

USUAL = ("auc:exact", "auc:digits=4", "auc:digits=2", "auc:epsilon=1", "roc:exact", "roc:epsilon=1")
"""Publications that `attack` examines by default."""

_ROWS_ADDED, _ROWS_DIFFERENCED = 50, 2_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exposure:
    """Findings about one publication; `left_out` says why the outsider was not examined.

    `added` holds the labels of rows that follow if the number is published without a row, and again with it.
    """

    published: Publication
    insider: Insider
    outsider: Outsider | None = None
    left_out: str | None = None
    added: DifferencedRows | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "published": self.published.spec,
            "outsider": None if self.outsider is None else self.outsider.to_dict(),
            "left_out": self.left_out,
            "insider": self.insider.to_dict(),
            "added": None if self.added is None else self.added.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AttackReport:
    """Findings about several publications, and the epsilon that would prevent the exposure.

    `level` is the probability from which on a label counts as known. `sure` is the upper bound on any adversary's
    posterior probability, and `epsilon` the largest that ensures it. `majority` is the size of the larger class. With
    `class_sizes` the numbers of positives and negatives are published too, which alone tells an insider the last label.
    """

    rows: int
    majority: int
    class_sizes: bool
    level: float
    sure: float
    exposures: tuple[Exposure, ...]

    @property
    def epsilon(self) -> float:
        """Return the epsilon at which `e^epsilon / (1 + e^epsilon)` is `sure`."""
        return math.log(self.sure / (1.0 - self.sure))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "publishable": False,
            "rows": self.rows,
            "majority": self.majority,
            "class_sizes": self.class_sizes,
            "level": self.level,
            "releases": [exposure.to_dict() for exposure in self.exposures],
            "advice": {"sure": self.sure, "epsilon": self.epsilon, "bound_at_epsilon_1": success_bound(1.0)},
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on {self.rows:,} rows: {len(self.exposures)} publications>"

    def __str__(self) -> str:
        from confide.report.attack import sentences

        return "\n".join(sentences(self))

    def plot(self) -> Figure:
        """Draw what an outsider believes, and how often an insider is right."""
        from confide.report.attack import plot_attack

        return plot_attack(self)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each number about each publication."""
        from confide.report.attack import attack_frame

        return attack_frame(self)

    def _repr_html_(self) -> str:
        from confide.report.attack import fragment

        return fragment(self)


def attack_counts(
    counts: ScoreCounts,
    releases: Sequence[str | Publication] = USUAL,
    *,
    level: float = 0.9,
    sure: float = 0.75,
    class_sizes: bool = False,
    trials: int = 200,
    effort: Effort | None = None,
    generator: np.random.Generator | None = None,
    starting: Callable[[Publication], None] | None = None,
) -> AttackReport:
    """Find what publishing each of some numbers of a dataset would give away of its labels.

    `class_sizes` says that the exact numbers of positives and negatives are published too. `trials` is the number of
    games that the insider plays against a release with noise; `effort` bounds the outsider's work. Nothing is charged
    to a ledger: what is drawn here is not published.

    >>> counts = ScoreCounts.from_arrays([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    >>> found = attack_counts(counts, ["auc:exact"]).exposures[0]
    >>> found.outsider.labelings, found.outsider.certain, found.insider.told
    (1, 6, 6)
    """
    asked = tuple(each if isinstance(each, Publication) else Publication.parse(each) for each in releases)
    if not asked:
        raise ParameterError("releases must name at least one publication, for example auc:digits=4")
    check_levels(level=level, sure=sure)
    positives, negatives = (int(size) for size in checked_rows(counts).both_classes())
    if min(positives, negatives) < 2:
        raise ParameterError("attacks need two rows of each class at least, so that either label can be tried")
    rng = generator or np.random.default_rng()
    effort = replace(effort or Effort(), level=level)
    found = []
    for published in asked:
        if starting is not None:
            starting(published)
        found.append(_exposure(counts, published, effort, trials, class_sizes, rng))
    return AttackReport(
        rows=positives + negatives,
        majority=max(positives, negatives),
        class_sizes=class_sizes,
        level=level,
        sure=sure,
        exposures=tuple(found),
    )


def check_levels(*, level: float, sure: float) -> None:
    """Refuse probabilities outside (0.5, 1)."""
    for name, value in (("level", level), ("sure", sure)):
        if not 0.5 < value < 1.0:
            raise ParameterError(f"{name} must lie between 0.5 and 1; got {value!r}")


def _exposure(
    counts: ScoreCounts,
    published: Publication,
    effort: Effort,
    trials: int,
    class_sizes: bool,
    rng: np.random.Generator,
) -> Exposure:
    inside = insider(counts, published, trials=trials, rng=rng, class_sizes=class_sizes)
    outside = outsider(counts, published, effort, rng)
    added = _added(counts, published, class_sizes, rng)
    if isinstance(outside, str):
        return Exposure(published=published, insider=inside, added=added, left_out=outside)
    return Exposure(published=published, insider=inside, added=added, outsider=outside)


def _added(
    counts: ScoreCounts, published: Publication, class_sizes: bool, rng: np.random.Generator
) -> DifferencedRows | None:
    """Examine some rows, each left out and added again.

    An AUC of many rows is left out, since every class size would have to be tried.
    """
    many = published.metric == "auc" and counts.total_positives + counts.total_negatives > _ROWS_DIFFERENCED
    if published.metric not in NUMBERS or published.private or (many and not class_sizes):
        return None
    return differenced_rows(counts, published, most=_ROWS_ADDED, rng=rng, positives_known=class_sizes)
