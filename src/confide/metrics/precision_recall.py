"""Areas under the precision-recall curve: the dissertation's eight estimators and their floor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

import numpy as np

from confide.blocks import dot, scan_blocks, sum_blocks
from confide.counts import CountArray, FloatArray, ScoreCounts, read_only
from confide.counts_or_arrays import accepts_predictions
from confide.curves.compiled_sums import compiled_areas, compiled_sums
from confide.curves.pr import (
    PrPath,
    RecallLevels,
    check_recall_range,
    davis_goadrich_path,
    interpolated_path,
    lower_trapezoid_path,
    minimum_area,
    recall_levels,
    step_path,
    threshold_path,
    upper_trapezoid_path,
)
from confide.curves.roc import roc_hull
from confide.errors import ParameterError
from confide.normal_distribution import normal_quantile_of, normal_shares
from confide.sources.device_sums import sums_on_device

_WHOLE = (0.0, 1.0)


def _convex_path(counts: ScoreCounts) -> PrPath:
    hull = roc_hull(counts)
    odds = (1.0 - counts.prevalence) / counts.prevalence
    rises = np.flatnonzero(np.diff(hull.true_positive_rate) > 0.0)
    recall, per_positive = hull.true_positive_rate, hull.false_positive_rate * odds
    return PrPath(recall[rises], recall[rises + 1], per_positive[rises], per_positive[rises + 1], curved=True)


_OF_LEVELS: Mapping[str, Callable[[RecallLevels], PrPath]] = MappingProxyType(
    {
        "average_precision": step_path,
        "lower_trapezoid": lower_trapezoid_path,
        "upper_trapezoid": upper_trapezoid_path,
        "interpolated_max": lambda levels: interpolated_path(levels.recall, levels.highest),
        "interpolated_mean": lambda levels: interpolated_path(levels.recall, levels.mean),
        "interpolated_median": lambda levels: interpolated_path(levels.recall, levels.median),
    }
)
"""Paths through the points at each recall."""

_OF_COUNTS: Mapping[str, Callable[[ScoreCounts], PrPath]] = MappingProxyType(
    {
        "interpolated_convex": _convex_path,
        "interpolated_thresholds": threshold_path,
        "davis_goadrich": davis_goadrich_path,
    }
)
"""Paths through other points."""

_PATHS = (*_OF_LEVELS, *_OF_COUNTS)

ESTIMATORS = (
    "average_precision",
    "lower_trapezoid",
    "upper_trapezoid",
    "interpolated_max",
    "interpolated_mean",
    "interpolated_median",
    "interpolated_convex",
    "binormal",
)
"""The eight estimators of the dissertation's section 4.3."""

PRROC_ESTIMATORS = ("interpolated_thresholds", "davis_goadrich")
"""The two areas of R's PRROC: `auc.integral` and `auc.davis.goadrich`."""


def pr_path(counts: ScoreCounts, estimator: str) -> PrPath:
    """Join the PR points as an estimator does; the binormal one joins none."""
    if estimator not in _PATHS:
        raise ParameterError(f"estimator must be one of {', '.join(_PATHS)}, got {estimator!r}")
    return _OF_LEVELS[estimator](recall_levels(counts)) if estimator in _OF_LEVELS else _OF_COUNTS[estimator](counts)


@accepts_predictions
def aucpr_score(
    counts: ScoreCounts, *, estimator: str = "average_precision", recall: tuple[float, float] = _WHOLE
) -> float:
    """Compute the area under the precision-recall curve.

    `estimator` is one of `ESTIMATORS`, or one of R's PRROC, which join adjacent thresholds:
    "interpolated_thresholds" by lines in ROC space (`auc.integral`), "davis_goadrich" by straight
    lines with a point at each true positive (`auc.davis.goadrich`; whole rows only). Where no two
    positives have the same score and no negative ties with the highest one, the latter is the lower
    trapezoid. Over part of the recalls the area is not divided by the range's width.
    Recommended are average precision, the lower trapezoid and the interpolated median; the upper
    trapezoid and the convex hull overestimate; the binormal one is wrong unless both classes'
    scores are normal (dissertation, section 4.4).
    """
    check_recall_range(*recall)
    if estimator == "binormal":
        return _binormal_area(counts, *recall)
    if estimator == "average_precision" and recall == _WHOLE:
        return average_precision_score(counts)
    if estimator not in _PATHS:
        raise ParameterError(
            f"estimator must be one of {', '.join((*ESTIMATORS, *PRROC_ESTIMATORS))}, got {estimator!r}"
        )
    return pr_path(counts, estimator).area(*recall)


def aucpr_scores(counts: ScoreCounts) -> dict[str, float]:
    """Compute the area under the whole curve by each of `ESTIMATORS`; what they share is computed once."""
    known = compiled_areas(counts)
    levels = recall_levels(counts) if known is None else None

    def area(estimator: str) -> float:
        if estimator in _OF_LEVELS and estimator != "average_precision":
            if levels is None:
                found: float = getattr(known, estimator)
                return found
            return _OF_LEVELS[estimator](levels).area()
        return aucpr_score(counts, estimator=estimator)

    return {estimator: area(estimator) for estimator in ESTIMATORS}


