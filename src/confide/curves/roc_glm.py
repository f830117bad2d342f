"""ROC-GLM: a binormal ROC curve fitted by probit regression on the positives' placement values.

A positive's placement value is `S0(score)`, the share of negatives with a higher score. At each of a
set of false-positive rates t, `u_ij = [t_j >= S0(score_i)]` is regressed on the normal quantile of t:
`P(u_ij = 1) = Phi(a + b Phi^-1(t_j))`, which is the ROC curve (Pepe 2000; Schalk et al. 2024). The
covariate depends on j alone, so the number of positives with `S0(score) <= t_j` at each t says all.
These numbers add over the parts of a table and over sites: one round gives the coefficients for
which distributed Fisher scoring needs many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import CountArray, FloatArray, ScoreCounts
from confide.errors import DataError, ParameterError

THRESHOLDS = 30
"""Default number of equidistant false-positive rates from 0 to 1, both ends included."""

_STEPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RocGlm:
    """Curve `TPR = Phi(intercept + slope Phi^-1(FPR))`.

    >>> RocGlm(intercept=1.0, slope=1.0).auc.__round__(4)
    0.7602
    """

    intercept: float
    slope: float

    @property
    def auc(self) -> float:
        """Area under the curve, `Phi(a / sqrt(1 + b^2))`."""
        from scipy.special import ndtr

        return float(ndtr(self.intercept / np.hypot(1.0, self.slope)))

    def roc(self, false_positive_rate: ArrayLike) -> FloatArray:
        """Compute the true-positive rate at each false-positive rate; 0 at 0 and 1 at 1, as for every ROC curve."""
        from scipy.special import ndtr, ndtri

        rate = np.asarray(false_positive_rate, dtype=np.float64)
        if not ((rate >= 0.0) & (rate <= 1.0)).all():
            raise ParameterError("false_positive_rate must lie in [0, 1]")
        inside = (rate > 0.0) & (rate < 1.0)
        inner = ndtr(self.intercept + self.slope * ndtri(np.where(inside, rate, 0.5)))
        result: FloatArray = np.where(inside, inner, rate)
        return result

    def to_dict(self) -> dict[str, float]:
        """Return the curve as plain data."""
        return {"intercept": self.intercept, "slope": self.slope, "auc": self.auc}


def equidistant_thresholds(points: int = THRESHOLDS) -> FloatArray:
    """Equidistant false-positive rates from 0 to 1 without the two ends, which have no normal quantile.

    >>> equidistant_thresholds(5)
    array([0.25, 0.5 , 0.75])
    """
    if isinstance(points, bool) or not isinstance(points, int | np.integer) or points < 4:
        raise ParameterError(f"points must be a whole number of at least 4, got {points!r}")
    return np.arange(1, points - 1) / (points - 1)


def survivor(negatives: CountArray) -> FloatArray:
    """Compute the share of negatives above each cell, or distinct score, from the lowest to the highest: `S0`."""
    total = negatives.sum()
    if not total > 0:
        raise DataError("a placement value needs negatives; add rows of that class")
    above: FloatArray = (total - np.cumsum(negatives)) / total
    return above


def placement_thresholds(positives: CountArray, above: FloatArray) -> FloatArray:
    """Return the distinct placement values of the positives that lie inside (0, 1), as thresholds."""
    result = np.unique(above[np.asarray(positives) > 0])
    return result[(result > 0.0) & (result < 1.0)]


def threshold_counts(positives: CountArray, above: FloatArray, thresholds: ArrayLike) -> CountArray:
    """Count the positives with `S0(score) <= t` for each threshold t; one site adds these counts to the sum.

    `positives` holds the positives of each cell, from the lowest scores to the highest, and `above`
    the share of all sites' negatives above that cell, which falls.
    """
    at = checked_thresholds(thresholds)
    from_top = np.concatenate(([0], np.cumsum(positives[::-1])))
    reached: CountArray = from_top[np.searchsorted(above[::-1], at, side="right")]
    return reached


def fit_roc_glm(thresholds: ArrayLike, below: ArrayLike, positives: ArrayLike) -> RocGlm:
    """Fit the curve to the numbers of positives whose placement value is at most each threshold.

    `positives` is how many there are, for all thresholds or for each. Fisher scoring with halved steps
    until nothing changes. Where no threshold has positives on both sides, or those that do leave
    room for a step at one threshold, the likelihood has no maximum and `DataError` is raised: the
    classes are separated as far as these thresholds can see, and the empirical curve says all.
    """
    at = checked_thresholds(thresholds)
    reached, trials = _checked_counts(at, below, positives)
    _check_overlap(at, reached, trials)
    from scipy.special import ndtri

    return RocGlm(**_maximum(ndtri(at), reached, trials))


def roc_glm(counts: ScoreCounts, thresholds: ArrayLike | None = None) -> RocGlm:
    """Fit the curve to counted rows, by default at 30 equidistant false-positive rates.

    >>> fitted = roc_glm(ScoreCounts.from_arrays([0, 1, 0, 1, 0, 1], [0.2, 0.4, 0.1, 0.9, 0.6, 0.5]))
    >>> round(fitted.auc, 3)
    0.784
    """
    positives, _ = counts.both_classes()
    at = equidistant_thresholds() if thresholds is None else checked_thresholds(thresholds)
    return fit_roc_glm(at, threshold_counts(counts.positives, survivor(counts.negatives), at), positives)


def roc_glm_of_cells(positives: CountArray, negatives: CountArray, thresholds: ArrayLike | None = None) -> RocGlm:
    """Fit the curve to counts on cells so wide that many rows share one, or to estimated counts.

    In a wide cell a positive would count as above every negative of its cell. The number of positives
    above a false-positive rate is therefore read off the straight lines between the points at the
    cells' edges, as if classes were mixed evenly within a cell.
    """
    at = equidistant_thresholds() if thresholds is None else checked_thresholds(thresholds)
    ours, theirs = (np.concatenate(([0.0], np.cumsum(side[::-1], dtype=np.float64))) for side in (positives, negatives))
    if not (ours[-1] > 0.0 and theirs[-1] > 0.0):
        raise DataError("a ROC curve needs rows of both classes; add rows")
    return fit_roc_glm(at, np.interp(at, theirs / theirs[-1], ours), ours[-1])


def checked_thresholds(thresholds: ArrayLike) -> FloatArray:
    """Refuse false-positive rates that are not inside (0, 1)."""
    at = np.asarray(thresholds, dtype=np.float64)
    if at.ndim != 1 or not ((at > 0.0) & (at < 1.0)).all():
        raise ParameterError("thresholds must be false-positive rates strictly between 0 and 1, in one dimension")
    return at


def _checked_counts(at: FloatArray, below: ArrayLike, positives: ArrayLike) -> tuple[FloatArray, FloatArray]:
    reached = np.asarray(below, dtype=np.float64)
    trials = np.broadcast_to(np.asarray(positives, dtype=np.float64), at.shape)
    if reached.shape != at.shape:
        raise ParameterError("below must hold one number for each threshold")
    if not (np.isfinite(trials).all() and (reached >= 0.0).all() and (reached <= trials).all()):
        raise DataError("the numbers of positives below the thresholds must lie between 0 and all positives")
    return reached, trials


def _check_overlap(at: FloatArray, reached: FloatArray, trials: FloatArray) -> None:
    """Refuse counts that a step describes perfectly: then coefficients grow without end."""
    ones, zeros = at[reached > 0.0], at[reached < trials]
    distinct = np.unique(at[trials > 0.0]).size
    if distinct < 2 or not (ones.size and zeros.size and ones.min() < zeros.max() and zeros.min() < ones.max()):
        raise DataError(
            "the placement values leave no finite ROC-GLM: classes are separated as far as the thresholds can see, or "
            "there are fewer than two thresholds; give more thresholds, or use the empirical curve"
        )


def _maximum(z: FloatArray, reached: FloatArray, trials: FloatArray) -> dict[str, float]:
    """Maximise the likelihood, which has one maximum, from where all thresholds have the same share."""
    from scipy.special import log_ndtr, ndtri

    design = np.column_stack((np.ones(z.size), z))
    share = float(np.clip(reached.sum() / trials.sum(), 1e-3, 1.0 - 1e-3))
    line = np.array([ndtri(share), 0.0])

    def likelihood(candidate: NDArray[np.float64]) -> float:
        linear = design @ candidate
        return float(np.dot(reached, log_ndtr(linear)) + np.dot(trials - reached, log_ndtr(-linear)))

    best = likelihood(line)
    for _ in range(_STEPS):
        gradient, information = _derivatives(design, line, reached, trials)
        step = np.linalg.lstsq(information, gradient, rcond=None)[0]
        size = float(np.abs(step).max() / (1.0 + np.abs(line).max()))
        scale = 1.0
        # So near the maximum that the likelihood is flat to rounding, the step needs no check.
        while size > 1e-6 and not likelihood(line + scale * step) >= best and scale > 1e-12:
            scale /= 2.0
        line = line + scale * step
        best = likelihood(line)
        if size < 1e-14:
            break
    return {"intercept": float(line[0]), "slope": float(line[1])}


def _derivatives(
    design: FloatArray, line: FloatArray, reached: FloatArray, trials: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the score vector and the expected information; ratios of densities to tails stay finite far out."""
    up, down = inverse_mills(design @ line), inverse_mills(-(design @ line))
    gradient = design.T @ (reached * up - (trials - reached) * down)
    information = design.T @ (design * (trials * up * down)[:, None])
    return gradient, information


def inverse_mills(linear: FloatArray) -> FloatArray:
    """`phi(x) / Phi(x)`."""
    from scipy.special import log_ndtr

    ratio: FloatArray = np.exp(-0.5 * linear * linear - 0.5 * np.log(2.0 * np.pi) - log_ndtr(linear))
    return ratio
