"""Points of a published ROC curve, and the places of known rows on it.

The curve's points times the class sizes are whole numbers, and between two points lie the rows of one score, or of a
few.

Matthews & Harel (2013), "An examination of data confidentiality and disclosure issues related to publication of
empirical ROC curves".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.attacks.disclosure import LAST_PLACES, MOST_DIGITS
from confide.attacks.numbers import checked_rows
from confide.counts import FloatArray, ScoreCounts, read_only
from confide.curves.roc import RocCurve, roc_curve
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
        raise DataError("the points are not ratios of counts with these class sizes; find sizes with class_sizes")
    if (ours[0] < ours[1]).any() or (theirs[0] < theirs[1]).any():
        raise DataError("the points are rounded too much to tell counts with these class sizes; give more digits")
    up, right = np.diff(ours[0]), np.diff(theirs[0])
    kept = up + right > 0
    if points.thresholds is None:
        return RocSteps(up[kept], right[kept])
    lowest = points.thresholds[1:][kept]
    return RocSteps(up[kept], right[kept], lowest, np.concatenate(([np.inf], lowest[:-1])))


MOST_CELLS = 1_000_000
"""Known scores times steps: beyond this, counting alignments takes minutes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RocAlignment:
    """Places of known rows on a published curve, and conclusions about the other rows.

    Known scores are numbered from the highest down, as steps are. `alignments` is the exact number of ways in which the
    known scores fit the steps; all are taken as equally likely. `step_of[i, j]` is the probability that known score i
    lies in step j. `positives_between[g]` and `negatives_between[g]` are the expected unknown rows strictly between
    known scores g - 1 and g (above all for g = 0, below all for the last). `..._beside[i]` are those in the step whose
    highest known score is i: tied with it, or among the scores of its step where a step has several. `unknown` holds
    the exact numbers of positives and negatives that are not known, `located` the number of known scores whose step is
    certain.
    """

    scores: FloatArray
    steps: RocSteps
    alignments: int
    step_of: FloatArray
    positives_between: FloatArray
    negatives_between: FloatArray
    positives_beside: FloatArray
    negatives_beside: FloatArray
    unknown: tuple[int, int]
    located: int

    @property
    def belief_between(self) -> FloatArray:
        """Return the probability that an unknown row between two known scores is positive; NaN where none can be."""
        return _share(self.positives_between, self.negatives_between)

    @property
    def belief_beside(self) -> FloatArray:
        """Return the same for an unknown row in a known score's step."""
        return _share(self.positives_beside, self.negatives_beside)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; probabilities that do not exist are None."""
        return {
            "alignments": self.alignments,
            "known_scores": int(self.scores.size),
            "located": self.located,
            "unknown": list(self.unknown),
            "positives_between": self.positives_between.tolist(),
            "negatives_between": self.negatives_between.tolist(),
            "belief_between": [None if np.isnan(x) else float(x) for x in self.belief_between],
            "belief_beside": [None if np.isnan(x) else float(x) for x in self.belief_beside],
            "steps": self.steps.to_dict(),
        }


def _share(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    total = ours + theirs
    share: FloatArray = np.divide(ours, total, out=np.full(total.shape, np.nan), where=total > 1e-12)
    return share


def align_known(steps: RocSteps, known: ScoreCounts, *, every_score: bool = True) -> RocAlignment:
    """Find where rows with known scores and labels stand among the steps of a curve.

    Known scores lie in steps in their order, with enough rows of each class there. `every_score`: the curve has a
    point for each distinct score, so different known scores lie in different steps; with False (collinear points were
    dropped, or only some thresholds published) several may share one. Thresholds, where published, say in which step a
    known score lies. Alignments are counted in whole numbers, forwards and backwards.

    >>> steps = RocSteps(np.array([1, 0, 1, 0]), np.array([0, 1, 0, 1]))
    >>> found = align_known(steps, ScoreCounts.from_arrays([1], [0.7], one_class=True))
    >>> found.alignments, found.step_of.tolist()
    (2, [[0.5, 0.0, 0.5, 0.0]])
    """
    checked_rows(known)
    if len(known) * len(steps) > MOST_CELLS:
        raise ParameterError("there are too many known scores and points to count alignments; give fewer known rows")
    fitting = _Fitting.of(steps, known, every_score)
    forward, backward = fitting.forward(), fitting.backward()
    total = forward[-1, -1]
    if not total:
        raise DataError("the known rows do not fit the curve; check the sizes, or give every_score=False")
    upto = np.cumsum((forward * backward)[:, ::-1], axis=1)[:, ::-1]  # [j, i]: i scores or more in the first j steps
    between = _ratio(forward[:-1] * backward[1:], total)  # [j, g]: no known score in step j, and g above it
    beside = fitting.beside(forward, backward)
    ways = np.diff(upto[:, 1:], axis=0).T
    return RocAlignment(
        scores=read_only(known.scores[::-1]),
        steps=steps,
        alignments=int(total),
        step_of=_ratio(ways, total),
        located=int((np.abs(ways) == total).sum()),
        positives_between=steps.positives @ between,
        negatives_between=steps.negatives @ between,
        positives_beside=_ratio(beside[0], total),
        negatives_beside=_ratio(beside[1], total),
        unknown=(
            int(steps.positives.sum() - known.positives.sum()),
            int(steps.negatives.sum() - known.negatives.sum()),
        ),
    )


def _ratio(numbers: NDArray[Any], total: int) -> FloatArray:
    """Whole numbers of any size over another; 1.0 only where they are equal or nearly so."""
    return np.asarray(numbers / total, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Fitting:
    """Table of the runs of known scores that fit each step.

    Known scores l, ..., i - 1 (from the highest down) fit step j if `first[j, i] <= l`; an empty run always fits.
    `ours` and `theirs` cumulate the known rows. Counts are Python's integers in arrays of objects.
    """

    first: IntArray
    ours: IntArray
    theirs: IntArray
    steps: RocSteps

    @classmethod
    def of(cls, steps: RocSteps, known: ScoreCounts, every_score: bool) -> _Fitting:
        """Compare cumulated rows: a run fits where the step has as many of each class."""
        ours, theirs = (np.concatenate(([0], np.cumsum(rows[::-1]))) for rows in (known.positives, known.negatives))
        upto = np.arange(len(known) + 1)
        first = np.maximum(
            np.searchsorted(ours, ours - steps.positives[:, None]),
            np.searchsorted(theirs, theirs - steps.negatives[:, None]),
        )
        if every_score:
            first = np.maximum(first, upto - 1)
        if steps.lowest is not None and steps.below is not None:
            start = len(known) - np.searchsorted(known.scores, steps.below)[:, None]
            end = len(known) - np.searchsorted(known.scores, steps.lowest)[:, None]
            first = np.where((upto > start) & (upto <= end), np.maximum(first, start), upto)
        return cls(first=first, ours=ours, theirs=theirs, steps=steps)

    @property
    def _last(self) -> IntArray:
        """Return the end of the longest run from each known score on that fits each step."""
        upto = np.arange(self.first.shape[1])
        return np.stack([np.searchsorted(each, upto, "right") - 1 for each in self.first])

    def forward(self) -> NDArray[Any]:
        """[j, i]: in how many ways the first i known scores lie in the first j steps."""
        ways = np.zeros((self.first.shape[0] + 1, self.first.shape[1]), dtype=object)
        ways[0, 0] = 1
        for j, first in enumerate(self.first):
            sums = _sums(ways[j])
            ways[j + 1] = sums[1:] - sums[first]
        return ways

    def backward(self) -> NDArray[Any]:
        """[j, i]: in how many ways the known scores from the i-th on lie in the steps from the j-th on."""
        ways = np.zeros((self.first.shape[0] + 1, self.first.shape[1]), dtype=object)
        ways[-1, -1] = 1
        last = self._last
        for j in range(last.shape[0] - 1, -1, -1):
            sums = _sums(ways[j + 1])
            ways[j] = sums[last[j] + 1] - sums[:-1]
        return ways

    def beside(self, forward: NDArray[Any], backward: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Unknown rows of each class in the step whose highest known score is each, summed over all alignments."""
        last, found = self._last, []
        for rows, known in ((self.steps.positives, self.ours), (self.steps.negatives, self.theirs)):
            total = np.zeros(known.size - 1, dtype=object)
            for j in range(last.shape[0]):
                ways, taken = _sums(backward[j + 1]), _sums(backward[j + 1] * known.astype(object))
                end, start = last[j, :-1] + 1, np.arange(1, known.size)
                room = (int(rows[j]) + known[:-1].astype(object)) * (ways[end] - ways[start])
                total += forward[j, :-1] * (room - (taken[end] - taken[start]))
            found.append(total)
        return found[0], found[1]


def _sums(ways: NDArray[Any]) -> NDArray[Any]:
    """Sums of the first 0, 1, 2, ... numbers."""
    return np.concatenate((np.zeros(1, dtype=object), np.cumsum(ways)))


def align_part(
    counts: ScoreCounts, known: int, *, rng: np.random.Generator, digits: int | None = None, thresholds: bool = False
) -> RocAlignment:
    """Publish the ROC curve of these rows, let an adversary know some of them, drawn at random, and align them.

    The class sizes are taken as known.
    """
    checked_rows(counts)
    if not 0 <= known <= counts.total_positives + counts.total_negatives:
        raise ParameterError("known must be a number of rows, at least 0 and no more than there are")
    points = RocPoints.of_curve(roc_curve(counts), digits=digits, thresholds=thresholds)
    drawn = rng.multivariate_hypergeometric(np.concatenate((counts.positives, counts.negatives)), known)
    ours, theirs = drawn[: len(counts)], drawn[len(counts) :]
    kept = ours + theirs > 0
    part = ScoreCounts(counts.scores[kept], ours[kept], theirs[kept])
    return align_known(roc_steps(points, int(counts.total_positives), int(counts.total_negatives)), part)