@sums_on_device(lambda sums: sums.average_precision)
@accepts_predictions
def average_precision_score(counts: ScoreCounts) -> float:
    """Compute the mean over positives of the precision at their score: `(1/n) sum Prec(y_i)` (equation 4.10).

    Tied rows are called positive together, as in scikit-learn.

    >>> average_precision_score(ScoreCounts.from_arrays([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]))
    0.8333333333333333
    """
    positives, _ = counts.both_classes()
    sums = compiled_sums(counts)
    if sums is not None:
        return sums.average_precision

    def precision(part: slice, positives_above: float, negatives_above: float) -> float:
        ours = counts.positives[part][::-1]
        caught = np.cumsum(ours) + positives_above
        called = np.cumsum(counts.negatives[part][::-1]) + negatives_above + caught
        return dot(ours, caught / called)

    parts = scan_blocks(precision, counts.positives, counts.negatives, descending=True)
    return min(float(np.sum(parts)) / positives, 1.0)


@accepts_predictions
def aucpr_minimum(counts: ScoreCounts, *, recall: tuple[float, float] = _WHOLE) -> float:
    """Compute the smallest area that any ranking can have (Theorem 3.4, Corollary 3.6)."""
    return minimum_area(counts.prevalence, *recall)


@accepts_predictions
def average_precision_minimum(counts: ScoreCounts) -> float:
    """Compute the lowest average precision of any ranking without ties, `(1/n) sum i/(i+m)` (Theorem 3.5).

    Needs whole rows: with weights the sum has no meaning.
    """
    if counts.weighted:
        raise ParameterError("the minimum of average precision needs whole rows; use aucpr_minimum with weights")
    positives, negatives = (int(total) for total in counts.both_classes())
    step = 1 << 20
    parts = (np.arange(first, min(first + step, positives + 1)) for first in range(1, positives + 1, step))
    return float(sum(float(np.sum(i / (i + negatives))) for i in parts) / positives)


@accepts_predictions
def aucnpr_score(
    counts: ScoreCounts, *, estimator: str = "average_precision", recall: tuple[float, float] = _WHOLE
) -> float:
    """Compute the attained share of the achievable area: `(AUCPR - min) / (max - min)` (Definition 3.7).

    0 is the worst possible curve and 1 the best, whatever the skew; by convention 1 where every row
    is positive and 0 where none is. Estimators differ from the curve by a little, so the worst
    ranking may come out a little off 0.
    """
    if counts.prevalence in (0.0, 1.0):
        return counts.prevalence
    least = minimum_area(counts.prevalence, *recall)
    return attained_share(aucpr_score(counts, estimator=estimator, recall=recall), least, recall[1] - recall[0])


def attained_share(area: float, least: float, most: float = 1.0) -> float:
    """Return the share of the achievable area: `(area - least) / (most - least)`."""
    return (area - least) / (most - least)


@accepts_predictions
def normalised_average_precision_score(counts: ScoreCounts) -> float:
    """Average precision between its own minimum and 1, so that the worst ranking without ties has 0."""
    least = average_precision_minimum(counts)
    return (average_precision_score(counts) - least) / (1.0 - least)


def binormal_parameters(counts: ScoreCounts) -> tuple[float, float]:
    """Intercept and slope of the false-positive rate's probit in the recall's, under two normal classes.

    At recall t it is `Phi(a + b Phi^-1(t))`, `a = (mu_x - mu_y) / sigma_x`, `b = sigma_y / sigma_x`.
    (Equation 4.11 prints the mean difference with its sign reversed.) NaN where a class has no spread.
    """
    unit = max(float(np.abs(counts.scores[[0, -1]]).max()), 1e-300)  # both numbers are free of scale
    mean_y, spread_y = _moments(counts.scores, unit, counts.positives, counts.total_positives)
    mean_x, spread_x = _moments(counts.scores, unit, counts.negatives, counts.total_negatives)
    if not (spread_x > 0.0 and spread_y > 0.0):
        return np.nan, np.nan
    return (mean_x - mean_y) / spread_x, spread_y / spread_x


def _moments(scores: FloatArray, unit: float, weights: CountArray, total: float) -> tuple[float, float]:
    """Return mean and standard deviation of scores, in units of `unit`."""
    if total <= 1.0:
        return np.nan, np.nan
    (mean,) = sum_blocks(lambda part: (dot(scores[part] / unit, weights[part] / total),), scores.size)
    (squares,) = sum_blocks(lambda part: (dot((scores[part] / unit - mean) ** 2, weights[part]),), scores.size)
    return mean, float(np.sqrt(squares / (total - 1.0)))


@cache
def _gauss_legendre() -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of a panel; to find them takes as long as to use them."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    return read_only(nodes), read_only(weights)


def _binormal_area(counts: ScoreCounts, low: float, high: float) -> float:
    """Integrate over `z = Phi^-1(recall)`, where the integrand is smooth, by Gauss-Legendre panels."""
    counts.both_classes()
    intercept, slope = binormal_parameters(counts)
    if np.isnan(slope):
        return np.nan
    first, last = max(normal_quantile_of(low), -9.0), min(normal_quantile_of(high), 9.0)
    # The false-positive rate turns from 0 to 1 around -intercept/slope, within some 1/slope.
    turn = -intercept / slope + np.linspace(-9.0, 9.0, 73) / slope
    edges = np.union1d(np.linspace(first, last, 73), np.clip(turn, first, last))
    nodes, weights = _gauss_legendre()
    half = np.diff(edges)[:, None] / 2.0
    z = (edges[:-1, None] + half) + half * nodes
    pi, density = counts.prevalence, np.exp(-z * z / 2.0) / np.sqrt(2.0 * np.pi)
    caught = pi * normal_shares(z)
    precision = caught / (caught + (1.0 - pi) * normal_shares(intercept + slope * z))
    return float(np.sum(half * weights * density * precision))
