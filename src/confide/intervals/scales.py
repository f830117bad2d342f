"""Scales of normal intervals: the number's own, and one on which its range is the whole line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from confide.intervals.interval import Estimate, Interval, logistic, normal_quantile, plain_ends

Method = Literal["plain", "logit", "wilson", "bootstrap"]
"""How an interval is made.

"plain" is `value -/+ z se`. "logit" is the same on the scale that keeps the number in its range: log-odds for shares,
logarithms for ratios, Fisher's z for correlations. "wilson" is Wilson's interval of a share. "bootstrap" takes
percentiles of resampled rows.
"""

_LARGEST_POWER = 709.0  # of e, beyond which it overflows
_NEAR = 1e-12  # a number so near to an end of its range is at the end, but for rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Increasing transformation of the range from `low` to `high` onto the real line, with its derivative."""

    name: str
    low: float
    high: float
    forward: Callable[[float], float]
    backward: Callable[[float], float]
    derivative: Callable[[float], float]

    def ends(self, value: float, error: float, reach: float) -> tuple[float, float]:
        """Return the ends that lie `reach` standard errors from the value on this scale, brought back.

        >>> lower, upper = LOG_ODDS.ends(0.8, 0.05, 1.96)
        >>> round(lower, 4), round(upper, 4)
        (0.6843, 0.8807)
        """
        centre, half = self.forward(value), reach * error * self.derivative(value)
        return self.backward(centre - half), self.backward(centre + half)

    @property
    def suffix(self) -> str:
        """Name of the scale at the end of a method's name; empty for a number's own scale."""
        return "" if self is IDENTITY else f", {self.name}"

    def inside(self, value: float) -> bool:
        """Return whether a value lies within the range, and not at an end of it."""
        return self.low + _NEAR < value < self.high - _NEAR


def _exponential(x: float) -> float:
    """Raise e to a power, infinity where the result is too large for a number."""
    return math.exp(x) if x < _LARGEST_POWER else math.inf


IDENTITY = Scale(
    name="plain",
    low=-math.inf,
    high=math.inf,
    forward=lambda value: value,
    backward=lambda value: value,
    derivative=lambda value: 1.0,
)
LOG_ODDS = Scale(
    name="logit",
    low=0.0,
    high=1.0,
    forward=lambda value: math.log(value / (1.0 - value)),
    backward=logistic,
    derivative=lambda value: 1.0 / (value * (1.0 - value)),
)
LOG = Scale(
    name="log",
    low=0.0,
    high=math.inf,
    forward=math.log,
    backward=_exponential,
    derivative=lambda value: 1.0 / value,
)
FISHER_Z = Scale(
    name="Fisher z",
    low=-1.0,
    high=1.0,
    forward=math.atanh,
    backward=math.tanh,
    derivative=lambda value: 1.0 / (1.0 - value * value),
)
LOG_OF_REST = Scale(
    name="log of the rest",
    low=-math.inf,
    high=1.0,
    forward=lambda value: -math.log(1.0 - value),
    backward=lambda value: 1.0 - _exponential(-value),
    derivative=lambda value: 1.0 / (1.0 - value),
)
"""For numbers of at most 1 such as the scaled Brier score: the logarithm of 1 less the number."""


def normal_estimate(
    value: float, error: float, *, level: float, method: Method = "plain", scale: Scale = IDENTITY, name: str = "normal"
) -> Estimate:
    """Return the estimate with a normal interval, which `method` puts on the number's own scale or on `scale`.

    A plain interval is cut at the ends of the range. There is no interval where the standard error is 0 or unknown,
    or where a value at the end of its range has no place on the scale.

    >>> normal_estimate(0.9, 0.05, level=0.95, method="logit", scale=LOG_ODDS).known_interval.method
    'normal, logit'
    """
    if not (math.isfinite(value) and math.isfinite(error)):
        return Estimate(value=value)
    if error <= 0.0 or not scale.inside(value):
        return Estimate(value=value, standard_error=error)
    if method == "plain" or scale is IDENTITY:
        low, high = plain_ends(value, error, level)
        lower, upper, text = max(low, scale.low), min(high, scale.high), name
    else:
        lower, upper = scale.ends(value, error, normal_quantile(level))
        text = f"{name}{scale.suffix}"
    return Estimate(
        value=value,
        standard_error=error,
        interval=Interval(lower=lower, upper=upper, level=level, method=text),
    )
