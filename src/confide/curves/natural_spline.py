"""Natural cubic splines with given knots, in coordinates in which roughness is a sum of squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.counts import FloatArray

NEAREST = 1e-6
"""Least distance of two knots, as a share of the distance from the first to the last.

Roughness grows with the third power of 1 / distance: beside knots much nearer than this, rounding hides the roughness
of all other functions. Knots that are merged at this distance move a fitted curve by some 1e-5 or less.
"""


@dataclass(frozen=True, slots=True, eq=False)
class NaturalSpline:
    """Functions that are cubic between knots and straight outside: a constant, a line, and curved ones.

    Coordinates run from 0 at the first knot to 1 at the last. A function is `a + b (x - 1/2) + sum_j c_j Z_j(x)`. The
    curved functions `Z_j` are chosen such that the roughness, the integral of the squared second derivative, is
    `sum_j c_j^2`, and that they have no overlap with constant and line at the knots (Wood 2017, section 5.3.1).

    `values` holds each function at each knot, `bends` its second derivative there; a function is a column.
    """

    first: float
    width: float
    knots: FloatArray
    values: FloatArray
    bends: FloatArray

    @classmethod
    def through(cls, knots: FloatArray) -> NaturalSpline:
        """Build the functions for ascending knots, of which the last is above the first; near ones are merged."""
        first, width = float(knots[0]), float(knots[-1] - knots[0])
        at = _apart((knots - first) / width)
        line = np.column_stack((np.ones(at.size), at - 0.5))
        if at.size == 2:
            return cls(first, width, at, line, np.zeros_like(line))
        second = _second_derivatives(at)
        roughness, directions = np.linalg.eigh(second.T @ _overlaps(at) @ second)
        curved = directions[:, 2:] / np.sqrt(roughness[2:])
        bends = np.zeros((at.size, at.size))
        bends[1:-1, 2:] = second @ curved
        return cls(first, width, at, np.column_stack((line, curved)), bends)

    @property
    def size(self) -> int:
        """Number of functions."""
        return self.knots.size

    def design(self, points: FloatArray) -> FloatArray:
        """Evaluate every function at each point; a function is a column."""
        x = (points - self.first) / self.width
        left = np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, self.size - 2)
        near, far, bend_near, bend_far = _weights(x, self.knots[left], self.knots[left + 1])
        rows: FloatArray = (
            near[:, None] * self.values[left]
            + far[:, None] * self.values[left + 1]
            + bend_near[:, None] * self.bends[left]
            + bend_far[:, None] * self.bends[left + 1]
        )
        return rows

    def combine(self, coefficients: FloatArray, points: FloatArray) -> FloatArray:
        """Evaluate one combination of the functions at many ascending points, without a matrix for them all."""
        x = (points - self.first) / self.width
        values, bends = self.values @ coefficients, self.bends @ coefficients
        result = np.empty(x.size)
        edges = [0, *np.searchsorted(x, self.knots[1:-1]).tolist(), x.size]
        for left in range(self.size - 1):
            part = slice(edges[left], edges[left + 1])
            if part.start == part.stop:
                continue
            start, end = float(self.knots[left]), float(self.knots[left + 1])
            if x[part.start] >= start and x[part.stop - 1] <= end:
                result[part] = _cubic(x[part], start, end, values[left : left + 2], bends[left : left + 2])
                continue
            near, far, bend_near, bend_far = _weights(x[part], self.knots[left], self.knots[left + 1])
            result[part] = (
                near * values[left] + far * values[left + 1] + bend_near * bends[left] + bend_far * bends[left + 1]
            )
        return result


def _apart(knots: FloatArray) -> FloatArray:
    """Leave out knots that are near the one before, or the last; 0 and 1, the first and the last, stay."""
    kept = [0.0]
    for knot in knots[1:-1].tolist():
        if knot - kept[-1] >= NEAREST and 1.0 - knot >= NEAREST:
            kept.append(knot)
    return np.array([*kept, 1.0])


def _cubic(x: FloatArray, start: float, end: float, values: FloatArray, bends: FloatArray) -> FloatArray:
    """Evaluate the piece between two knots, with given values and second derivatives there, by Horner's rule.

    With `t = (x - start) / step` and `b = bends * step^2 / 6` it is
    `values[0] + t (rise - 2 b[0] - b[1] + t (3 b[0] + t (b[1] - b[0])))`.
    """
    step = end - start
    near, far = (bends * (step * step / 6.0)).tolist()
    t = (x - start) / step
    result: FloatArray = t * (far - near)
    result += 3.0 * near
    result *= t
    result += (values[1] - values[0]) - 2.0 * near - far
    result *= t
    result += values[0]
    return result


def _weights(
    x: FloatArray, left: FloatArray | float, right: FloatArray | float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Weights of values and second derivatives at both ends of a piece in the value at `x` (Wood 2017, table 5.1).

    Outside the knots the last piece goes on straight; there the second derivative of its outer end is 0.
    """
    step = right - left
    near, far = (right - x) / step, (x - left) / step
    inner, outer = np.clip(near, 0.0, 1.0), np.clip(far, 0.0, 1.0)
    bend_near = ((inner**2 - 1.0) * inner + np.maximum(-near, 0.0)) * (step * step / 6.0)
    bend_far = ((outer**2 - 1.0) * outer + np.maximum(-far, 0.0)) * (step * step / 6.0)
    return near, far, bend_near, bend_far


def _overlaps(knots: FloatArray) -> FloatArray:
    """Integrals of products of the hat functions at inner knots."""
    step = np.diff(knots)
    between = step[1:-1] / 6.0
    return np.diag((step[:-1] + step[1:]) / 3.0) + np.diag(between, 1) + np.diag(between, -1)


def _second_derivatives(knots: FloatArray) -> FloatArray:
    """Matrix from values at the knots to second derivatives at inner knots, for which the spline is smooth."""
    step = np.diff(knots)
    inner = np.arange(knots.size - 2)
    differences = np.zeros((knots.size - 2, knots.size))
    differences[inner, inner] = 1.0 / step[:-1]
    differences[inner, inner + 1] = -1.0 / step[:-1] - 1.0 / step[1:]
    differences[inner, inner + 2] = 1.0 / step[1:]
    return np.asarray(np.linalg.solve(_overlaps(knots), differences), dtype=np.float64)
