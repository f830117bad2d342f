"""What a site counts: exact, additive, the same in any order, and read only if it is possible."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studies.schalk.placements import placement_moments

from confide.counts import FloatArray, ScoreCounts
from confide.curves.reliability import reliability_bins
from confide.errors import ConfideError, DataError, ParameterError, ScoreError, WeightError
from confide.federation.tables import IntegerArray, SiteTable, as_float, fixed_point, wide_values
from confide.grid import Grid
from confide.intervals.delong import delong_variance
from confide.metrics.ranking import auc_score

FINE = Grid.uniform(65536)
OTHER = Grid.uniform(16, -4.0, 4.0)


def rows(seed: int, size: int = 60, low: float = 0.0, high: float = 1.0) -> tuple[IntegerArray, FloatArray]:
    rng = np.random.default_rng(seed)
    labels = (rng.random(size) < 0.4).astype(np.int64)
    labels[:4] = (0, 1, 0, 1)
    scores = rng.uniform(low, high, size)
    scores[: size // 3] = np.round(scores[: size // 3], 1)  # ties, and scores on edges of bins
    return labels, scores


def counted(seed: int, **how: float) -> ScoreCounts:
    return ScoreCounts.from_arrays(*rows(seed, **how))  # type: ignore[arg-type]


def in_units(value: float) -> int:
    return round(Fraction(value) * 2**64)


@given(st.lists(st.tuples(st.booleans(), st.floats(0.0, 1.0)), min_size=1, max_size=30))
def test_every_number_by_definition(drawn: list[tuple[bool, float]]) -> None:
    labels, scores = [int(label) for label, _ in drawn], [score for _, score in drawn]
    table = SiteTable.of(ScoreCounts.from_arrays(labels, scores, one_class=True), Grid.uniform(7), 4)
    for side, label in enumerate((1, 0)):
        mine = [score for each, score in zip(labels, scores, strict=True) if each == label]
        cells = Grid.uniform(7).cells(mine).tolist()
        assert table.cells[side].tolist() == [cells.count(cell) for cell in range(7)]
        assert table.sums[side] == sum(in_units(score) for score in mine)
        assert table.squares[side] == sum(in_units(score * score) for score in mine)
        for place in range(4):
            inside = [s for s in mine if place / 4 <= s and (s < (place + 1) / 4 or place == 3)]
            assert table.bin_rows[side, place] == len(inside)
            assert table.bin_sums[4 * side + place] == sum(in_units(score) for score in inside)


@given(
    st.lists(st.tuples(st.integers(1, 2**39), st.floats(-1024.0, 1024.0)), min_size=1, max_size=5),
)
def test_sums_are_exact_however_large(drawn: list[tuple[int, float]]) -> None:
    weights, values = np.array([weight for weight, _ in drawn]), np.array([value for _, value in drawn])
    assert fixed_point(values, weights) == sum(int(w) * in_units(v) for w, v in zip(weights, values, strict=True))


@pytest.mark.parametrize("grid", [FINE, Grid.uniform(100), Grid.arcsine(24)])
def test_tables_add_up_to_that_of_all_rows(grid: Grid) -> None:
    parts = [counted(seed) for seed in range(5)]
    whole = SiteTable.of(ScoreCounts.total(parts), grid)
    tables = [SiteTable.of(part, grid) for part in parts]
    assert sum(tables) == whole
    assert sum(tables[::-1]) == whole
    assert SiteTable.from_words(grid, 10, *whole.to_words()) == whole


def test_words_add_up_too() -> None:
    tables = [SiteTable.of(counted(seed, low=-4.0, high=4.0), OTHER) for seed in range(4)]
    words = sum(table.to_words()[0] for table in tables)
    wide = [sum(values) % 2**128 for values in zip(*(table.to_words()[1] for table in tables), strict=True)]
    total = SiteTable.from_words(OTHER, 10, np.asarray(words), wide)
    assert total == sum(tables)
    assert min(total.sums) < 0  # in two's complement
    assert len(wide) == wide_values()
    assert not total.probabilities
    assert not total.bin_rows.any()


def test_bins_are_those_of_the_reliability_curve() -> None:
    counts = counted(3)
    bins = reliability_bins(counts, bins=10)
    table = SiteTable.of(counts, FINE)
    used = table.bin_rows.sum(axis=0) > 0
    assert table.bin_rows.sum(axis=0)[used].tolist() == bins.weight.tolist()
    means = np.array([as_float(v) for v in table.bin_sums]).reshape(2, -1).sum(axis=0)[used] / bins.weight
    assert means == pytest.approx(bins.mean_score, abs=1e-14)


def test_ranks_survive_a_fine_grid() -> None:
    counts = counted(7)
    assert auc_score(SiteTable.of(counts, FINE).counts()) == auc_score(counts)


def test_a_million_rows_take_less_than_two_seconds() -> None:
    rng = np.random.default_rng(1)
    scores = np.sort(rng.random(1_000_000))
    positives = (rng.random(scores.size) < scores).astype(np.int64)
    counts = ScoreCounts(scores, positives, 1 - positives)
    start = time.process_time()
    table = SiteTable.of(counts, FINE)
    assert time.process_time() - start < 2.0
    assert as_float(table.sums[0]) == math.fsum(scores[positives == 1])
    assert as_float(table.squares[1]) == pytest.approx(math.fsum(scores[positives == 0] ** 2), rel=1e-15)


@pytest.mark.parametrize(
    ("counts", "grid", "error"),
    [
        (ScoreCounts.from_arrays([0, 1], [0.5, 1.5]), FINE, ScoreError),
        (ScoreCounts.from_arrays([0, 1], [-0.1, 0.5]), FINE, ScoreError),
        (ScoreCounts.from_arrays([0, 1], [0.2, 0.5], [1.5, 1.0]), FINE, WeightError),
        (ScoreCounts.from_arrays([0, 1], [0.2, 0.5]), Grid.uniform(4, 0.0, 1e6), ParameterError),
        (ScoreCounts(np.array([0.5]), np.array([2**45]), np.array([0])), FINE, WeightError),
    ],
)
def test_what_cannot_be_counted_exactly_is_refused(counts: ScoreCounts, grid: Grid, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        SiteTable.of(counts, grid)
    assert "1.5" not in str(raised.value)


@pytest.mark.parametrize("bins", [0, -1, True, 2.0, 5000])
def test_bad_bins_are_refused(bins: int) -> None:
    with pytest.raises(ParameterError, match="bins"):
        SiteTable.of(counted(1), FINE, bins)


def test_tables_on_different_grids_do_not_add_up() -> None:
    with pytest.raises(ParameterError, match="grids or bins"):
        SiteTable.of(counted(1), FINE) + SiteTable.of(counted(1), OTHER)
    with pytest.raises(ParameterError, match="grids or bins"):
        SiteTable.of(counted(1), FINE) + SiteTable.of(counted(1), FINE, 5)


def test_numbers_that_no_rows_have_are_refused() -> None:
    """As unmasking with a wrong key gives, or a site that sends garbage."""
    grid = Grid.uniform(20)
    words, wide = SiteTable.of(counted(1), grid).to_words()
    rng = np.random.default_rng(0)
    wrong = [
        (rng.integers(0, 2**63, words.size, dtype=np.uint64), wide),
        (words[:-1], wide),
        (words, wide[:-1]),
        (words + np.uint64(1), wide),
        (words, (wide[0] + 1, *wide[1:])),
        (words, (*wide[:20], wide[20] + 2**64, *wide[21:])),
        (words, (*wide[:-1], 2**128 - 1)),
        (words, (*wide[:-1], 2**127 - 1)),
        (words, (*wide[:-1], 2**128)),
        (words, (*wide[:-1], 0.5)),
        (words, (2**127, *wide[1:])),
    ]
    for bad_words, bad_wide in wrong:
        with pytest.raises(DataError):
            SiteTable.from_words(grid, 10, bad_words, bad_wide)  # type: ignore[arg-type]


def test_the_text_form_shows_nothing() -> None:
    assert repr(SiteTable.of(counted(1), Grid.uniform(20))) == "SiteTable(<private>, cells=20, bins=10)"


@pytest.mark.parametrize("grid", [FINE, Grid.uniform(10)])
def test_placement_moments_give_delongs_variance(grid: Grid) -> None:
    """The sums over sites equal the variance computed from all rows on the same grid."""
    parts = [counted(seed) for seed in range(5)]
    tables = [SiteTable.of(part, grid) for part in parts]
    pooled: SiteTable = sum(tables)  # type: ignore[assignment]
    total = placement_moments(tables[0], pooled)
    for table in tables[1:]:
        total = total + placement_moments(table, pooled)
    whole = ScoreCounts.total(parts).project(grid)
    assert total.auc_variance == pytest.approx(delong_variance(whole), rel=1e-12)
    assert total.auc == pytest.approx(auc_score(whole), abs=1e-15)
    assert total == placement_moments(pooled, pooled)


def test_placement_moments_of_some_sites_say_nothing() -> None:
    tables = [SiteTable.of(counted(seed), FINE) for seed in range(2)]
    part = placement_moments(tables[0], tables[0] + tables[1])
    for ask in (lambda: part.auc, lambda: part.auc_variance, lambda: part + placement_moments(tables[0], tables[0])):
        with pytest.raises(ConfideError):
            ask()
