"""Row that was added between two published ROC curves: its class, its place and its score."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.attacks.from_curve.points import MOST_SIZE, RocPoints, RocSteps, class_sizes, roc_steps
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
