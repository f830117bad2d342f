"""Summaries over sites: random-effects meta-analysis by restricted maximum likelihood, after Hartung and Knapp.

Site k's estimate `y_k`, with known variance `v_k`, is taken to vary around its own true value, and true values to
vary around a mean with variance `tau^2`. Weights are `1 / (v_k + tau^2)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray
from confide.errors import DataError, ParameterError
from confide.intervals.interval import Interval, check_level, logistic, normal_quantile

Scale = Literal["identity", "logit", "log"]

_GRID = 400
_HALVINGS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomEffects:
    """Mean over sites, and how much sites differ.

    `value`, `interval` and `prediction` are in the units of the estimates; `mean`, `standard_error` and
    `tau_squared` on the `scale` on which the summary was made. `prediction` is where the true value of
    another such site is expected; there is none below three sites. `weights` add up to 1.
    `tau_squared_interval`, `q_p_value` and `i_squared` need two sites.
    """

    sites: int
    scale: Scale
    value: float
    interval: Interval
    prediction: Interval | None
    mean: float
    standard_error: float
    tau_squared: float
    tau_squared_interval: Interval | None
    q: float
    q_p_value: float | None
    i_squared: float | None
    weights: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        ends = ("interval", "prediction", "tau_squared_interval")
        plain = {name: getattr(self, name) for name in self.__slots__ if name not in ends}
        intervals = {name: getattr(self, name) for name in ends}
        named = {name: None if found is None else found.to_dict() for name, found in intervals.items()}
        return {**plain, **named, "weights": list(self.weights)}


def random_effects(
    estimates: ArrayLike, variances: ArrayLike, *, level: float = 0.95, floor: bool = False
) -> RandomEffects:
    """Summarise sites' estimates, with the variance of each.

    `tau^2` maximises the restricted likelihood over [0, S^2 + max v], outside of which it only falls;
    it is often 0. The interval is Hartung and Knapp's: the standard error is
    `sqrt(sum w (y - mean)^2 / (k - 1) / sum w)` and the quantile Student's with k - 1 degrees. As in the R package
    metafor (`test="knha"`) it may come out narrower than the usual one where sites agree by chance;
    `floor=True` forbids that (`test="adhoc"`). The prediction interval is
    `mean -/+ t_{k-2} sqrt(tau^2 + se^2)` (Higgins, Thompson & Spiegelhalter 2009; Partlett & Riley 2017).
    `i_squared` is the share of variance that is between sites, and `tau_squared_interval` comes from Q
    profiles (Viechtbauer 2007).

    One site gives its own normal interval and nothing on differences. Two give an interval with one
    degree of freedom, wide enough to be of little use. Equal estimates give a standard error of 0, and
    so an interval without width: use `floor=True` where that could happen.

    >>> summary = random_effects([0.10, 0.30, 0.35, 0.65], [0.03, 0.03, 0.05, 0.01])
    >>> round(summary.value, 3), round(summary.tau_squared, 3)
    (0.377, 0.043)
    """
    y, v = _checked(estimates, variances)
    check_level(level)
    tau_squared = _restricted_maximum(y, v)
    weights = 1.0 / (v + tau_squared)
    total = float(weights.sum())
    mean = float(np.dot(weights, y) / total)
    error, reach = _hartung_knapp(y, weights, mean, level, floor)
    fixed = 1.0 / v
    q = float(np.dot(fixed, (y - np.dot(fixed, y) / fixed.sum()) ** 2))
    several = y.size > 1
    return RandomEffects(
        sites=y.size,
        scale="identity",
        value=mean,
        interval=_interval(mean, reach, level, "Hartung-Knapp" if several else "normal, one site"),
        prediction=_prediction(mean, error, tau_squared, y.size, level),
        mean=mean,
        standard_error=error,
        tau_squared=tau_squared,
        tau_squared_interval=_q_profile(y, v, level) if several else None,
        q=q,
        q_p_value=_chi_squared_tail(q, y.size - 1) if several else None,
        i_squared=tau_squared / (tau_squared + _typical_variance(v)) if several else None,
        weights=tuple((weights / total).tolist()),
    )


def auc_random_effects(
    aucs: ArrayLike, variances: ArrayLike, *, level: float = 0.95, floor: bool = False
) -> RandomEffects:
    """Summarise sites' AUCs on the log-odds scale, where the variance is `v / (A (1 - A))^2`.

    Sites with an AUC of 0 or 1, or without a variance, have to be left out before.
    """
    value, variance = np.asarray(aucs, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if not ((value > 0.0) & (value < 1.0)).all():
        raise DataError("an AUC of 0 or 1 has no log-odds; leave that site out of the summary, and say so")
    found = random_effects(
        np.log(value / (1.0 - value)), variance / (value * (1.0 - value)) ** 2, level=level, floor=floor
    )
    return _transformed(found, "logit", logistic)


def observed_expected_random_effects(
    observed: ArrayLike, expected: ArrayLike, rows: ArrayLike, *, level: float = 0.95, floor: bool = False
) -> RandomEffects:
    """Summarise sites' ratios of observed to expected positives on the log scale (Debray et al. 2017).

    The variance of `log(O/E)` is `1/O - 1/N`: positives are binomial and what was expected is known. Where a
    site has no positives, or only positives, half a positive and half a negative are added to it.
    """
    o, e, n = (np.asarray(each, dtype=np.float64) for each in (observed, expected, rows))
    if not (
        o.shape == e.shape == n.shape and (e > 0.0).all() and (o >= 0.0).all() and (o <= n).all() and (n > 0.0).all()
    ):
        raise DataError(
            "observed, expected and rows need one number for each site, 0 <= observed <= rows, expected > 0"
        )
    end = (o == 0.0) | (o == n)
    o, e, n = np.where(end, o + 0.5, o), np.where(end, e + 0.5, e), np.where(end, n + 1.0, n)
    return ratio_random_effects(o / e, 1.0 / o - 1.0 / n, level=level, floor=floor)


def ratio_random_effects(
    ratios: ArrayLike, log_variances: ArrayLike, *, level: float = 0.95, floor: bool = False
) -> RandomEffects:
    """Summarise positive ratios on the log scale, with the variance of each logarithm."""
    ratio = np.asarray(ratios, dtype=np.float64)
    if not (ratio > 0.0).all():
        raise DataError("a ratio that is not above 0 has no logarithm; leave that site out of the summary, and say so")
    return _transformed(random_effects(np.log(ratio), log_variances, level=level, floor=floor), "log", math.exp)


def restricted_likelihood(tau_squared: float, estimates: FloatArray, variances: FloatArray) -> float:
    """Return the restricted log-likelihood of `tau^2`, but for a constant."""
    w = 1.0 / (variances + tau_squared)
    mean = np.dot(w, estimates) / w.sum()
    return float(0.5 * (np.log(w).sum() - np.log(w.sum()) - np.dot(w, (estimates - mean) ** 2)))


def _restricted_maximum(y: FloatArray, v: FloatArray) -> float:
    """Find the best point of a fine grid, and from there the point where the derivative changes its sign.

    The likelihood may have more than one maximum, which scoring from one start would not see.
    """
    if y.size < 2:
        return 0.0
    most = float(y.var(ddof=1) + v.max())
    tried = np.concatenate(([0.0], most * np.geomspace(1e-8, 1.0, _GRID)))
    best = int(np.argmax([restricted_likelihood(tau, y, v) for tau in tried]))
    low, high = tried[max(best - 1, 0)], tried[min(best + 1, _GRID)]
    if best == 0 and _derivative(0.0, y, v) <= 0.0:
        return 0.0
    return _crossing(lambda tau: _derivative(tau, y, v), low, high)


def _derivative(tau_squared: float, y: FloatArray, v: FloatArray) -> float:
    w = 1.0 / (v + tau_squared)
    total = w.sum()
    mean = np.dot(w, y) / total
    return float(0.5 * (np.dot(w * w, (y - mean) ** 2) - total + np.dot(w, w) / total))


def _crossing(falling: Callable[[float], float], low: float, high: float) -> float:
    """Find where a function goes from above 0 to below, by halving until floats end."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if falling(middle) > 0.0 else (low, middle)
    return float((low + high) / 2.0)


