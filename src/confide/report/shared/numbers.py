"""Numbers, intervals and estimates as text: the one writer that tables, plots and sentences share."""

from __future__ import annotations

import math
from typing import TypeGuard

from confide.intervals.interval import Estimate, Interval

DASH = "–"
"""Stands for a number that does not exist."""


def number(value: float | None, digits: int | None = 3) -> str:
    """Write a number with so many decimals, or with None as many as suit its size; a dash if it does not exist."""
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if digits is not None:
        return f"{value:.{digits}f}"
    if value >= 10_000.0:
        return f"{value:.0e}"
    return f"{value:.{3 if abs(value) < 10.0 else 1 if abs(value) < 1_000.0 else 0}f}"


def amount(value: float) -> str:
    """Write a number of rows, or a sum of weights with one decimal."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def whole(value: float) -> str:
    """Write an estimated number of rows without decimals."""
    return f"{value:,.0f}" if math.isfinite(value) else DASH


def p_value(value: float) -> str:
    """Write a p-value, never as zero."""
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def percent(share: float) -> str:
    """Write a share, such as a confidence level, in per cent."""
    return f"{100 * share:g} %"


def has_ends(interval: Interval | None) -> TypeGuard[Interval]:
    """Return whether an interval exists; an end may be infinite."""
    return interval is not None and not (math.isnan(interval.lower) or math.isnan(interval.upper))


def interval_text(interval: Interval | None, digits: int | None = 3, *, joined: str = " to ") -> str:
    """Write both ends of an interval, a dash if it does not exist."""
    if not has_ends(interval):
        return DASH
    return f"{number(interval.lower, digits)}{joined}{number(interval.upper, digits)}"


def estimate_text(estimate: Estimate | None, digits: int | None = 3, *, joined: str = " to ") -> str:
    """Write a value with its interval in brackets, if there is one."""
    if estimate is None:
        return DASH
    value = number(estimate.value, digits)
    if estimate.interval is None:
        return value
    return f"{value} ({interval_text(estimate.interval, digits, joined=joined)})"
