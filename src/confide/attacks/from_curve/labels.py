"""Labels read off a published ROC curve by somebody who knows all scores and no label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

from confide.attacks.from_curve.points import CHUNK, FEW, IntArray, RocPoints, class_sizes, counts_within, spread
from confide.attacks.numbers import checked_rows
from confide.counts import FloatArray, ScoreCounts
from confide.curves.roc import roc_curve
from confide.errors import DataError, ParameterError

MOST_WORK = 10**8
"""Pairs of counts to go through for exact probabilities of a rounded curve: some seconds."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LabelsFromRoc:
    """Labels that a published curve tells somebody who knows all scores and no label.

    For each row, in the order of the scores, `lower` and `upper` bound the share of positives among the rows that the
    curve does not tell apart from it. They are equal where the points give counts. `probability` is that of being
    positive, with all fitting labelings equally likely (the middle of the bounds where the exact value would take too
    long). `sizes` are the class sizes that fit.
    """

    sizes: tuple[tuple[int, int], ...]
    lower: FloatArray
    upper: FloatArray
    probability: FloatArray

    @property
    def certain(self) -> int:
        """Rows whose label follows."""
        return int(((self.lower == 1.0) | (self.upper == 0.0)).sum())

    @property
    def rows(self) -> int:
        """Return all rows."""
        return self.lower.size

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without the findings about single rows."""
        return {
            "rows": self.rows,
            "certain": self.certain,
            "share": self.certain / self.rows,
            "sizes": [list(pair) for pair in self.sizes],
        }


def labels_from_roc(points: RocPoints, scores: ArrayLike, *, positives: int | None = None) -> LabelsFromRoc:
    """Read labels off a curve whose rows' scores are known; the number of positives may be known or not.

    The rows above each point follow from its threshold, from there being a point for each distinct score, or from its
    counts. What rounding leaves open is bounded by all points together: each step has no fewer than 0 and no more
    positives than rows, and so on along the curve, which makes the bounds exact.

    >>> found = labels_from_roc(RocPoints([0, 0, 0.5, 1], [0, 0.5, 1, 1]), [0.9, 0.5, 0.1, 0.5])
    >>> found.probability, found.certain
    (array([1. , 0.5, 0. , 0.5]), 2)
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or values.size < 2 or not np.isfinite(values).all():
        raise ParameterError("scores must be finite numbers, one for each of at least two rows")
    if positives is not None and not 0 < positives < values.size:
        raise ParameterError("positives must be at least 1 and leave a negative")
    order = np.argsort(-values, kind="stable")
    ranking = _Ranking.of(points, values[order])
    pairs = ranking.pairs() if positives is None else [(positives, values.size - positives)]
    read = {pair: ranking.read(*pair) for pair in pairs}
    fitting = {pair: found for pair, found in read.items() if found is not None}
    if not fitting:
        raise DataError("the scores do not fit the curve; check that it was drawn from these rows, and its rounding")
    lower, upper, probability = np.empty(values.size), np.empty(values.size), np.empty(values.size)
    lower[order] = np.min([found.lower for found in fitting.values()], axis=0)
    upper[order] = np.max([found.upper for found in fitting.values()], axis=0)
    probability[order] = _believed(list(fitting.values()))
    return LabelsFromRoc(sizes=tuple(fitting), lower=lower, upper=upper, probability=probability)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Read:
    """Rows in each step, and the least and most positives above each point, for one pair of class sizes."""

    steps: IntArray
    least: IntArray
    most: IntArray

    @property
    def lower(self) -> FloatArray:
        """Return the least share of positives in the step of each row, from the highest score down."""
        return self.of_rows(np.maximum(self.least[1:] - self.most[:-1], 0))

    @property
    def upper(self) -> FloatArray:
        """Return the most."""
        return self.of_rows(np.minimum(self.most[1:] - self.least[:-1], self.steps))

    def of_rows(self, positives: NDArray[Any]) -> FloatArray:
        """Return the share of positives for each row from their number in each step."""
        some = self.steps > 0
        return np.asarray(np.repeat(positives[some] / self.steps[some], self.steps[some]))

    @property
    def work(self) -> int:
        """Pairs of counts at neighbouring points."""
        widths = self.most - self.least + 1
        return int(np.sum(widths[1:] * widths[:-1]))

    def expected(self) -> tuple[FloatArray, float]:
        """Return the mean number of positives in each step, and the logarithm of the number of labelings that fit."""
        links = [self._link(k) for k in range(self.steps.size)]
        forward = [np.zeros(1)]
        for link in links:
            forward.append(logsumexp(forward[-1][:, None] + link, axis=0))
        backward = [np.zeros(1)]
        for link in reversed(links):
            backward.append(logsumexp(link + backward[-1][None, :], axis=1))
        backward.reverse()
        total = float(forward[-1][0])
        means = [
            float(np.sum(np.exp(ahead[:, None] + link + behind[None, :] - total) * self._inside(k)))
            for k, (ahead, link, behind) in enumerate(zip(forward[:-1], links, backward[1:], strict=True))
        ]
        return np.array(means), total

    def _inside(self, k: int) -> FloatArray:
        """Positives in step k, by how many are above its first and its last point."""
        first, last = (np.arange(self.least[i], self.most[i] + 1.0) for i in (k, k + 1))
        return np.asarray(last[None, :] - first[:, None])

    def _link(self, k: int) -> FloatArray:
        """Return the logarithm of the number of labelings of step k, by the positives above its two points."""
        inside, size = self._inside(k), float(self.steps[k])
        with np.errstate(invalid="ignore"):
            ways = gammaln(size + 1.0) - gammaln(inside + 1.0) - gammaln(size - inside + 1.0)
        return np.asarray(np.where((inside >= 0.0) & (inside <= size), ways, -np.inf))


