"""The minimum of the logistic loss: against scikit-learn, and against arithmetic in many digits."""

# ruff: noqa: S311 - numbers with a seed, so that a failure can be repeated
from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from confide.errors import ParameterError
from confide.privacy.mechanisms import logistic_gradient
from confide.privacy.mechanisms.logistic_gradient import (
    GRADIENT_BITS,
    RESIDUAL_BITS,
    ROW_ERROR,
    limbs_of,
    loss_slope,
    margins_of,
    residuals_of,
)
from confide.privacy.mechanisms.logistic_minimum import (
    GRADIENT_BOUND,
    TILT_BITS,
    checked_regularization,
    distance_bound,
    near_minimum,
)
from confide.privacy.mechanisms.unit_rows import UNIT, UnitRows, unit_rows

Floats = NDArray[np.float64]
FINE = 50


def random_rows(seed: int, count: int = 300, width: int = 5, *, sparse: bool = False) -> UnitRows:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(count, width)) / np.sqrt(width)
    labels = matrix @ rng.normal(size=width) * 3 + rng.logistic(size=count) > 0
    if sparse:
        matrix[rng.random(matrix.shape) < 0.7] = 0.0
        return unit_rows(csr_array(matrix), labels, row_norm=1.0, intercept=True)
    return unit_rows(matrix, labels, row_norm=1.0, intercept=True)


def true_gradient(
    rows: UnitRows, weights: Sequence[Fraction], regularization: Fraction = Fraction(0), tilt: Sequence[int] = ()
) -> list[Any]:
    """In 60 decimal digits."""
    matrix = np.asarray(rows.matrix.toarray() if hasattr(rows.matrix, "toarray") else rows.matrix).tolist()
    with mpmath.workdps(60):
        at = [mpmath.mpf(weight.numerator) / weight.denominator for weight in weights]
        strength = mpmath.mpf(regularization.numerator) / regularization.denominator
        found = [strength * weight for weight in at]
        for place, lean in enumerate(tilt):
            found[place] += mpmath.mpf(lean) / 2**TILT_BITS
        for row, positive in zip(matrix, rows.labels, strict=True):
            x = [mpmath.mpf(value) / UNIT for value in row]
            y = 1 if positive else -1
            residual = 1 / (1 + mpmath.exp(y * mpmath.fdot(at, x)))
            found = [part - y * residual * value for part, value in zip(found, x, strict=True)]
        return found


def length(vector: Sequence[Any]) -> Any:
    with mpmath.workdps(60):
        return mpmath.sqrt(mpmath.fsum(part * part for part in vector))


# --- against scikit-learn


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("regularization", [Fraction(1, 64), Fraction(1), Fraction(50)])
def test_the_minimum_is_that_of_sklearn(regularization: Fraction, sparse: bool) -> None:
    rows = random_rows(1, sparse=sparse)
    found = np.array([float(weight) for weight in near_minimum(rows, regularization)])
    fitted = LogisticRegression(C=1 / float(regularization), fit_intercept=False, solver="newton-cholesky", tol=1e-12)
    expected = fitted.fit(rows.matrix / UNIT, rows.labels).coef_[0]
    np.testing.assert_allclose(found, expected, atol=1e-6)


# --- against many digits


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("regularization", [Fraction(1, 64), Fraction(2, 3), Fraction(100)])
def test_the_true_gradient_at_what_is_found_is_within_its_bound(seed: int, regularization: Fraction) -> None:
    rows = random_rows(seed, count=60, width=3)
    rng = np.random.default_rng(seed)
    tilt = [int(lean * 2.0**TILT_BITS) for lean in rng.normal(scale=10.0**seed, size=rows.width).tolist()]
    found = near_minimum(rows, regularization, tilt)
    assert length(true_gradient(rows, found, regularization, tilt)) <= float(GRADIENT_BOUND)
    assert distance_bound(regularization) == GRADIENT_BOUND / regularization


@pytest.mark.parametrize("scale", [0.01, 1.0, 40.0, 1e6])
def test_the_gradient_is_as_near_as_it_says(scale: float) -> None:
    rows = random_rows(5, count=40, width=4)
    weights = [int(weight * 2.0**FINE) for weight in np.random.default_rng(5).normal(scale=scale, size=5).tolist()]
    found = loss_slope(rows, weights, FINE)
    expected = true_gradient(rows, [Fraction(weight, 2**FINE) for weight in weights])
    with mpmath.workdps(60):
        off = [mpmath.mpf(part) / 2**GRADIENT_BITS - true for part, true in zip(found.gradient, expected, strict=True)]
    assert length(off) <= len(rows) * ROW_ERROR
    assert found.squared == sum(part * part for part in found.gradient)


@given(margins=st.lists(st.one_of(st.floats(-60, 60), st.floats(-1e-6, 1e-6), st.floats(-1e9, 1e9)), min_size=1))
def test_the_logistic_function_is_as_near_as_it_says(margins: list[float]) -> None:
    """One column that is 1: the weight is the margin of a positive row."""
    column = np.array([[float(UNIT)]])
    for margin in margins:
        weight = int(Fraction(margin) * 2**FINE)
        for positive in (True, False):
            (found,) = residuals_of(margins_of(column, limbs_of([weight]), FINE, np.array([positive]))).tolist()
            with mpmath.workdps(60):
                true = 1 / (1 + mpmath.exp((1 if positive else -1) * mpmath.mpf(weight) / 2**FINE))
                assert abs(mpmath.mpf(found) / 2**RESIDUAL_BITS - true) <= float(ROW_ERROR)


