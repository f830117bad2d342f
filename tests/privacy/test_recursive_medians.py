"""Thresholds by recursive medians, both ways: what they look like, what noise is told, and what is refused."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from confide.errors import ParameterError
from confide.grid import Grid
from confide.privacy.mechanisms import recursive_medians
from confide.privacy.mechanisms.recursive_medians import (
    MOST_LEVELS,
    exponential_medians,
    inside,
    level_epsilon,
    median_cauchy,
    smooth_medians,
)
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import ExactReal, exponential, upper_bound
from confide.privacy.queries import GRID, Noise
from tests.examples import examples
from tests.noises import FORBIDDEN, SILENT, Deaf, seeded

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE_ONE, Neighbours.REPLACE_ONE
both_relations = pytest.mark.parametrize("neighbours", [ADD_REMOVE, REPLACE])

# --- what both ways find


def thresholds_of(way: str, scores: ArrayLike, noise: Noise, levels: int = 4) -> tuple[float, ...]:
    if way == "smooth":
        return smooth_medians(scores, levels=levels, epsilon=Fraction(2), neighbours=ADD_REMOVE, noise=noise)
    grid = Grid.uniform(64)
    cells = np.bincount(grid.cells(scores), minlength=64)
    return exponential_medians(cells, grid, levels=levels, epsilon=Fraction(2), neighbours=ADD_REMOVE, noise=noise)


both_ways = pytest.mark.parametrize("way", ["smooth", "exponential"])


@both_ways
@given(
    scores=st.lists(st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.3, 0.5, 1.0]), max_size=60),
    seed=st.integers(0, 2**32),
)
@examples(40)
def test_thresholds_ascend_inside(way: str, scores: list[float], seed: int) -> None:
    """Empty, tied and equal scores among them."""
    found = thresholds_of(way, scores, seeded(seed))
    assert all(type(threshold) is float for threshold in found)
    assert all(a < b for a, b in itertools.pairwise((0.0, *found, 1.0)))
    assert len(found) == 15 if way == "smooth" else 1 <= len(found) <= 15


@both_ways
@pytest.mark.parametrize("scores", [[], [0.3], [0.3] * 50, [0.0] * 20 + [1.0] * 20, [0.25, 0.75] * 30], ids=len)
def test_real_noise_on_odd_data(way: str, scores: list[float]) -> None:
    found = thresholds_of(way, scores, Noise())
    assert all(a < b for a, b in itertools.pairwise((0.0, *found, 1.0)))
    assert found


@both_ways
def test_the_order_of_rows_does_not_matter(way: str) -> None:
    rng = np.random.default_rng(3)
    scores = np.round(rng.beta(2, 5, 200), 2)
    assert thresholds_of(way, scores, seeded(1)) == thresholds_of(way, rng.permutation(scores), seeded(1))


@both_ways
def test_without_noise_the_medians_are_found(way: str) -> None:
    scores = (np.arange(64) + 0.5) / 64
    found = thresholds_of(way, scores, SILENT, levels=3)
    assert found == tuple(k / 8 for k in range(1, 8))


def test_without_noise_ties_are_split_above_and_below() -> None:
    """The median is the tie itself; neither side holds it, so each is split at its own median."""
    found = thresholds_of("smooth", [0.125] * 3 + [0.5] * 9 + [0.625] * 3, SILENT, levels=2)
    assert found == (0.125, 0.5, 0.625)


def test_empty_ranges_are_halved() -> None:
    assert thresholds_of("smooth", [], SILENT, levels=3) == tuple(k / 8 for k in range(1, 8))
    assert thresholds_of("smooth", [-1.0, 0.0, 1.0, 7.0], SILENT, levels=1) == (0.5,)


def test_other_ranges() -> None:
    found = smooth_medians([-3.0, 0.0, 3.0, 9.0], levels=2, epsilon=Fraction(1), neighbours=REPLACE, low=-4, high=4)
    assert all(a < b for a, b in itertools.pairwise((-4.0, *found, 4.0)))


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (Fraction(3, 8), 0.375),
        (Fraction(0), 0.5),
        (Fraction(1), 0.5),
        (Fraction(10) ** 400, 0.5),
        (1 - GRID, float(1 - GRID)),
        (1 - Fraction(1, 2**80), 0.5),
    ],
    ids=str,
)
def test_what_is_not_strictly_inside_becomes_the_middle(drawn: Fraction, expected: float) -> None:
    assert inside(drawn, 0.0, 1.0) == expected


def test_a_range_without_a_float_yields_nothing() -> None:
    assert inside(Fraction(0), 1.0, math.nextafter(1.0, 2.0)) is None
    high = 1.0 + 4 * math.ulp(1.0)
    found = smooth_medians([], levels=5, epsilon=Fraction(1), neighbours=ADD_REMOVE, low=1.0, high=high)
    assert found == tuple(1.0 + k * math.ulp(1.0) for k in (1, 2, 3))


# --- what noise drives and what it is told


@both_ways
@pytest.mark.parametrize("level", [1, 5])
def test_draws_depend_on_nothing_but_former_thresholds(way: str, level: int) -> None:
    rng = np.random.default_rng(0)
    heard, found = set(), set()
    for scores in ([], [0.5] * 9, rng.random(100).tolist(), [0.0, 1.0]):
        deaf = Deaf(level=level)
        found.add(thresholds_of(way, scores, deaf.noise()))
        heard.add(tuple(deaf.heard))
    assert len(heard) == len(found) == 1


def test_noise_decides_the_thresholds() -> None:
    scores = np.random.default_rng(0).random(50).tolist()
    for way in ("smooth", "exponential"):
        assert thresholds_of(way, scores, Deaf(level=1).noise()) != thresholds_of(way, scores, Deaf(level=5).noise())


@both_relations
def test_the_rate_and_the_scale_are_those_of_a_level(neighbours: Neighbours) -> None:
    epsilon, share = Fraction(3), Fraction(3, 5) / (2 if neighbours == REPLACE else 1)
    assert level_epsilon(epsilon, 5, neighbours) == share
    deaf = Deaf()
    exponential_medians(
        [3] * 32, Grid.uniform(32), levels=5, epsilon=epsilon, neighbours=neighbours, noise=deaf.noise()
    )
    assert {rate for _, _, rate in deaf.heard} == {share / 2}
    scales: list[Fraction] = []

    def record(value: Fraction, scale: ExactReal, grid: Fraction) -> int:
        scales.append(upper_bound(scale))
        return 0

    noise = replace(FORBIDDEN, cauchy=record)
    smooth_medians([], levels=5, epsilon=epsilon, neighbours=neighbours, noise=noise)
    assert len(scales) == 31
    assert math.isclose(scales[0], 8 / share / 2, rel_tol=0.002)  # no point: half the range is the sensitivity


def tied_terms(rows: int, epsilon: Fraction) -> NDArray[np.float64]:
    """Scores for which every pair around the middle gives the same term of the smooth sensitivity, but for rounding."""
    beta = float(median_cauchy(epsilon).beta)
    half = np.exp(beta * 2 * np.arange(rows // 2)) / (2.000001 * math.exp(beta * rows))
    return np.concatenate((0.5 - half, 0.5 + half))


@pytest.mark.parametrize("levels", [1, 4])
def test_the_work_depends_on_the_number_of_rows_alone(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties change neither the rows that bounds read, nor the pairs that they compare, nor the exact numbers in them."""
    rows, epsilon = 600, Fraction(1, 1000)
    work: Counter[str] = Counter()
    bound, costs = recursive_medians.smooth_bound, recursive_medians._length_costs

    def counted_bound(padded: NDArray[np.float64], beta: Fraction) -> ExactReal:
        work["rows"] += padded.size - 2
        compared = work["pairs"]
        result = bound(padded, beta)
        assert work["pairs"] - compared == padded.size // 2 + 2 * ((padded.size - 1) // 2)
        return result

    def counted_costs(lengths: NDArray[np.float64]) -> NDArray[np.int64]:
        work["pairs"] += lengths.size
        return costs(lengths)

    def counted_exponential(part: Fraction) -> ExactReal:
        def enclose() -> arb:
            work["exponentials"] += 1
            return exponential(part).enclose()

        return ExactReal(enclose)

    def draw(value: Fraction, scale: ExactReal, grid: Fraction) -> int:
        return round((value + 0 * upper_bound(scale)) / grid)

    monkeypatch.setattr(recursive_medians, "smooth_bound", counted_bound)
    monkeypatch.setattr(recursive_medians, "_length_costs", counted_costs)
    monkeypatch.setattr(recursive_medians, "exponential", counted_exponential)
    for scores in (
        np.full(rows, 0.5),
        np.linspace(0.01, 0.99, rows),
        tied_terms(rows, epsilon),
        [0.0] * 300 + [1.0] * 300,
    ):
        work.clear()
        found = smooth_medians(
            scores, levels=levels, epsilon=epsilon, neighbours=ADD_REMOVE, noise=replace(FORBIDDEN, cauchy=draw)
        )
        del work["pairs"]  # compared with the rows of each bound
        assert work == {"rows": levels * rows, "exponentials": len(found)}


