"""Findings from the points of a published ROC curve, for adversaries with different knowledge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from confide.attacks.disclosure import SCHEMA
from confide.attacks.from_curve.added import AddedOnRoc, added_on_roc
from confide.attacks.from_curve.alignment import RocAlignment, align_known
from confide.attacks.from_curve.labels import LabelsFromRoc, labels_from_roc
from confide.attacks.from_curve.points import MOST_SIZE, ClassSizes, RocPoints, RocSteps, class_sizes, roc_steps
from confide.counts import ScoreCounts
from confide.errors import DataError, ParameterError

MOST_PAIRS = 2_000
"""Largest number of pairs of class sizes for which an added row is searched: some seconds."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveReport:
    """Findings from a published ROC curve.

    Parameters
    ----------
    points
        Number of points of the curve.
    sizes
        Class sizes that fit the curve.
    steps
        Rows between consecutive points, if one pair of class sizes fits and the points are exact enough.
    labels
        Labels that follow for an adversary who knows the score of every row.
    added
        Row that was added since an earlier curve.
    known
        Places on the curve of rows that the adversary knows.
    """

    points: int
    sizes: ClassSizes
    steps: RocSteps | None = None
    labels: LabelsFromRoc | None = None
    added: AddedOnRoc | None = None
    known: RocAlignment | None = None

    @property
    def certain_ranks(self) -> int | None:
        """Number of rows whose label follows from their rank alone: those in steps with one class."""
        if self.steps is None:
            return None
        rows = self.steps.positives + self.steps.negatives
        return int(rows[(self.steps.positives == 0) | (self.steps.negatives == 0)].sum())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "publishable": False,
            "points": self.points,
            "sizes": self.sizes.to_dict(),
            "steps": None if self.steps is None else self.steps.to_dict(),
            "certain_ranks": self.certain_ranks,
            "labels": None if self.labels is None else self.labels.to_dict(),
            "added": None if self.added is None else self.added.to_dict(),
            "known": None if self.known is None else self.known.to_dict(),
        }


def attack_points(
    points: RocPoints,
    *,
    rows: int | None = None,
    positives: int | None = None,
    negatives: int | None = None,
    scores: ArrayLike | None = None,
    before: RocPoints | None = None,
    known: ScoreCounts | None = None,
) -> CurveReport:
    """Find what the points of a ROC curve give away.

    `rows`, `positives` and `negatives` are what the adversary knows about the class sizes. With `scores`, those of all
    rows, find their labels. With `before`, an earlier curve of the same rows without one, find that row. With `known`
    rows, find their places on the curve.

    >>> report = attack_points(RocPoints([0, 0, 0.5, 1], [0, 0.5, 1, 1]), rows=4)
    >>> list(report.sizes), report.certain_ranks
    ([(2, 2)], 2)
    """
    sizes = _sizes(points, rows, positives, negatives)
    pair = _only_pair(sizes)
    return CurveReport(
        points=points.true_positive_rate.size,
        sizes=sizes,
        steps=_steps(points, pair),
        labels=None if scores is None else labels_from_roc(points, scores, positives=positives),
        added=None if before is None else _added(before, points, sizes, pair),
        known=None if known is None else align_known(_required_steps(points, pair), known),
    )


def _sizes(points: RocPoints, rows: int | None, positives: int | None, negatives: int | None) -> ClassSizes:
    """Return the class sizes that fit the points and what is known about them."""
    if rows is None and positives is not None and negatives is not None:
        rows = positives + negatives
    found = class_sizes(points, rows=rows, most=max(MOST_SIZE, positives or 0, negatives or 0))
    kept = ClassSizes(
        positives=tuple(size for size in found.positives if positives in (None, size)),
        negatives=tuple(size for size in found.negatives if negatives in (None, size)),
        rows=rows,
        most=found.most,
    )
    if not len(kept):
        raise DataError(
            "no class sizes fit the points; check `rows`, `positives` and `negatives`, or give `digits`, the number of "
            "decimals that the rates were rounded to"
        )
    return kept


def _only_pair(sizes: ClassSizes) -> tuple[int, int] | None:
    return next(iter(sizes)) if len(sizes) == 1 else None


def _steps(points: RocPoints, pair: tuple[int, int] | None) -> RocSteps | None:
    try:
        return None if pair is None else roc_steps(points, *pair)
    except DataError:  # rounded too much
        return None


def _required_steps(points: RocPoints, pair: tuple[int, int] | None) -> RocSteps:
    if pair is None:
        raise ParameterError("several class sizes fit the curve; give `rows`, or `positives` and `negatives`")
    return roc_steps(points, *pair)


def _added(before: RocPoints, after: RocPoints, sizes: ClassSizes, pair: tuple[int, int] | None) -> AddedOnRoc:
    """Find the added row; the class sizes are those after it was added."""
    if pair is None:
        if len(sizes) > MOST_PAIRS:
            raise ParameterError(
                f"{len(sizes):,} pairs of class sizes fit the curve, too many to try; give `rows`, or `positives` and "
                "`negatives`"
            )
        return added_on_roc(before, after, most=sizes.most)
    places = []
    for positive in (True, False):
        earlier = (pair[0] - positive, pair[1] - (not positive))
        try:
            found = added_on_roc(before, after, sizes=earlier).places
        except (DataError, ParameterError):  # the row has the other class
            continue
        places += [place for place in found if place.positive == positive]
    if not places:
        raise DataError("the curves do not differ by one row; give curves with a point for each distinct score")
    return AddedOnRoc(places=tuple(places))
