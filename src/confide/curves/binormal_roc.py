"""Smooth ROC curve of the binormal model, `TPR = Phi(a + b Phi^-1(FPR))`.

The model says that some increasing transformation makes the scores normal in both classes. Two fits are known:

- `likelihood` (the default): scores are put into ordered categories, and intercept, slope and the categories' edges on
  the normal scale maximise the multinomial likelihood [1]_. Neighbouring scores of one class share a category; if more
  than `categories` are left, they are merged into so many of nearly equal size [2]_. Only ranks count.
- `regression`: a straight line of the normal quantile of specificity on that of sensitivity, by least squares over the
  points of the empirical curve, as `smooth(roc, method = "binormal")` of R's pROC. It has no standard error.

References
----------
.. [1] D. Dorfman and E. Alf, "Maximum-likelihood estimation of parameters of signal-detection theory", Journal of
   Mathematical Psychology 6, 1969.
.. [2] C. Metz, B. Herman and J. Shen, "Maximum likelihood estimation of receiver operating characteristic (ROC) curves
   from continuously-distributed data", Statistics in Medicine 17, 1998.

"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import CountArray, FloatArray, ScoreCounts, equal_mass_starts, read_only
from confide.counts_or_arrays import accepts_predictions
from confide.curves.roc import RocCurve, operating_points
from confide.curves.roc_glm import RocGlm
from confide.errors import DataError, ParameterError

CATEGORIES = 50
"""Default for the largest number of categories."""

_STEPS = 500
_CONVERGED = 1e-10
_NO_FIT = (
    "the binormal curve has no finite fit: the classes are separated, or nearly so, or scores have too few values; "
    "use the empirical curve"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinormalRoc:
    """A fitted binormal curve. `covariance` is that of intercept and slope; None if the method gives none."""

    intercept: float
    slope: float
    method: str
    covariance: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.covariance is not None:
            object.__setattr__(self, "covariance", read_only(self.covariance))

    @property
    def area(self) -> float:
        """Area under the curve, `Phi(a / sqrt(1 + b^2))`."""
        return RocGlm(intercept=self.intercept, slope=self.slope).auc

    @property
    def index(self) -> float:
        """Normal quantile of the area, `a / sqrt(1 + b^2)`."""
        return self.intercept / math.hypot(1.0, self.slope)

    @property
    def index_error(self) -> float | None:
        """Standard error of the normal quantile of the area, by the delta method."""
        if self.covariance is None:
            return None
        root = math.hypot(1.0, self.slope)
        gradient = np.array([1.0 / root, -self.intercept * self.slope / root**3])
        return math.sqrt(float(gradient @ self.covariance @ gradient))

    @property
    def area_error(self) -> float | None:
        """Standard error of the area, by the delta method."""
        error = self.index_error
        return None if error is None else error * math.exp(-0.5 * self.index**2) / math.sqrt(2.0 * math.pi)

    def roc(self, false_positive_rate: ArrayLike) -> FloatArray:
        """Compute the true-positive rate at each false-positive rate."""
        return RocGlm(intercept=self.intercept, slope=self.slope).roc(false_positive_rate)

    def curve(self, points: int = 513) -> RocCurve:
        """Return points of the curve, as for drawing. Its thresholds are on the scale where negatives are N(0, 1).

        Half of the points have equidistant false-positive rates, half equidistant true-positive rates.
        """
        from scipy.special import ndtr, ndtri

        if isinstance(points, bool) or not isinstance(points, int) or points < 3:
            raise ParameterError(f"`points` must be a whole number of at least 3, got {points!r}")
        inner = np.linspace(0.0, 1.0, points // 2 + 2)[1:-1]
        by_recall = ndtr((ndtri(inner) - self.intercept) / self.slope)
        rate = np.unique(np.concatenate(([0.0, 1.0], inner, by_recall)))
        return RocCurve(rate, self.roc(rate), -ndtri(rate))

    def to_dict(self) -> dict[str, object]:
        """Return the curve as plain data."""
        return {
            "intercept": self.intercept,
            "slope": self.slope,
            "area": self.area,
            "area_error": self.area_error,
            "method": self.method,
        }


@accepts_predictions
def smooth_roc(counts: ScoreCounts, *, method: str = "likelihood", categories: int = CATEGORIES) -> BinormalRoc:
    """Fit a binormal ROC curve to counted rows.

    Ratings 1 to 5 of 109 computed tomograms (Hanley & McNeil 1982); Stata's manual gives an area of 0.911331:

    >>> ratings = ScoreCounts(np.arange(1.0, 6.0), np.array([3, 2, 2, 11, 33]), np.array([33, 6, 6, 11, 2]))
    >>> round(smooth_roc(ratings).area, 6)
    0.911331
    """
    counts.both_classes()
    if isinstance(categories, bool) or not isinstance(categories, int) or categories < 3:
        raise ParameterError(f"`categories` must be a whole number of at least 3, got {categories!r}")
    if method == "regression":
        return _by_regression(counts)
    if method != "likelihood":
        raise ParameterError(f"`method` must be 'likelihood' or 'regression', got {method!r}")
    ours, theirs = merge_categories(*merge_runs(counts.positives, counts.negatives), categories)
    return _by_likelihood(ours.astype(np.float64), theirs.astype(np.float64))


def merge_runs(positives: CountArray, negatives: CountArray) -> tuple[CountArray, CountArray]:
    """Merge neighbouring scores that only one class has, which leaves the likelihood's maximum where it is."""
    kind = np.where(negatives == 0, 1, np.where(positives == 0, -1, 0))
    starts = np.flatnonzero(np.concatenate(([True], (kind[1:] != kind[:-1]) | (kind[1:] == 0))))
    return np.add.reduceat(positives, starts), np.add.reduceat(negatives, starts)


