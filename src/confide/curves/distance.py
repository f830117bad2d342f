"""Area between two curves: the distance of a private or federated curve from the exact one."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from confide.counts import FloatArray

Curve: TypeAlias = tuple[FloatArray, FloatArray]
"""Places and heights, for example false and true-positive rates, from (0, 0) to (1, 1)."""


def area_between(one: Curve, other: Curve) -> float:
    """Integrate the distance between two piecewise linear curves, which may have vertical steps.

    Between neighbouring places of both curves both are lines, whose difference changes its sign at
    most once; at a step, the line to its right starts at its upper end and the line to its left ends at its lower end.

    >>> corner = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])
    >>> diagonal = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    >>> area_between(corner, diagonal)
    0.5
    """
    places = np.union1d(one[0], other[0])
    left, right = places[:-1], places[1:]
    start, end = (_on_line(one, left, at) - _on_line(other, left, at) for at in (left, right))
    sizes = np.abs(start) + np.abs(end)
    crossing = start * end < 0.0
    split = np.divide(start**2 + end**2, sizes, out=np.zeros_like(sizes), where=sizes > 0.0)
    return float(np.sum((right - left) * np.where(crossing, split, sizes)) / 2.0)


def _on_line(curve: Curve, left: FloatArray, at: FloatArray) -> FloatArray:
    """A curve's height at places on the lines that begin at or before others, steps behind them."""
    x, y = curve
    first = np.clip(np.searchsorted(x, left, side="right") - 1, 0, x.size - 2)
    heights: FloatArray = y[first] + (y[first + 1] - y[first]) * (at - x[first]) / (x[first + 1] - x[first])
    return heights
