"""The proven bounds of the logistic loss's gradient and minimum, where they are nearest to being broken."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

import mpmath
import numpy as np
import pytest

from confide.privacy.mechanisms import logistic_minimum
from confide.privacy.mechanisms.logistic_gradient import GRADIENT_BITS, RESIDUAL_BITS, ROW_ERROR, Margins, residuals_of
from confide.privacy.mechanisms.logistic_minimum import GRADIENT_BOUND, TILT_BITS, near_minimum
from confide.privacy.mechanisms.unit_rows import MOST_FEATURES, MOST_ROWS, UNIT, UnitRows, unit_rows

MARGIN_BITS, KNOTS = 57, 128  # of a margin's whole part, and in a unit of margins


def real(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


# --- the logistic function


def furthest_from_knots(places: Sequence[int]) -> list[int]:
    """Margins half way between points of the table, and one unit to either side, where another point is nearest."""
    half = 1 << (MARGIN_BITS - 8)
    return [(2 * place + 1) * half + aside for place, aside in product(places, (-1, 0, 1))]


@pytest.mark.parametrize("negative", [False, True])
def test_the_logistic_function_is_near_enough_half_way_between_knots(negative: bool) -> None:
    """There the terms that the series leaves out are largest; near 0 to 3 the function bends most."""
    whole = furthest_from_knots([*range(4 * KNOTS), *range(4 * KNOTS, 44 * KNOTS, 101)])
    no, sign = np.zeros(len(whole), dtype=np.bool_), -1 if negative else 1
    margins = Margins(np.array(whole, dtype=np.int64), np.zeros(len(whole)), no | negative, no)
    with mpmath.workprec(160):
        true = [1 / (1 + mpmath.exp(sign * mpmath.mpf(margin) / 2**MARGIN_BITS)) for margin in whole]
        off = [
            abs(mpmath.mpf(found) / 2**RESIDUAL_BITS - value)
            for found, value in zip(residuals_of(margins).tolist(), true, strict=True)
        ]
        assert max(off) <= real(ROW_ERROR)


def test_a_row_may_be_off_by_no_more_than_was_proven() -> None:
    assert Fraction(1, 2**60) == ROW_ERROR
    assert Fraction(1, 2**25) == GRADIENT_BOUND


# --- the certificate


def length_at(rows: UnitRows, weights: Sequence[Fraction], regularization: Fraction, tilt: Sequence[Fraction]) -> Any:
    """Of the true gradient, in 200 bits."""
    with mpmath.workprec(200):
        found = [real(regularization * weight + lean) for weight, lean in zip(weights, tilt, strict=True)]
        for row, positive in zip(rows.matrix.tolist(), rows.labels.tolist(), strict=True):
            x, y = [Fraction(int(value), UNIT) for value in row], 1 if positive else -1
            margin = y * sum((weight * value for weight, value in zip(weights, x, strict=True)), Fraction(0))
            residual = 1 / (1 + mpmath.exp(real(margin)))
            found = [part - y * residual * real(value) for part, value in zip(found, x, strict=True)]
        return mpmath.sqrt(mpmath.fsum(part * part for part in found))


def leaning(rows: UnitRows, lengths: Sequence[int]) -> list[int]:
    """Tilts, in units of `2**-TILT_BITS`, with which the gradient at 0, where rows pull by half, is so long."""
    sides = np.where(rows.labels, 1.0, -1.0)
    pulls = [int(pull) << (TILT_BITS - UNIT.bit_length()) for pull in (sides @ rows.matrix).tolist()]
    return [pull + length for pull, length in zip(pulls, lengths, strict=True)]


DATA = {
    "no rows": np.zeros((0, 2)),
    "short rows": np.full((6, 2), 0.001),
    "rows that pull to all sides": np.array([[0.5, -0.5], [1.0, 0.0], [-0.25, 0.75], [0.0, 1.0], [0.3, 0.3]]),
}
EDGE = 2**TILT_BITS // 2**25
LENGTHS = [EDGE // 2 - 1, EDGE // 2, EDGE // 2 + 1, EDGE * 3 // 4, EDGE - 1, EDGE, EDGE + 1, 2 * EDGE, 2 * EDGE + 1]


@pytest.mark.parametrize("regularization", [Fraction(1, 64), Fraction(2, 3), Fraction(2**20)])
@pytest.mark.parametrize("name", DATA)
def test_a_gradient_that_is_hardly_too_long_is_too_long(name: str, regularization: Fraction) -> None:
    """Data and tilts at which the search could all but stop where it starts, with tilts that were rounded the most."""
    matrix = DATA[name]
    rows = unit_rows(matrix, np.arange(len(matrix)) % 2 == 0, row_norm=1.0, intercept=False)
    for long, sign in product(LENGTHS, (-1, 1)):
        tilt = leaning(rows, [sign * long, 0])
        found = near_minimum(rows, regularization, tilt)
        for aside, other in product((-1, 0, 1), repeat=2):
            meant = [
                Fraction(2 * lean + off, 2 ** (TILT_BITS + 1)) for lean, off in zip(tilt, (aside, other), strict=True)
            ]
            with mpmath.workprec(200):
                assert length_at(rows, found, regularization, meant) <= real(GRADIENT_BOUND)


def test_what_ends_the_search_leaves_room_for_all_errors() -> None:
    """For the most rows and features there may be: of the rows, of rounding down, and of the tilt."""
    stops = Fraction(isqrt(logistic_minimum._ENOUGH - 1) + 1, 2**GRADIENT_BITS)
    root = isqrt(MOST_FEATURES - 1) + 1
    errors = MOST_ROWS * ROW_ERROR + Fraction(root, 2**GRADIENT_BITS) + Fraction(root, 2 ** (TILT_BITS + 1))
    assert stops + errors <= GRADIENT_BOUND
