"""Weights that minimise the regularised logistic loss, with a proven bound on their distance from the minimum.

The loss is `J(w) = sum over rows of log(1 + exp(-y w.x)) + regularization/2 |w|^2 + tilt.w`, which is strongly convex:
where its gradient has the length g, the minimum is at most `g / regularization` away. Newton's method runs, in floats,
until the gradient in exact arithmetic is short enough, whatever the data. Proof: logistic_minimum.proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import ParameterError
from confide.privacy.guarantee import exact_fraction
from confide.privacy.mechanisms.logistic_gradient import GRADIENT_BITS, loss_slope
from confide.privacy.mechanisms.unit_rows import UNIT, UnitRows

LEAST_REGULARIZATION, MOST_REGULARIZATION = Fraction(1, 64), Fraction(2**20)

GRADIENT_BOUND = Fraction(1, 2**25)
"""The true gradient at the weights that are found is at most this long, for every dataset."""

TILT_BITS = 64
"""Tilts are integers in units of `2**-TILT_BITS`, each at most half a unit from the number meant."""

_ENOUGH = (2 ** (GRADIENT_BITS - 26)) ** 2  # the other half of the bound is for errors
_FORCING = (1e-3, 1 / 8)  # how far from Newton's equations a step may be, relative to the gradient

Floats = NDArray[np.float64]


def checked_regularization(value: object) -> Fraction:
    """Return the strength of regularisation, refusing what is too weak or too strong to be of use."""
    strength = exact_fraction(value, "regularization")
    if not LEAST_REGULARIZATION <= strength <= MOST_REGULARIZATION:
        raise ParameterError(
            f"regularization must lie between {LEAST_REGULARIZATION} and {MOST_REGULARIZATION}; got {value!r}"
        )
    return strength


def distance_bound(regularization: Fraction) -> Fraction:
    """Bound the distance of the returned weights from the minimum."""
    return GRADIENT_BOUND / regularization


def near_minimum(rows: UnitRows, regularization: Fraction, tilt: Sequence[int] | None = None) -> tuple[Fraction, ...]:
    """Weights within `distance_bound(regularization)` of those at which J is least."""
    loss = _Loss(
        rows, regularization, [0] * rows.width if tilt is None else list(tilt), _fineness(rows, regularization)
    )
    place = loss.at([0] * rows.width)
    start = place.length
    while place.squared > _ENOUGH:
        forcing = float(np.clip(np.sqrt(place.length / start), *_FORCING))
        place = _downhill(loss, place, loss.step(place, forcing))
    return tuple(Fraction(weight, 2**loss.fine) for weight in place.weights)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Place:
    """Weights in units of `2**-fine`, the gradient there in units of `2**-GRADIENT_BITS`, and the rows' curvatures."""

    weights: list[int]
    gradient: list[int]
    squared: int
    curvatures: Floats

    @property
    def length(self) -> float:
        return math.sqrt(self.squared)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Loss:
    rows: UnitRows
    regularization: Fraction
    tilt: list[int]
    fine: int

    def at(self, weights: list[int]) -> _Place:
        """Evaluate the gradient; everything but the rows' part is rounded down to a unit."""
        slope = loss_slope(self.rows, weights, self.fine)
        times, by = self.regularization.numerator << (GRADIENT_BITS - self.fine), self.regularization.denominator
        gradient = [
            part + weight * times // by + (lean << (GRADIENT_BITS - TILT_BITS))
            for part, weight, lean in zip(slope.gradient, weights, self.tilt, strict=True)
        ]
        return _Place(weights, gradient, sum(part * part for part in gradient), slope.curvatures)

    def step(self, place: _Place, forcing: float) -> Floats:
        """Newton's step to the minimum of the parabola here, in floats."""
        matrix, strength = self.rows.matrix, float(self.regularization)
        curvatures = place.curvatures * float(UNIT) ** -2

        def product(vector: Floats) -> Floats:
            bent: Floats = np.asarray((curvatures * (matrix @ vector)) @ matrix) + strength * vector
            return bent

        downhill = np.ldexp([-float(part) for part in place.gradient], -GRADIENT_BITS)
        return _solved(product, downhill, _diagonal(matrix, curvatures) + strength, forcing)


def _downhill(loss: _Loss, place: _Place, step: Floats) -> _Place:
    """Go along a step, or half of it, or a quarter, ..., until the gradient is shorter."""
    share = 1.0
    while True:
        moves = np.rint(np.ldexp(step * share, loss.fine)).tolist()
        there = loss.at([weight + int(move) for weight, move in zip(place.weights, moves, strict=True)])
        if there.length <= (1.0 - share / 4.0) * place.length:
            return there
        share /= 2.0


def _solved(product: Callable[[Floats], Floats], wanted: Floats, diagonal: Floats, forcing: float) -> Floats:
    """Solve `product(x) = wanted` by conjugate gradients, to within `forcing` times the length of what is wanted."""
    found, left = np.zeros_like(wanted), wanted.copy()
    scaled = left / diagonal
    direction, energy = scaled, float(left @ scaled)
    enough = forcing * float(np.linalg.norm(wanted))
    while float(np.linalg.norm(left)) > enough:
        bent = product(direction)
        share = energy / float(direction @ bent)
        found += share * direction
        left -= share * bent
        scaled = left / diagonal
        before, energy = energy, float(left @ scaled)
        direction = scaled + (energy / before) * direction
    return found


def _diagonal(matrix: Any, curvatures: Floats) -> Floats:
    """Return the diagonal of the second derivatives, without the regularisation's part."""
    if hasattr(matrix, "tocsr"):
        squares = matrix.copy()
        squares.data **= 2
        return np.asarray(curvatures @ squares)
    return np.asarray(np.einsum("i,ij,ij->j", curvatures, matrix, matrix))


def _fineness(rows: UnitRows, regularization: Fraction) -> int:
    """Digits of the weights behind the point, so that rounding them does not keep the gradient from its bound."""
    steepest = len(rows) // 4 + int(regularization) + 1
    return 36 + steepest.bit_length() + (rows.width.bit_length() + 1) // 2
