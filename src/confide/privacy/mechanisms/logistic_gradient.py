"""Gradient of the logistic loss of many rows, with a proven bound on its error that floats cannot break.

Products and sums are taken of whole numbers below 2^53, which floats add and multiply exactly in every order, so that
fast matrix products give the exact result. Only the logistic function itself is rounded, from a table made in ball
arithmetic. Proof: logistic_gradient.proof.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, arb_series
from numpy.typing import NDArray

from confide.privacy.mechanisms.unit_rows import UNIT, UnitRows
from confide.privacy.noise.reals import working_precision

ROW_BITS = UNIT.bit_length() - 1
RESIDUAL_BITS = 62
GRADIENT_BITS = RESIDUAL_BITS + ROW_BITS
"""Gradients are integers in units of `2**-GRADIENT_BITS`."""

ROW_ERROR = Fraction(1, 2**60)
"""No row's part of the gradient is further than this from the truth, in Euclidean length."""

_WEIGHT_LIMB, _RESIDUAL_LIMB = 24, 13
_BLOCK = 2**13  # rows multiplied at once: few, so that they stay near, and 2^13 * 2^20 * 2^13 is below 2^53

_MARGIN_BITS, _KNOT_BITS = 57, 7
_END = 45  # beyond this margin the logistic function is below 2^-62
_TERMS = 8


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Slope:
    """A gradient in units of `2**-GRADIENT_BITS`, and the second derivative of each row's loss, in floats."""

    gradient: list[int]
    curvatures: NDArray[np.float64]

    @property
    def squared(self) -> int:
        """Return the exact squared length of the gradient."""
        return sum(part * part for part in self.gradient)


