"""Strategies of a shaped final: near the optimum, exact but for a public rounding, robust to equal entries."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.contest.forms import linear_coefficients
from confide.contest.metric import ContestMetric
from confide.contest.shaped_final import STEPS, shaped_strategy
from confide.counts import FloatArray
from confide.privacy.accounting import rho_for
from confide.privacy.mechanisms.shaped_gaussian import largest_squared_norm, shaped_gaussian, shaped_scale
from tests.contest.finals import DELTA, entries

AUC = ContestMetric.checked("auc")
Integers = NDArray[np.int64]


def forms_of(scores: list[FloatArray], metric: ContestMetric = AUC) -> Integers:
    coefficients = [linear_coefficients(metric, each).coefficients for each in scores]
    return np.vstack([*coefficients, np.ones_like(coefficients[0])])


def crowd(rows: int, count: int, seed: int = 2) -> tuple[NDArray[np.bool_], Integers]:
    labels, finalists = entries(np.random.default_rng(seed), rows, count=count)
    return labels, forms_of(list(finalists.values()))


def length(lines: Integers) -> float:
    """The longest column, in lines of length one."""
    return float(np.sqrt(largest_squared_norm(lines)) / STEPS)


@pytest.mark.parametrize(("rows", "count"), [(30, 1), (200, 5), (2000, 10)])
def test_the_longest_column_is_as_short_as_any_ellipsoid_allows(rows: int, count: int) -> None:
    """By duality no strategy of full rank, scaled alike, has a longest column below the square root of its lines."""
    _, forms = crowd(rows, count)
    strategy = shaped_strategy(forms)
    assert len(strategy.lines) == count + 1
    assert np.sqrt(count + 1) <= length(strategy.lines) <= 1.01 * np.sqrt(count + 1)


@pytest.mark.parametrize("rows", [50, 5000])
def test_rounding_costs_less_than_a_thousandth_of_a_standard_error(rows: int) -> None:
    """At most 1.5e-5 of AUC whatever the labels, where three in ten are positive; measured: below 1e-6."""
    labels, forms = crowd(rows, 20 if rows > 100 else 5)
    strategy = shaped_strategy(forms)
    worst = strategy.rounding(forms)[:-1].max() / (2 * 0.3 * 0.7 * rows**2)
    assert worst < 1e-6
    exact = forms @ labels
    assert np.all(np.abs(strategy.back @ (strategy.lines @ labels) - exact) <= strategy.rounding(forms) + 1e-6)


def test_noise_of_a_difference_is_that_of_the_simulation() -> None:
    """N = 5,000, twenty finalists, epsilon 1, three in ten positive: 0.0056 of AUC; with one scale for all: 0.0161."""
    rows, count = 5000, 20
    rng = np.random.default_rng(2)
    labels = rng.random(rows) < 0.3
    signal = 1.5 * labels + rng.standard_normal(rows)
    scores = [signal + extra * rng.standard_normal(rows) for extra in np.linspace(0.2, 0.8, count)]
    forms = forms_of(scores)
    strategy = shaped_strategy(forms)
    rho, pairs = rho_for(Fraction(1), DELTA), 2 * 0.3 * 0.7 * rows**2
    back = strategy.back[: count - 1] - strategy.back[1:count]
    shaped = float(shaped_scale(strategy.lines, rho)) * np.sqrt((back**2).sum(axis=1)).mean() / pairs
    plain = np.sqrt(2.0) * float(shaped_scale(forms[:-1], rho)) / pairs
    assert shaped == pytest.approx(0.0056, abs=0.0003)
    assert plain > 2.5 * shaped


def test_equal_entries_and_sums_of_others_add_no_line() -> None:
    _, finalists = entries(np.random.default_rng(5), 300, count=3)
    scores = list(finalists.values())
    alone = shaped_strategy(forms_of(scores))
    forms = np.vstack([forms_of(scores), forms_of([*scores, scores[0] ** 3, -scores[1]])])
    strategy = shaped_strategy(forms)
    assert len(strategy.lines) == len(alone.lines) == 4
    assert np.abs(strategy.back @ strategy.lines - forms).max() < 0.01
    assert np.array_equal(strategy.back[0], strategy.back[4])
    assert length(strategy.lines) <= 1.01 * 2.0


@pytest.mark.parametrize("metric", ["accuracy", "calibration_in_the_large"])
def test_more_entries_than_directions(metric: str) -> None:
    """Fifty entries on eight rows, and forms that are all the number of positives."""
    rng = np.random.default_rng(6)
    forms = forms_of([rng.random(8) for _ in range(50)], ContestMetric.checked(metric))
    strategy = shaped_strategy(forms)
    assert len(strategy.lines) == np.linalg.matrix_rank(forms)
    assert np.abs(strategy.back @ strategy.lines - forms).max() < 1e-4


def test_scores_that_are_all_equal_need_no_line() -> None:
    forms = np.zeros((2, 5), dtype=np.int64)
    strategy = shaped_strategy(forms)
    assert strategy.lines.shape == (0, 5)
    assert np.array_equal(strategy.back @ np.zeros(0), np.zeros(2))


def test_a_hundred_thousand_rows_fit_into_whole_numbers() -> None:
    labels, forms = crowd(100_000, 6)
    strategy = shaped_strategy(forms)
    query = shaped_gaussian(labels, strategy.lines, rho_for(Fraction(1, 100), DELTA))
    assert max(map(abs, query.values)) < 2**45
    assert query.scales[0] < 2**40
    assert len(query.draw()) == 7
    assert strategy.rounding(forms)[:-1].max() / (2 * 0.3 * 0.7 * 1e10) < 1e-6