def _hartung_knapp(y: FloatArray, weights: FloatArray, mean: float, level: float, floor: bool) -> tuple[float, float]:
    """Return the standard error of the mean and the half-width of its interval."""
    total = float(weights.sum())
    if y.size == 1:
        return 1.0 / math.sqrt(total), normal_quantile(level) / math.sqrt(total)
    spread = float(np.dot(weights, (y - mean) ** 2)) / (y.size - 1)
    error = math.sqrt((max(spread, 1.0) if floor else spread) / total)
    return error, _student_quantile(level, y.size - 1) * error


def _prediction(mean: float, error: float, tau_squared: float, sites: int, level: float) -> Interval | None:
    if sites < 3:
        return None
    reach = _student_quantile(level, sites - 2) * math.sqrt(tau_squared + error * error)
    return _interval(mean, reach, level, "Higgins-Thompson-Spiegelhalter")


def _interval(centre: float, reach: float, level: float, method: str) -> Interval:
    return Interval(lower=centre - reach, upper=centre + reach, level=level, method=method)


def _q_profile(y: FloatArray, v: FloatArray, level: float) -> Interval:
    """Return the interval of `tau^2` whose weighted sum of squares chi-squared with k - 1 degrees does not reject."""
    from scipy.special import chdtri

    def q(tau_squared: float) -> float:
        w = 1.0 / (v + tau_squared)
        return float(np.dot(w, (y - np.dot(w, y) / w.sum()) ** 2))

    def end(tail: float) -> float:
        target = float(chdtri(y.size - 1, tail))
        if q(0.0) <= target:
            return 0.0
        high = float(np.sum((y - y.mean()) ** 2)) / target + 1.0  # q is at most this sum over tau^2
        return _crossing(lambda tau: q(tau) - target, 0.0, high)

    tail = (1.0 - level) / 2.0
    return Interval(lower=end(tail), upper=end(1.0 - tail), level=level, method="Q profile")