@pytest.mark.parametrize("levels", [0, -1, MOST_LEVELS + 1, True, 2.0])
def test_levels_are_refused(levels: int) -> None:
    with pytest.raises(ParameterError, match="levels must be"):
        smooth_medians([0.5], levels=levels, epsilon=Fraction(1), neighbours=ADD_REMOVE, noise=FORBIDDEN)


def test_label_only_is_told_what_to_do_and_draws_nothing() -> None:
    with pytest.raises(ParameterError, match=r"Grid\.quantiles"):
        smooth_medians([0.5], levels=2, epsilon=Fraction(1), neighbours=Neighbours.LABEL_ONLY, noise=FORBIDDEN)
    with pytest.raises(ParameterError, match=r"Grid\.quantiles"):
        exponential_medians(
            [1, 2], Grid.uniform(2), levels=2, epsilon=Fraction(1), neighbours=Neighbours.LABEL_ONLY, noise=FORBIDDEN
        )


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), 1.0])
def test_epsilon_is_refused(epsilon: Fraction) -> None:
    with pytest.raises(ParameterError, match="epsilon must be"):
        smooth_medians([0.5], levels=2, epsilon=epsilon, neighbours=ADD_REMOVE, noise=FORBIDDEN)


def test_a_whole_epsilon_stays_exact() -> None:
    assert type(level_epsilon(1, 3, ADD_REMOVE)) is Fraction  # type: ignore[arg-type]


