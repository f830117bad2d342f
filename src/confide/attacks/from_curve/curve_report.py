"""Findings from a published ROC curve, for adversaries with different knowledge."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from confide.attacks.disclosure import SCHEMA
from confide.attacks.from_curve.labels import LabelsFromRoc, labels_from_roc
from confide.attacks.from_curve.points import (
    MOST_SIZE,
    ClassSizes,
    RocAlignment,
    RocPoints,
    RocSteps,
    align_known,
    class_sizes,
    roc_steps,
)
from confide.counts import ScoreCounts
from confide.errors import DataError, ParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class RocPlace:
    """Possible class and place of the added row: `above` rows have higher scores, `tied` others have its score.

    With thresholds its score lies in [lowest, below).
    """

    positives_before: int
    negatives_before: int
    positive: bool
    above: int
    tied: int
    lowest: float | None = None
    below: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a score without an upper end is None there."""
        return {
            "positives_before": self.positives_before,
            "negatives_before": self.negatives_before,
            "positive": self.positive,
            "above": self.above,
            "tied": self.tied,
            "lowest": self.lowest,
            "below": None if self.below is None or math.isinf(self.below) else self.below,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedOnRoc:
    """Every class and place that the row added between two ROC curves can have."""

    places: tuple[RocPlace, ...]

    @property
    def positive(self) -> bool | None:
        """Return the label, if it follows."""
        labels = {place.positive for place in self.places}
        return labels.pop() if len(labels) == 1 else None

    @property
    def certain(self) -> bool:
        """Tell whether the label follows."""
        return self.positive is not None

    @property
    def ranks(self) -> tuple[int, ...]:
        """Return the numbers of rows that may lie above it."""
        return tuple(sorted({place.above for place in self.places}))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"positive": self.positive, "certain": self.certain, "places": [each.to_dict() for each in self.places]}


def added_on_roc(
    before: RocPoints, after: RocPoints, *, sizes: tuple[int, int] | None = None, most: int = MOST_SIZE
) -> AddedOnRoc:
    """Find the row that was added between two ROC curves that have a point for each distinct score.

    The steps after are those before with one row more in a step, or with a new step of one row. `sizes` are the
    positives and negatives before; else all up to `most` are tried that fit both curves. Several places come out where
    the new row stands beside rows of its class. With thresholds in both curves its score follows too.

    >>> before = RocPoints([0, 0, 1], [0, 1, 1])
    >>> added_on_roc(before, RocPoints([0, 0, 0.5, 1], [0, 1, 1, 1]), sizes=(1, 1)).ranks
    (1, 2)
    """
    if sizes is not None and min(sizes) < 1:
        raise ParameterError("sizes must be the number of positives and of negatives before, at least one of each")
    found = [
        place
        for ours, theirs in ([sizes] if sizes is not None else _common_sizes(before, after, most))
        for positive in (True, False)
        for place in _roc_places(before, after, ours, theirs, positive)
    ]
    if not found:
        raise DataError("the curves do not differ by one row; give curves with a point for each distinct score")
    return AddedOnRoc(places=tuple(found))


def _common_sizes(before: RocPoints, after: RocPoints, most: int) -> list[tuple[int, int]]:
    """Return the class sizes before that fit, with one more row of either class after."""
    old, new = class_sizes(before, most=most), class_sizes(after, most=most + 1)
    ours, theirs = set(new.positives), set(new.negatives)
    grown = [(p, q) for p in old.positives if p + 1 in ours for q in old.negatives if q in theirs]
    return sorted({*grown, *((p, q) for p in old.positives if p in ours for q in old.negatives if q + 1 in theirs)})


def _roc_places(before: RocPoints, after: RocPoints, ours: int, theirs: int, positive: bool) -> Iterator[RocPlace]:
    try:
        old, new = roc_steps(before, ours, theirs), roc_steps(after, ours + positive, theirs + (not positive))
    except DataError:
        return
    row = (int(positive), int(not positive))
    earlier, later = _pairs(old), _pairs(new)
    for k, tied in _where(earlier, later, row):
        if old.lowest is not None and new.lowest is not None:
            kept = new.lowest if tied else np.delete(new.lowest, k)
            if not np.array_equal(kept, old.lowest):
                continue
        yield RocPlace(
            positives_before=ours,
            negatives_before=theirs,
            positive=positive,
            above=sum(map(sum, earlier[:k])),
            tied=sum(earlier[k]) if tied else 0,
            lowest=None if new.lowest is None else float(new.lowest[k]),
            below=None if new.below is None else float(new.below[k]),
        )


def _pairs(steps: RocSteps) -> list[tuple[int, int]]:
    return list(zip(steps.positives.tolist(), steps.negatives.tolist(), strict=True))


def _where(
    earlier: list[tuple[int, int]], later: list[tuple[int, int]], row: tuple[int, int]
) -> Iterator[tuple[int, bool]]:
    """Yield the steps that the row may have joined (True), or that it forms by itself (False).

    The steps before the place must agree from the front, and those behind it from the back.
    """
    front, back = _agreeing(earlier, later), _agreeing(earlier[::-1], later[::-1])
    if len(later) == len(earlier):
        for k, (old, new) in enumerate(zip(earlier, later, strict=True)):
            if k <= front and len(earlier) - k - 1 <= back and new == (old[0] + row[0], old[1] + row[1]):
                yield k, True
    elif len(later) == len(earlier) + 1:
        for k, new in enumerate(later):
            if k <= front and len(earlier) - k <= back and new == row:
                yield k, False


def _agreeing(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> int:
    """Count the equal steps from the beginning."""
    differ = (k for k, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    return next(differ, min(len(first), len(second)))


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