def _typical_variance(v: FloatArray) -> float:
    """Higgins and Thompson's typical within-site variance."""
    w = 1.0 / v
    return float((v.size - 1) * w.sum() / (w.sum() ** 2 - np.dot(w, w)))


def _transformed(found: RandomEffects, scale: Scale, back: Callable[[float], float]) -> RandomEffects:
    """Return the same summary with value and intervals brought back to the units of the estimates."""

    def moved(interval: Interval) -> Interval:
        return replace(interval, lower=_or_infinity(back, interval.lower), upper=_or_infinity(back, interval.upper))

    prediction = None if found.prediction is None else moved(found.prediction)
    return replace(found, scale=scale, value=back(found.mean), interval=moved(found.interval), prediction=prediction)


def _or_infinity(back: Callable[[float], float], value: float) -> float:
    try:
        return back(value)
    except OverflowError:
        return math.inf


def _student_quantile(level: float, degrees: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + level / 2.0))


def _chi_squared_tail(value: float, degrees: int) -> float:
    from scipy.special import chdtrc

    return float(chdtrc(degrees, value))


def _checked(estimates: ArrayLike, variances: ArrayLike) -> tuple[FloatArray, FloatArray]:
    y, v = np.asarray(estimates, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if y.ndim != 1 or y.shape != v.shape or not y.size:
        raise ParameterError("estimates and variances must be of one length, one number for each site, at least one")
    if not (np.isfinite(y).all() and np.isfinite(v).all() and (v > 0.0).all()):
        raise DataError(
            "estimates must be finite and variances above 0; leave sites without a variance out, and say so"
        )
    return y, v
