"""Intervals and estimates: two ends, a level and a method."""

from __future__ import annotations

import math
from dataclasses import dataclass

from confide.errors import DataError, ParameterError
from confide.normal import normal_quantile_of


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