def _believed(read: list[_Read]) -> FloatArray:
    """Return the probability that each row is positive, class sizes weighing as many labelings as fit them."""
    if sum(each.work for each in read) > MOST_WORK:
        return np.asarray(np.mean([(each.lower + each.upper) / 2.0 for each in read], axis=0))
    found = [each.expected() for each in read]
    logs = np.array([total for _, total in found])
    weights = np.exp(logs - logsumexp(logs))
    shares = [each.of_rows(means) for each, (means, _) in zip(read, found, strict=True)]
    return np.asarray(np.clip(weights @ np.array(shares), 0.0, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Ranking:
    """Curve and the rows' scores in descending order.

    `ends` are the numbers of rows down to each distinct score, from 0 on; `above` the number of rows above each point
    if it follows from thresholds, or from there being a point for each distinct score.
    """

    points: RocPoints
    ends: IntArray
    above: IntArray | None

    @classmethod
    def of(cls, points: RocPoints, scores: FloatArray) -> _Ranking:
        """Count rows above thresholds, or down to each distinct score."""
        ends = np.concatenate(([0], np.flatnonzero(np.diff(scores)) + 1, [scores.size]))
        if points.thresholds is not None:
            return cls(points=points, ends=ends, above=np.searchsorted(-scores, -points.thresholds, "right"))
        complete = points.true_positive_rate.size == ends.size
        return cls(points=points, ends=ends, above=ends if complete else None)

    def pairs(self) -> list[tuple[int, int]]:
        """Class sizes that may fit; where the rows above a few points are known, these leave few."""
        rows = int(self.ends[-1])
        if self.above is None:
            return list(class_sizes(self.points, rows=rows))
        step = max(CHUNK // FEW, 1)
        parts = [self._fitting(np.arange(start, min(start + step, rows))) for start in range(1, rows, step)]
        return [(size, rows - size) for part in parts for size in part.tolist()]

    def _fitting(self, sizes: IntArray) -> IntArray:
        """Numbers of positives that fit a few points and the rows above them."""
        assert self.above is not None  # noqa: S101  # pairs() asks only then
        few, rows = spread(self.above.size), int(self.ends[-1])
        some = self.above[few]
        ours = counts_within(self.points.true_positive_rate[few], self.points.reach, sizes)
        theirs = counts_within(self.points.false_positive_rate[few], self.points.reach, rows - sizes)
        fits = np.maximum(ours[0], some - theirs[1]) <= np.minimum(ours[1], some - theirs[0])
        return np.asarray(sizes[fits.all(axis=-1)])

    def read(self, positives: int, negatives: int) -> _Read | None:
        """Return the range of counts that the points leave open; None if the class sizes do not fit."""
        ours, theirs = self.points.true_positives(positives), self.points.false_positives(negatives)
        ranks = _counted(ours, theirs) if self.above is None else self.above
        if not np.isin(ranks, self.ends).all() or ranks[0] != 0 or ranks[-1] != self.ends[-1]:
            return None
        steps = np.diff(ranks)
        least, most = np.maximum(ours[0], ranks - theirs[1]), np.minimum(ours[1], ranks - theirs[0])
        least, most = np.maximum.accumulate(least), np.minimum.accumulate(most - ranks) + ranks
        least = np.maximum.accumulate((least - ranks)[::-1])[::-1] + ranks
        most = np.minimum.accumulate(most[::-1])[::-1]
        if (least > most).any() or (steps < 0).any():
            return None
        if (np.maximum(least[1:] - most[:-1], 0) > np.minimum(most[1:] - least[:-1], steps)).any():
            return None
        return _Read(steps=steps, least=least, most=most)


def _counted(ours: tuple[IntArray, IntArray], theirs: tuple[IntArray, IntArray]) -> IntArray:
    """Return how many rows lie above each point, where its counts are known."""
    if (ours[0] < ours[1]).any() or (theirs[0] < theirs[1]).any():
        raise DataError(
            "points were left out and the others rounded too much to say how many rows each has above it; "
            "give the thresholds, or more digits"
        )
    return ours[0] + theirs[0]


def labels_exposed(
    counts: ScoreCounts, *, digits: int | None = None, thresholds: bool = False, positives: int | None = None
) -> LabelsFromRoc:
    """Publish the ROC curve of these rows, and read their labels off it with their scores, and nothing else.

    But for the number of positives, if it is given.

    >>> labels_exposed(ScoreCounts.from_arrays([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])).certain
    4
    """
    checked_rows(counts)
    points = RocPoints.of_curve(roc_curve(counts), digits=digits, thresholds=thresholds)
    scores = np.repeat(counts.scores, counts.positives + counts.negatives)
    return labels_from_roc(points, scores, positives=positives)