def exact_residual(row: Sequence[int], weights: Sequence[int], fine: int) -> Any:
    with mpmath.workdps(80):
        margin = mpmath.mpf(sum(x * weight for x, weight in zip(row, weights, strict=True))) / (UNIT * 2**fine)
        return 1 / (1 + mpmath.exp(margin))


@pytest.mark.parametrize("size", [0, 107, 170])
@pytest.mark.parametrize("left", [15, 78, 88])
def test_products_that_cancel_leave_the_exact_margin(size: int, left: int) -> None:
    """Weights far larger than what is left of their products: no float holds both, and digits carry."""
    rng, fine = random.Random(size), 80
    for _ in range(50):
        row = [rng.randint(1, UNIT // 2) for _ in range(2)]
        common = rng.randint(-(2**size), 2**size) if size else 0
        weights = [part * common + rng.randint(-(2**left), 2**left) for part in (row[1], -row[0])]
        margins = margins_of(np.array([row], dtype=np.float64), limbs_of(weights), fine, np.array([True]))
        (found,) = residuals_of(margins).tolist()
        with mpmath.workdps(80):
            off = mpmath.mpf(found) / 2**RESIDUAL_BITS - exact_residual(row, weights, fine)
            assert abs(off) <= float(ROW_ERROR)


@given(weights=st.lists(st.integers(-(2**200), 2**200), min_size=1, max_size=5))
def test_limbs_are_small_and_add_up(weights: list[int]) -> None:
    limbs = limbs_of(weights)
    assert np.abs(limbs).max() <= 2**23
    for place, weight in enumerate(weights):
        assert sum(int(digit) << (24 * k) for k, digit in enumerate(limbs[:, place])) == weight


# --- whatever the data


def test_the_order_of_rows_and_how_they_are_held_change_no_digit() -> None:
    rng = np.random.default_rng(2)
    matrix, labels = rng.normal(size=(500, 40)), rng.random(500) < 0.3
    order = rng.permutation(500)
    weights = [int(weight * 2.0**FINE) for weight in rng.normal(scale=3.0, size=40).tolist()]
    held = (
        unit_rows(matrix, labels, row_norm=5.0, intercept=False),
        unit_rows(matrix[order], labels[order], row_norm=5.0, intercept=False),
        unit_rows(csr_array(matrix), labels, row_norm=5.0, intercept=False),
    )
    first, *others = (loss_slope(rows, weights, FINE).gradient for rows in held)
    assert others == [first, first]


def test_blocks_of_rows_change_no_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_rows(7, count=101)
    weights = [3 << FINE] * rows.width
    whole = loss_slope(rows, weights, FINE)
    monkeypatch.setattr(logistic_gradient, "_BLOCK", 10)
    pieces = loss_slope(rows, weights, FINE)
    assert pieces.gradient == whole.gradient
    np.testing.assert_array_equal(pieces.curvatures, whole.curvatures)


HARD = {
    "no rows": np.zeros((0, 2)),
    "one row": np.array([[1.0, 0.0]]),
    "zeros": np.zeros((50, 2)),
    "the same row": np.ones((5000, 2)),
    "separable": np.sign(np.random.default_rng(0).normal(size=(1000, 2))),
    "tiny": np.full((3000, 2), 1e-4),
    "a column that is never 0 and one that is hardly ever": np.eye(2)[np.minimum(np.arange(2000), 1)],
}


@pytest.mark.parametrize("tilted", [0.0, 1.0, 1e4, 1e18])
@pytest.mark.parametrize("name", HARD)
def test_hard_data_come_to_an_end(name: str, tilted: float) -> None:
    matrix = HARD[name]
    rows = unit_rows(matrix, matrix[:, 0] > 0, row_norm=1.0, intercept=False)
    tilt = [int(tilted * 2**TILT_BITS), int(-0.3 * tilted * 2**TILT_BITS)]
    found = near_minimum(rows, Fraction(1, 64), tilt)
    slope = loss_slope(rows, [int(weight * 2**FINE) for weight in found], FINE)
    gradient = [
        Fraction(part, 2**GRADIENT_BITS) + weight / 64 + Fraction(lean, 2**TILT_BITS)
        for part, weight, lean in zip(slope.gradient, found, tilt, strict=True)
    ]
    rounding = Fraction(len(rows) // 4 + 1, 2 ** (FINE - 1))  # of the weights, for this check
    assert sum(part * part for part in gradient) <= (GRADIENT_BOUND + rounding) ** 2


@pytest.mark.parametrize("value", [0, -1, "1/65", 2**20 + 1, "much", float("nan"), None])
def test_a_strength_must_be_sensible(value: object) -> None:
    with pytest.raises(ParameterError, match="regularization"):
        checked_regularization(value)
