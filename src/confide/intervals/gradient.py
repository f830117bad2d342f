"""Numbers that carry their derivatives, so that a formula written for numbers yields its gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from confide.counts import FloatArray
from confide.metrics.threshold import ConfusionMatrix


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gradient:
    """A value and its derivatives in a few variables (forward differentiation).

    >>> x, y = Gradient.variables(np.array([3.0, 4.0]))
    >>> (x / (x + y)).slope  # y/(x+y)^2, -x/(x+y)^2
    array([ 0.08163265, -0.06122449])
    """

    value: float
    slope: FloatArray

    @classmethod
    def variables(cls, values: FloatArray) -> list[Gradient]:
        """Return each value as a variable of its own."""
        return [cls(float(value), unit) for value, unit in zip(values, np.eye(values.size), strict=True)]

    @classmethod
    def of(cls, value: float | Gradient, size: int) -> Gradient:
        """Return a number as a constant; a missing value (NaN) has no derivative either."""
        if isinstance(value, Gradient):
            return value
        return cls(float(value), np.full(size, np.nan if np.isnan(value) else 0.0))

    def _other(self, other: float | Gradient) -> Gradient:
        return Gradient.of(other, self.slope.size)

    def __add__(self, other: float | Gradient) -> Gradient:
        other = self._other(other)
        return Gradient(self.value + other.value, self.slope + other.slope)

    __radd__ = __add__

    def __mul__(self, other: float | Gradient) -> Gradient:
        other = self._other(other)
        return Gradient(self.value * other.value, self.slope * other.value + self.value * other.slope)

    __rmul__ = __mul__

    def __neg__(self) -> Gradient:
        return Gradient(-self.value, -self.slope)

    def __sub__(self, other: float | Gradient) -> Gradient:
        return self + -self._other(other)

    def __rsub__(self, other: float | Gradient) -> Gradient:
        return self._other(other) + -self

    def __pow__(self, exponent: float) -> Gradient:
        if self.value == 0.0 and exponent < 1.0:
            return Gradient(self.value, np.full(self.slope.size, np.nan))  # a root has no derivative at 0
        return Gradient(self.value**exponent, exponent * self.value ** (exponent - 1.0) * self.slope)

    def __truediv__(self, other: float | Gradient) -> Gradient:
        return self * self._other(other) ** -1.0

    def __rtruediv__(self, other: float | Gradient) -> Gradient:
        return self._other(other) * self**-1.0

    def __float__(self) -> float:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0.0

    def __le__(self, other: float | Gradient) -> bool:
        return self.value <= float(other)


def measure_gradient(cells: FloatArray, measure: Callable[[ConfusionMatrix], Any]) -> Gradient:
    """Return a measure of a confusion matrix with its derivatives by cell.

    Cells are true positives, false positives, false negatives and true negatives.
    """
    tp, fp, fn, tn = (cast("float", variable) for variable in Gradient.variables(cells))
    matrix = ConfusionMatrix(true_positives=tp, false_positives=fp, false_negatives=fn, true_negatives=tn)
    return Gradient.of(measure(matrix), 4)