@pytest.mark.parametrize("scores", [[0.1, math.nan], [math.inf]])
def test_scores_are_refused_without_being_shown(scores: list[float]) -> None:
    with pytest.raises(ParameterError, match="scores must be finite numbers") as refusal:
        smooth_medians(scores, levels=2, epsilon=Fraction(1), neighbours=ADD_REMOVE, noise=FORBIDDEN)
    assert "nan" not in str(refusal.value)


@pytest.mark.parametrize("cells", [[1, 2], [1.0, 2.0, 3.0], [1, -1, 3], [2**60, 1, 0], [True, False, True]])
def test_cells_are_refused(cells: list[int]) -> None:
    with pytest.raises(ParameterError, match="cells must hold"):
        exponential_medians(
            cells, Grid.uniform(3), levels=2, epsilon=Fraction(1), neighbours=ADD_REMOVE, noise=FORBIDDEN
        )


@pytest.mark.parametrize(("low", "high"), [(1.0, 0.0), (0.0, 0.0), (0.0, math.inf), (-1.7e308, 1.7e308)])
def test_ranges_are_refused(low: float, high: float) -> None:
    with pytest.raises(ParameterError, match="low must be below high"):
        smooth_medians([], levels=2, epsilon=Fraction(1), neighbours=ADD_REMOVE, low=low, high=high, noise=FORBIDDEN)
