"""Work in blocks gives what work on whole arrays gives, however small the blocks and however many the threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from confide import ScoreCounts, blocks, counts
from confide import errors as confide_errors
from confide.counts import equal_mass_starts
from confide.metrics.registry import METRICS
from tests.random_rows import KINDS, random_rows

SIZES = [0, 1, 6, 7, 8, 50]


@pytest.fixture(params=[1, 3])
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (blocks, counts):
        monkeypatch.setattr(module, "BLOCK", 7)
    monkeypatch.setattr(blocks, "available_workers", lambda rows: request.param)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("descending", [False, True])
def test_scans_start_with_the_sum_of_the_other_blocks(size: int, kind: type, descending: bool) -> None:
    array: Any = np.random.default_rng(size).integers(0, 9, size).astype(kind)

    def running(part: slice, before: float) -> Any:
        inside = array[part][::-1] if descending else array[part]
        return (np.cumsum(inside) + before)[:: -1 if descending else 1]

    found = np.concatenate(blocks.scan_blocks(running, array, descending=descending))
    expected = np.cumsum(array[::-1])[::-1] if descending else np.cumsum(array)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("size", SIZES[1:])
def test_sums_add_up(size: int) -> None:
    array = np.random.default_rng(size).random(size)
    total, squares = blocks.sum_blocks(lambda part: (array[part].sum(), blocks.dot(array[part], array[part])), size)
    np.testing.assert_allclose((total, squares), (array.sum(), np.dot(array, array)), rtol=1e-14)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("cells", [1, 3, 10, 40])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_cells_of_equal_mass_begin_where_they_did(cells: int, kind: type) -> None:
    weight: Any = np.random.default_rng(cells).integers(1, 30, 60).astype(kind)
    middle = np.cumsum(weight, dtype=np.float64) - weight / 2.0
    member = np.minimum((middle / weight.sum() * cells).astype(np.int64), cells - 1)
    np.testing.assert_array_equal(equal_mass_starts(weight, cells), np.unique(member, return_index=True)[1])


@pytest.mark.usefixtures("small_blocks")
def test_merged_cells_have_the_sums_of_their_scores() -> None:
    every = random_rows("distinct", 200).counts
    starts = np.array([0, 1, 9, 30, 31, 90])
    merged = every.merged(starts)
    weight = every.positives + every.negatives
    np.testing.assert_array_equal(merged.positives, np.add.reduceat(every.positives, starts))
    np.testing.assert_array_equal(merged.negatives, np.add.reduceat(every.negatives, starts))
    mean = np.add.reduceat(weight * every.scores, starts) / np.add.reduceat(weight, starts)
    np.testing.assert_allclose(merged.scores, mean, rtol=1e-14)


@pytest.mark.few(101)
@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", [1, 3])
def test_metrics_do_not_depend_on_blocks(name: str, kind: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_rows(kind).counts
    if METRICS[name].whole_rows and rows.weighted:
        pytest.skip("needs whole rows")
    whole = METRICS[name](rows)
    for module in (blocks, counts):
        monkeypatch.setattr(module, "BLOCK", 7)
    monkeypatch.setattr(blocks, "available_workers", lambda size: workers)
    again = METRICS[name](ScoreCounts(rows.scores, rows.positives, rows.negatives))
    assert again == pytest.approx(whole, rel=1e-12, abs=1e-14, nan_ok=True)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("place", [0, 6, 7, 19])
def test_faults_are_found_in_every_block(place: int) -> None:
    scores, ones = np.arange(20.0), np.ones(20, dtype=np.int64)
    bad = scores.copy()
    bad[place] = np.nan
    with pytest.raises(confide_errors.ScoreError):
        ScoreCounts(bad, ones, ones)
    bad = scores.copy()
    bad[place] = bad[place - 1] if place else 5.0
    with pytest.raises(confide_errors.ParameterError):
        ScoreCounts(bad, ones, ones)
    none = ones.copy()
    none[place] = 0
    with pytest.raises(confide_errors.WeightError):
        ScoreCounts(scores, none, none)
