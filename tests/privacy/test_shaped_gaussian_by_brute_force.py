"""Lines of a shaped release: exact norms and sums, and rho for all labels and neighbours of small strategies."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from confide.errors import LabelError, ParameterError
from confide.privacy.accounting import rho_for
from confide.privacy.mechanisms.shaped_gaussian import largest_squared_norm, shaped_gaussian, shaped_scale
from confide.privacy.noise.integers import float_at_least
from tests.audits.exhaustive import concentrated_loss

RHO = rho_for(Fraction(1), Fraction(1, 10**6))
Integers = NDArray[np.int64]


def matrix(rows: list[list[int]]) -> Integers:
    return np.array(rows, dtype=np.int64)


@st.composite
def strategies(draw: st.DrawFn, largest: int = 2**58) -> Integers:
    lines, rows = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    entries = st.integers(-largest, largest) | st.sampled_from([0, 1, -1, largest, -largest])
    return matrix(draw(st.lists(st.lists(entries, min_size=rows, max_size=rows), min_size=lines, max_size=lines)))


@given(strategy=strategies())
def test_norms_are_exact_whatever_their_size(strategy: Integers) -> None:
    columns: list[list[int]] = strategy.T.tolist()
    assert largest_squared_norm(strategy) == max(sum(entry**2 for entry in column) for column in columns)


@pytest.mark.parametrize("largest", [2**30, 2**31 - 1, 2**31, 3037000500])
def test_norms_are_exact_around_the_end_of_64_bits(largest: int) -> None:
    """Sums of two squares at, below and above 2^63, where 64 bits would overflow."""
    assert largest_squared_norm(matrix([[largest, 1], [-largest, 1]])) == 2 * largest**2


@given(strategy=strategies(), seed=st.integers(0, 2**20), parts=st.integers(1, 10**6))
def test_the_scale_is_enough_and_no_more(strategy: Integers, seed: int, parts: int) -> None:
    rho = Fraction(parts, 10**6)
    needed = Fraction(max(largest_squared_norm(strategy), 1)) / (2 * rho)
    if needed > 2**108:
        return
    scale = shaped_scale(strategy, rho)
    assert needed <= scale**2 <= needed * (1 + Fraction(1, 2**50))
    assert Fraction(float_at_least(scale)) >= scale
    labels: NDArray[np.bool_] = np.random.default_rng(seed).random((strategy.shape[1],)) < 0.5
    query = shaped_gaussian(labels, strategy, rho)
    lines: list[list[int]] = strategy.tolist()
    assert query.values == tuple(
        sum(entry for entry, label in zip(line, labels, strict=True) if label) for line in lines
    )
    assert query.family == "gaussian"
    assert set(query.scales) == {scale}


@given(strategy=strategies(largest=50), parts=st.integers(1, 100))
def test_rho_holds_for_all_labels_and_neighbours_and_is_attained(strategy: Integers, parts: int) -> None:
    rho, rows = Fraction(parts, 100), strategy.shape[1]
    losses = []
    for labels in product((False, True), repeat=rows):
        here = np.array(labels)
        for place in range(rows):
            there = here.copy()
            there[place] ^= True
            losses.append(concentrated_loss(*(shaped_gaussian(each, strategy, rho) for each in (here, there))))
    assert max(losses) <= rho
    if strategy.any():
        assert max(losses) > rho * (1 - Fraction(1, 2**50))


def test_the_norm_of_another_column_breaks_the_promise() -> None:
    strategy = matrix([[1, 4], [0, 3]])
    here, there = (shaped_gaussian(np.array([True, label]), strategy, RHO) for label in (True, False))
    assert concentrated_loss(here, there) <= RHO
    short = shaped_scale(strategy[:, :1], RHO)
    assert sum((a - b) ** 2 for a, b in zip(here.values, there.values, strict=True)) / (2 * short**2) > 20 * RHO


def test_what_has_no_room_is_refused_by_public_facts() -> None:
    huge = matrix([[2**61, 1, 1]])
    for labels in (np.zeros(3, dtype=np.bool_), np.ones(3, dtype=np.bool_)):
        with pytest.raises(ParameterError, match="too large"):
            shaped_gaussian(labels, huge, RHO)
        with pytest.raises(ParameterError, match="one column for each label"):
            shaped_gaussian(labels, matrix([[1, 2]]), RHO)
    with pytest.raises(ParameterError, match="larger epsilon"):
        shaped_scale(matrix([[2**50]]), Fraction(1, 2**60))
    with pytest.raises(ParameterError, match="rho"):
        shaped_scale(matrix([[1]]), Fraction(0))
    with pytest.raises(ParameterError, match="64 bits"):
        shaped_scale(np.ones((2, 2)), RHO)  # type: ignore[arg-type]
    with pytest.raises(LabelError):
        shaped_gaussian(np.array([0, 1]), matrix([[1, 1]]), RHO)


def test_a_strategy_of_zeros_or_without_lines_has_an_answer() -> None:
    labels = np.array([True, False])
    assert shaped_gaussian(labels, matrix([[0, 0]]), RHO).values == (0,)
    assert shaped_gaussian(labels, np.zeros((0, 2), dtype=np.int64), RHO).draw() == ()