def loss_slope(rows: UnitRows, weights: Sequence[int], fine: int) -> Slope:
    """Compute the gradient of the sum over all rows of `log(1 + exp(-y w.x))`; weights are in units of `2**-fine`."""
    limbs = limbs_of(weights)
    totals = np.zeros((-(-RESIDUAL_BITS // _RESIDUAL_LIMB), rows.width), dtype=np.int64)
    curvatures = np.empty(len(rows))
    for start in range(0, len(rows), _BLOCK):
        here = slice(start, start + _BLOCK)
        part, positive = rows.matrix[here], rows.labels[here]
        residuals = residuals_of(margins_of(part, limbs, fine, positive))
        share = np.ldexp(residuals.astype(np.float64), -RESIDUAL_BITS)
        curvatures[here] = share * (1.0 - share)
        signed = np.where(positive, -1.0, 1.0)[:, None] * _digits(residuals)
        totals += np.asarray(part.T @ signed).T.astype(np.int64)
    return Slope(_joined(totals), curvatures)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Margins:
    """Absolute values `whole * 2**-57 + rest` and signs; of those that lie `beyond` 44 only the sign is known."""

    whole: NDArray[np.int64]
    rest: NDArray[np.float64]
    negative: NDArray[np.bool_]
    beyond: NDArray[np.bool_]


def margins_of(part: Any, limbs: NDArray[np.float64], fine: int, positive: NDArray[np.bool_]) -> Margins:
    """Compute the products `y w.x` of some rows, with weights in the form of `limbs_of`."""
    products = np.asarray(part @ limbs.T)
    products[~positive] *= -1.0
    places = [_WEIGHT_LIMB * k - fine - ROW_BITS + _MARGIN_BITS for k in range(limbs.shape[0])]
    parts = np.ldexp(products, places)
    whole, rest = np.zeros(len(products), dtype=np.uint64), np.zeros(len(products))
    for k, place in enumerate(places):
        if place >= 64:
            continue  # a multiple of 2^64, which is 0 in the arithmetic of 64-bit integers
        lower = np.floor(parts[:, k]) if place < 0 else products[:, k]
        whole += lower.astype(np.int64).astype(np.uint64) << np.uint64(max(place, 0))
        if place < 0:
            rest += parts[:, k] - lower
    about, signed = _about(products, parts, fine), whole.astype(np.int64)
    beyond = np.abs(about) >= _END - 0.5
    negative = np.where(beyond, about < 0.0, signed < 0)
    sign = np.where(negative, -1, 1)
    return Margins(signed * sign, np.ldexp(rest * sign, -_MARGIN_BITS), negative, beyond)


def _about(products: NDArray[np.float64], parts: NDArray[np.float64], fine: int) -> NDArray[np.float64]:
    """Return the margins, with an error below 1/2 in those below 50: in floats, or exactly if floats cannot decide."""
    sums: NDArray[np.float64] = np.ldexp(parts.sum(axis=1), -_MARGIN_BITS)
    sizes = np.ldexp(np.abs(parts).sum(axis=1), -_MARGIN_BITS)
    for row in np.flatnonzero(sizes * parts.shape[1] > 2.0**49):
        exact = sum(int(product) << (_WEIGHT_LIMB * k) for k, product in enumerate(products[row].tolist()))
        sums[row] = exact / 2 ** (fine + ROW_BITS)
    return sums


def residuals_of(margins: Margins) -> NDArray[np.int64]:
    """`1 / (1 + exp(margin))` in units of `2**-62`, within 2^-60 of the truth."""
    firsts, others = _table()
    between = _MARGIN_BITS - _KNOT_BITS
    knots = np.where(margins.beyond, 0, (margins.whole + (1 << (between - 1))) >> between)
    step = np.ldexp((margins.whole - (knots << between)).astype(np.float64), -_MARGIN_BITS) + margins.rest
    step = np.where(margins.beyond, 0.0, step)
    sums = others[-1][knots]
    for terms in others[-2::-1]:
        sums = sums * step + terms[knots]
    residuals = firsts[knots] + np.rint(np.ldexp(sums * step, RESIDUAL_BITS)).astype(np.int64)
    residuals = np.where(margins.beyond, 0, residuals)
    return np.where(margins.negative, (1 << RESIDUAL_BITS) - residuals, residuals)


@lru_cache(maxsize=1)
def _table() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return Taylor coefficients of `1 / (1 + exp(z))` at `z = k / 128`, the first as integers, others as floats."""
    firsts, others = [], []
    with working_precision(192):
        for knot in range(_END * 2**_KNOT_BITS + 1):
            series = 1 / (1 + arb_series([arb(knot) / 2**_KNOT_BITS, 1], prec=_TERMS).exp())
            firsts.append(int((series[0] * 2**RESIDUAL_BITS + arb(0.5)).floor().unique_fmpz()))
            others.append([float(series[term]) for term in range(1, _TERMS)])
    return np.array(firsts, dtype=np.int64), np.ascontiguousarray(np.array(others).T)


def limbs_of(weights: Sequence[int]) -> NDArray[np.float64]:
    """Whole numbers written with digits from -2^23 to 2^23, the lowest first: `sum of digit[k] * 2**(24 k)`."""
    half, whole = 1 << (_WEIGHT_LIMB - 1), 1 << _WEIGHT_LIMB
    found: list[list[int]] = []
    left = list(weights)
    while any(left) or not found:
        digits = [(value + half) % whole - half for value in left]
        left = [(value - digit) >> _WEIGHT_LIMB for value, digit in zip(left, digits, strict=True)]
        found.append(digits)
    return np.array(found, dtype=np.float64)


def _digits(residuals: NDArray[np.int64]) -> NDArray[np.float64]:
    """Numbers from 0 to 2^62 in 13-bit digits, the lowest first, as columns."""
    shifts = np.arange(0, RESIDUAL_BITS, _RESIDUAL_LIMB)
    digits: NDArray[np.float64] = ((residuals[:, None] >> shifts) & ((1 << _RESIDUAL_LIMB) - 1)).astype(np.float64)
    return digits


def _joined(totals: NDArray[np.int64]) -> list[int]:
    """Sums of digits put together again."""
    columns: list[list[int]] = totals.T.tolist()
    return [sum(digit << (_RESIDUAL_LIMB * k) for k, digit in enumerate(column)) for column in columns]