def merge_categories(positives: CountArray, negatives: CountArray, most: int) -> tuple[CountArray, CountArray]:
    """Merge neighbouring categories into at most so many of nearly equal size, where both classes weigh the same."""
    if positives.size <= most:
        return positives, negatives
    starts = equal_mass_starts(positives / positives.sum() + negatives / negatives.sum(), most)
    return np.add.reduceat(positives, starts), np.add.reduceat(negatives, starts)


def _by_regression(counts: ScoreCounts) -> BinormalRoc:
    from scipy.special import ndtri

    points = operating_points(counts)
    recall, alarm = points.true_positives / points.positives, points.false_positives / points.negatives
    inside = (recall > 0.0) & (recall < 1.0) & (alarm > 0.0) & (alarm < 1.0)
    z_recall, z_specificity = ndtri(recall[inside]), -ndtri(alarm[inside])
    if z_recall.size < 2 or np.ptp(z_recall) == 0.0:
        raise DataError(_NO_FIT)
    centred = z_recall - z_recall.mean()
    steepness = float(np.dot(centred, z_specificity) / np.dot(centred, centred))
    level = float(z_specificity.mean() - steepness * z_recall.mean())
    if steepness >= 0.0:
        raise DataError(_NO_FIT)
    return BinormalRoc(intercept=-level / steepness, slope=-1.0 / steepness, method="regression")


