"""Points of a published ROC curve as counts: the class sizes that fit them, and the rows between two points.

The curve's points times the class sizes are whole numbers, and between two points lie the rows of one score, or of a
few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.attacks.disclosure import LAST_PLACES, MOST_DIGITS
from confide.counts import FloatArray, read_only
from confide.curves.roc import RocCurve
from confide.errors import DataError, ParameterError

IntArray: TypeAlias = NDArray[np.int64]

MOST_SIZE = 10_000
"""Default for the largest class size that is tried."""

CHUNK = 1_000_000
"""Number of values that are tried at a time."""

FEW = 64
"""Number of points that are tried first."""


@dataclass(frozen=True, slots=True, eq=False)
class RocPoints:
    """Points of a published ROC curve, from (0, 0) to (1, 1), and how they were rounded.

    `digits` is the number of decimals that both rates were rounded to, None if they are exact floats. `thresholds`,
    where published, are those at or above which a row is called positive, so that the rows between two points have
    scores from the second's threshold up to, but not at, the first's. They are taken as exact.
    """

    false_positive_rate: FloatArray
    true_positive_rate: FloatArray
    thresholds: FloatArray | None = None
    digits: int | None = None

    def __post_init__(self) -> None:
        rates = [np.array(each, dtype=np.float64) for each in (self.false_positive_rate, self.true_positive_rate)]
        if rates[0].ndim != 1 or rates[0].shape != rates[1].shape or rates[0].size < 2:
            raise ParameterError("a curve needs two rates for each of at least two points, in arrays of one length")
        if any((np.diff(each) < 0).any() or each[0] != 0.0 or each[-1] != 1.0 for each in rates):
            raise ParameterError("a ROC curve's rates must rise from 0 to 1; give its points from (0, 0) to (1, 1)")
        if self.digits is not None and not 0 <= self.digits <= MOST_DIGITS:
            raise ParameterError(f"digits must lie between 0 and {MOST_DIGITS}; got {self.digits!r}")
        for name, rate in zip(("false_positive_rate", "true_positive_rate"), rates, strict=True):
            object.__setattr__(self, name, read_only(rate))
        if self.thresholds is not None:
            cuts = np.array(self.thresholds, dtype=np.float64)
            if cuts.shape != rates[0].shape or not (np.diff(cuts) < 0).all():
                raise ParameterError("thresholds must fall from point to point, one for each; leave them out otherwise")
            object.__setattr__(self, "thresholds", read_only(cuts))

    @classmethod
    def of_curve(cls, curve: RocCurve, *, digits: int | None = None, thresholds: bool = False) -> RocPoints:
        """Return the points as they would be published: rounded or not, with thresholds or not."""
        rates = (curve.false_positive_rate, curve.true_positive_rate)
        if digits is not None:
            rates = (np.round(rates[0], digits), np.round(rates[1], digits))
        return cls(*rates, curve.thresholds if thresholds else None, digits)

    @property
    def reach(self) -> float:
        """Return the largest distance of an exact rate from its published value."""
        slack = float(LAST_PLACES)  # rates that are ratios of counts are exact to more than this
        return slack if self.digits is None else 0.5 * 10.0**-self.digits + slack

    def true_positives(self, sizes: ArrayLike) -> tuple[IntArray, IntArray]:
        """Return the least and the largest number of positives above each point, for each class size.

        The least exceeds the largest where no number fits.
        """
        return counts_within(self.true_positive_rate, self.reach, sizes)

    def false_positives(self, sizes: ArrayLike) -> tuple[IntArray, IntArray]:
        """Return the same for negatives."""
        return counts_within(self.false_positive_rate, self.reach, sizes)


def counts_within(rates: FloatArray, reach: float, sizes: ArrayLike) -> tuple[IntArray, IntArray]:
    """Return the least and most rows that give rates within reach of the published ones, for each class size."""
    size = np.asarray(sizes, dtype=np.float64)[..., None]
    least = np.ceil(np.clip(rates - reach, 0.0, 1.0) * size).astype(np.int64)
    most = np.floor(np.clip(rates + reach, 0.0, 1.0) * size).astype(np.int64)
    least[..., 0] = most[..., 0] = 0  # the curve's ends are exact
    least[..., -1] = most[..., -1] = np.asarray(sizes, dtype=np.int64)
    return least, most


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSizes:
    """Numbers of positives and of negatives with which every point is a ratio of counts.

    With `rows`, the two must add up to it; else every one of the first goes with every one of the second.
    """

    positives: tuple[int, ...]
    negatives: tuple[int, ...]
    rows: int | None
    most: int

    def __iter__(self) -> Iterator[tuple[int, int]]:
        if self.rows is None:
            return ((ours, theirs) for ours in self.positives for theirs in self.negatives)
        allowed = frozenset(self.negatives)
        return ((ours, self.rows - ours) for ours in self.positives if self.rows - ours in allowed)

    def __len__(self) -> int:
        return len(self.positives) * len(self.negatives) if self.rows is None else sum(1 for _ in self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "positives": list(self.positives),
            "negatives": list(self.negatives),
            "rows": self.rows,
            "most": self.most,
            "pairs": len(self),
        }


def class_sizes(points: RocPoints, *, rows: int | None = None, most: int = MOST_SIZE) -> ClassSizes:
    """Return all class sizes up to `most` that the points allow; with `rows`, the sizes must add up to it.

    An exact curve allows the multiples of the least common denominator of its rates, a rounded one more.

    >>> points = RocPoints([0, 0, 0.5, 1], [0, 2 / 3, 2 / 3, 1])
    >>> found = class_sizes(points, most=9)
    >>> found.positives, found.negatives
    ((3, 6, 9), (2, 4, 6, 8))
    >>> list(class_sizes(points, rows=7))
    [(3, 4)]
    """
    if most < 1 or (rows is not None and rows < 2):
        raise ParameterError("most must be at least 1, and rows at least 2")
    largest = most if rows is None else rows - 1
    ours = _sizes(points.true_positive_rate, points.reach, largest)
    theirs = _sizes(points.false_positive_rate, points.reach, largest)
    return ClassSizes(positives=ours, negatives=theirs, rows=rows, most=largest)


def _sizes(rates: FloatArray, reach: float, most: int) -> tuple[int, ...]:
    """Sizes up to `most` that fit every rate; a few rates are tried first, which leave few sizes."""
    sizes = np.arange(1, most + 1)
    for some in (rates[spread(rates.size)], rates):
        step = max(CHUNK // some.size, 1)
        parts = [sizes[start : start + step] for start in range(0, sizes.size, step)]
        windows = [counts_within(some, reach, part) for part in parts]
        fits = [(least <= most_of).all(axis=-1) for least, most_of in windows]
        sizes = np.concatenate([part[fit] for part, fit in zip(parts, fits, strict=True)]) if parts else sizes
    return tuple(sizes.tolist())


def spread(points: int) -> IntArray:
    """Return a few of many points, the ends among them."""
    return np.unique(np.linspace(0, points - 1, min(points, FEW)).astype(np.int64))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RocSteps:
    """Numbers of rows of each class between consecutive points, from the highest scores down.

    `lowest` and `below`, where thresholds were published: the scores s of a step have `lowest <= s < below`.
    """

    positives: IntArray
    negatives: IntArray
    lowest: FloatArray | None = None
    below: FloatArray | None = None

    def __len__(self) -> int:
        return self.positives.size

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"positives": self.positives.tolist(), "negatives": self.negatives.tolist()}


def roc_steps(points: RocPoints, positives: int, negatives: int) -> RocSteps:
    """Return the rows between consecutive points, for known class sizes.

    Points that repeat the one before are left out.

    >>> steps = roc_steps(RocPoints([0, 0, 0.5, 1], [0, 0.67, 0.67, 1], digits=2), 3, 2)
    >>> steps.positives, steps.negatives
    (array([2, 0, 1]), array([0, 1, 1]))
    """
    ours, theirs = points.true_positives(positives), points.false_positives(negatives)
    if (ours[0] > ours[1]).any() or (theirs[0] > theirs[1]).any():
        raise DataError("the points are no ratios of counts with these class sizes; find sizes with class_sizes")
    if (ours[0] < ours[1]).any() or (theirs[0] < theirs[1]).any():
        raise DataError("the points are rounded too much to tell counts with these class sizes; give more digits")
    up, right = np.diff(ours[0]), np.diff(theirs[0])
    kept = up + right > 0
    if points.thresholds is None:
        return RocSteps(up[kept], right[kept])
    lowest = points.thresholds[1:][kept]
    return RocSteps(up[kept], right[kept], lowest, np.concatenate(([np.inf], lowest[:-1])))
