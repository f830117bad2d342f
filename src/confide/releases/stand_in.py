"""Stand-in data for plans: data as they would be if a public guess were right.

Only the number of rows, the prevalence and one metric's value are guessed. The rest is filled in by
normal scores of equal variance, negatives around 0 and positives around the separation d, shown as
calibrated probabilities; the threshold lies half-way, where recall and specificity are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.metrics.threshold import ConfusionMatrix
from confide.releases.average_precision import DEFAULT_GRID
from confide.releases.confusion import CONFUSION_METRICS

USUAL_AUC = 0.8
"""AUC of stand-in scores if no value was guessed."""

MOST_ROWS = 10_000_000
_FARTHEST = 12.0  # separations beyond this change no metric
_NODES = 2_000
_FLATTEST = 0.5  # scores that separate nothing still differ


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """Stand-in data: a metric's guessed value, and rows that would have it."""

    metric: str
    value: float
    positives: int
    negatives: int
    separation: float
    counts: ScoreCounts
    threshold: float

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.positives + self.negatives


def make_stand_in(metric: str, rows: int, prevalence: float, expected: float | None = None) -> StandIn:
    """Make stand-in data from guesses; without an expected value, it is that of scores with AUC 0.8.

    >>> round(make_stand_in("recall", 1000, 0.2).value, 3)
    0.724
    """
    positives, negatives = _class_sizes(rows, prevalence)
    if metric == "prevalence":
        separation, value = _separation_of_auc(USUAL_AUC), positives / rows
    else:
        value_at = _metric_at(metric, positives, negatives)
        least = 0.0 if metric == "brier" else -_FARTHEST
        separation = (
            _separation_of_auc(USUAL_AUC) if expected is None else _solve(value_at, expected, metric, prevalence, least)
        )
        value = value_at(separation) if expected is None else float(expected)
    counts, threshold = _stand_in(positives, negatives, separation)
    return StandIn(
        metric=metric,
        value=value,
        positives=positives,
        negatives=negatives,
        separation=separation,
        counts=counts,
        threshold=threshold,
    )


def planned_measure(metric: str) -> str:
    """Return the measure that stands for a metric: a whole confusion matrix is planned by its true positives."""
    return "true_positives" if metric == "confusion" else metric


def _class_sizes(rows: int, prevalence: float) -> tuple[int, int]:
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 2:
        raise ParameterError(f"rows must be a whole number of at least 2; got {rows!r}")
    if rows > MOST_ROWS:
        raise ParameterError(
            f"a plan takes at most {MOST_ROWS:,} rows; with more, noise matters less still: plan with that many"
        )
    if isinstance(prevalence, bool) or not (isinstance(prevalence, int | float) and 0.0 < prevalence < 1.0):
        raise ParameterError(f"prevalence must lie strictly between 0 and 1, for example 0.2; got {prevalence!r}")
    positives = min(max(round(rows * prevalence), 1), int(rows) - 1)
    return positives, int(rows) - positives


def _separation_of_auc(area: float) -> float:
    return math.sqrt(2.0) * float(ndtri(area))


def _metric_at(metric: str, positives: int, negatives: int) -> Callable[[float], float]:
    """Return the metric as a function of the separation; the function is monotone."""
    if metric == "auc":
        return lambda separation: float(ndtr(separation / math.sqrt(2.0)))
    if metric == "average_precision":
        return lambda separation: _average_precision(separation, positives, negatives)
    if metric == "brier":
        return lambda separation: _brier(separation, positives, negatives)
    measure = planned_measure(metric)
    if measure not in CONFUSION_METRICS:
        raise ParameterError(f"unknown metric {metric!r}")
    return lambda separation: float(getattr(_confusion(separation, positives, negatives), measure))


def _solve(value_at: Callable[[float], float], expected: float, metric: str, prevalence: float, least: float) -> float:
    """Find the separation at which the metric has its expected value, by halving."""
    ends = value_at(least), value_at(_FARTHEST)
    low, high = min(ends), max(ends)
    slack = 1e-6 * max(abs(high - low), 1.0) if math.isfinite(high) else 0.0
    known = isinstance(expected, int | float) and not isinstance(expected, bool)
    if not known or not low - slack <= expected <= high + slack:
        raise ParameterError(
            f"expected must be a value that {metric} can have: at prevalence {prevalence:g} between "
            f"{low:.3g} and {high:.3g}; got {expected!r}"
        )
    rising = ends[1] > ends[0]
    left, right = least, _FARTHEST
    for _ in range(40):
        middle = (left + right) / 2.0
        if (value_at(middle) < expected) == rising:
            left = middle
        else:
            right = middle
    return (left + right) / 2.0


def _average_precision(separation: float, positives: int, negatives: int) -> float:
    """`(1/n) sum i/(i + s_i)` for scores at the middle of equal steps of probability."""
    nodes = min(positives, _NODES)
    share = (np.arange(nodes) + 0.5) / nodes
    above = negatives * ndtr(-(separation - ndtri(share)))
    rank = positives * share + 0.5
    return float((rank / (rank + above)).mean())


def _brier(separation: float, positives: int, negatives: int) -> float:
    """Return the Brier score of calibrated scores."""
    share = (np.arange(_NODES) + 0.5) / _NODES
    weight = positives / (positives + negatives)
    missed, false = (_calibrated(ndtri(share) + centre, separation, separation, weight) for centre in (separation, 0.0))
    return float(weight * ((1.0 - missed) ** 2).mean() + (1.0 - weight) * (false**2).mean())


def _calibrated(x: FloatArray, separation: float, slope: float, prevalence: float) -> FloatArray:
    """Return the chance of being positive at x, `logit(pi) + d (x - d/2)` in log-odds."""
    chance: FloatArray = expit(logit(prevalence) + slope * (x - separation / 2.0))
    return chance


def _confusion(separation: float, positives: int, negatives: int) -> ConfusionMatrix:
    right, wrong = float(ndtr(separation / 2.0)), float(ndtr(-separation / 2.0))
    return ConfusionMatrix(
        true_positives=positives * right,
        false_negatives=positives * wrong,
        true_negatives=negatives * right,
        false_positives=negatives * wrong,
    )


def _stand_in(positives: int, negatives: int, separation: float) -> tuple[ScoreCounts, float]:
    """Rows on a fine grid of calibrated scores that the cells of the public grid and the threshold split exactly."""
    prevalence = positives / (positives + negatives)
    slope = max(abs(separation), _FLATTEST)
    shown = DEFAULT_GRID.edges[1:-1]
    inner = separation / 2.0 + (logit(shown) - logit(prevalence)) / slope
    even = np.linspace(min(0.0, separation) - 5.0, max(0.0, separation) + 5.0, 301)
    edges = np.unique(np.concatenate((even, inner, [separation / 2.0])))
    ours = _counted(positives, ndtr(edges - separation))
    theirs = _counted(negatives, ndtr(edges))
    middles = np.concatenate(([edges[0] - 0.5], (edges[1:] + edges[:-1]) / 2.0, [edges[-1] + 0.5]))
    scores = _calibrated(middles, separation, slope, prevalence)
    kept = ours + theirs > 0
    scores, first = np.unique(scores[kept], return_index=True)
    together = [np.add.reduceat(column[kept], first) for column in (ours, theirs)]
    return ScoreCounts(scores, *together), prevalence


def _counted(rows: int, below: FloatArray) -> FloatArray:
    """Whole rows in each cell, given the shares below the cells' edges."""
    cumulative = np.concatenate(([0.0], np.rint(rows * below), [float(rows)]))
    cells: FloatArray = np.diff(cumulative).astype(np.int64)
    return cells