@dataclass(frozen=True, slots=True, repr=False)
class _Likelihood:
    """Multinomial likelihood of ordered categories, with parameters (a, b, edges).

    A negative's category is at most k with probability `Phi(c_k)`, a positive's with `Phi(b c_k - a)`.
    """

    positives: FloatArray
    negatives: FloatArray

    def value(self, theta: FloatArray) -> float:
        """Return the log-likelihood; minus infinity if edges are not ascending or a category is impossible."""
        edges = theta[2:]
        if theta[1] <= 0.0 or not (np.diff(edges) > 0.0).all():
            return -math.inf
        total = 0.0
        for side, u in self._sides(theta):
            chance = _cells(u)
            if (chance[side > 0.0] <= 0.0).any():
                return -math.inf
            total += float(np.dot(side, np.log(np.where(side > 0.0, chance, 1.0))))
        return total

    def derivatives(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the gradient, the expected information and the observed information."""
        size, edges = theta.size, theta[2:]
        gradient, expected, observed = np.zeros(size), np.zeros((size, size)), np.zeros((size, size))
        for positive, (side, u) in zip((True, False), self._sides(theta), strict=True):
            slopes = np.zeros((edges.size, size))  # of u_k
            slopes[np.arange(edges.size), np.arange(2, size)] = theta[1] if positive else 1.0
            if positive:
                slopes[:, 0], slopes[:, 1] = -1.0, edges
            density = np.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)
            rows = np.vstack((np.zeros(size), density[:, None] * slopes, np.zeros(size)))
            changes = np.diff(rows, axis=0)  # of the categories' probabilities
            chance = np.maximum(_cells(u), 1e-300)
            ratio = side / chance
            gradient += ratio @ changes
            expected += side.sum() * (changes.T / chance) @ changes
            step = (ratio[:-1] - ratio[1:]) * density
            second = (slopes.T * (-u * step)) @ slopes
            if positive:
                second[1, 2:] += step
                second[2:, 1] += step
            observed += (changes.T * (ratio / chance)) @ changes - second
        return gradient, expected, observed

    def _sides(self, theta: FloatArray) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
        edges = theta[2:]
        return (self.positives, theta[1] * edges - theta[0]), (self.negatives, edges)

    def start(self) -> FloatArray:
        """Return edges from the negatives' shares, and a line through the points, with half a row in each category."""
        from scipy.special import ndtri

        below, alarm = (
            ndtri(np.cumsum(side + 0.5)[:-1] / (side + 0.5).sum()) for side in (self.positives, self.negatives)
        )
        if not np.isfinite([below, alarm]).all():  # weights of very different size
            raise DataError(_NO_FIT)
        slope, level = np.polyfit(alarm, below, 1)
        return np.concatenate(([-level, max(slope, 0.1)], alarm))


def _by_likelihood(positives: FloatArray, negatives: FloatArray) -> BinormalRoc:
    if positives.size < 3:
        raise DataError(_NO_FIT)
    try:
        return _maximum(positives, negatives)
    except np.linalg.LinAlgError:  # an information matrix out of range, as weights are
        raise DataError(_NO_FIT) from None


def _maximum(positives: FloatArray, negatives: FloatArray) -> BinormalRoc:
    likelihood = _Likelihood(positives, negatives)
    theta = likelihood.start()
    best = likelihood.value(theta)
    for _ in range(_STEPS):
        gradient, expected, _ = likelihood.derivatives(theta)
        step = np.linalg.lstsq(expected, gradient, rcond=None)[0]
        size, scale = float(np.abs(step).max() / (1.0 + np.abs(theta).max())), 1.0
        # So near the maximum that the likelihood is flat to rounding, the step needs no check.
        while size > 1e-6 and not likelihood.value(theta + scale * step) >= best and scale > 1e-12:
            scale /= 2.0
        theta = theta + scale * step
        best = likelihood.value(theta)
        if not np.abs(theta[:2]).max() < 50.0 or theta[1] < 1e-3:
            raise DataError(_NO_FIT)
        if size < _CONVERGED:
            return _fitted(theta, likelihood.derivatives(theta)[2])
    raise DataError(_NO_FIT)


def _fitted(theta: FloatArray, information: FloatArray) -> BinormalRoc:
    """Return the curve with the inverse of the observed information as its covariance."""
    if not np.linalg.eigvalsh(information)[0] > 0.0:
        raise DataError(_NO_FIT)
    covariance: FloatArray = np.linalg.inv(information)[:2, :2].astype(np.float64)
    return BinormalRoc(intercept=float(theta[0]), slope=float(theta[1]), method="likelihood", covariance=covariance)


def _cells(u: FloatArray) -> FloatArray:
    """Return the probabilities of the categories between normal quantiles, from the nearer tail."""
    from scipy.special import ndtr

    low, high = np.concatenate(([-np.inf], u)), np.concatenate((u, [np.inf]))
    upper = low > 0.0
    chance: FloatArray = np.where(upper, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    return chance
