"""Intervals and estimates: two ends, a level and a method; normal intervals, and the scales on which they are made."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from confide.errors import DataError, ParameterError
from confide.normal_distribution import normal_quantile_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval."""

    lower: float
    upper: float
    level: float
    method: str

    @property
    def width(self) -> float:
        """Upper less lower end."""
        return self.upper - self.lower

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    def to_dict(self) -> dict[str, float | str]:
        """Return the interval as plain data."""
        return {"lower": self.lower, "upper": self.upper, "level": self.level, "method": self.method}


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its standard error and interval, where they are known."""

    value: float
    standard_error: float | None = None
    interval: Interval | None = None

    @property
    def known_interval(self) -> Interval:
        """Interval of an estimate whose method always gives one."""
        if self.interval is None:
            raise DataError("there is no interval: the data have too few rows of a class; add rows")
        return self.interval

    def to_dict(self) -> dict[str, object]:
        """Return the estimate as plain data."""
        plain: dict[str, object] = {"value": self.value}
        if self.standard_error is not None:
            plain["standard_error"] = self.standard_error
        plain["interval"] = None if self.interval is None else self.interval.to_dict()
        return plain


def check_level(level: float) -> float:
    """Refuse a confidence level outside (0, 1)."""
    if not (isinstance(level, int | float) and 0.0 < level < 1.0):
        raise ParameterError(f"`level` must lie strictly between 0 and 1, for example 0.95; got {level!r}")
    return float(level)


def normal_quantile(level: float) -> float:
    """Return the half-width, in standard errors, of a two-sided normal interval."""
    return normal_quantile_of(0.5 + check_level(level) / 2.0)


def plain_ends(value: float, standard_error: float, level: float) -> tuple[float, float]:
    """`value -/+ z * se`."""
    reach = normal_quantile(level) * standard_error
    return value - reach, value + reach


def logit_ends(value: float, standard_error: float, level: float) -> tuple[float, float]:
    """Ends on the log-odds scale, where the standard error is `se / (v (1 - v))`, brought back to (0, 1)."""
    centre = math.log(value / (1.0 - value))
    reach = normal_quantile(level) * standard_error / (value * (1.0 - value))
    return logistic(centre - reach), logistic(centre + reach)


def at_an_end(value: float) -> bool:
    """Return whether a proportion is 0 or 1 but for rounding."""
    return value < 1e-12 or value > 1.0 - 1e-12


def all_or_nothing_ends(value: float, trials: float, level: float) -> tuple[float, float]:
    """Exact binomial (Clopper-Pearson) ends when all, or none, of the trials succeeded."""
    tail = ((1.0 - check_level(level)) / 2.0) ** (1.0 / max(math.floor(trials), 1))
    return (tail, 1.0) if value > 0.5 else (0.0, 1.0 - tail)


def logistic(x: float) -> float:
    """Return the probability of log-odds, without overflow."""
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0.0 else math.exp(x) / (1.0 + math.exp(x))


def student_quantile(degrees: float, level: float) -> float:
    """Return the half-width, in standard errors, of a two-sided Student interval; normal for infinite degrees."""
    from scipy.special import stdtrit

    if math.isinf(degrees):
        return normal_quantile(level)
    return float(stdtrit(degrees, 0.5 + check_level(level) / 2.0))


def student_tail(value: float, degrees: float) -> float:
    """Return the probability beyond the absolute value, on one side; normal for infinite degrees."""
    from scipy.special import ndtr, stdtr

    return float(ndtr(-abs(value)) if math.isinf(degrees) else stdtr(degrees, -abs(value)))


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
