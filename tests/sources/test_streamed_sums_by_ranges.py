"""DuckDB's rows, read a range of scores at a time, give the sums and points of all rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import confide
from confide.errors import DataError
from confide.intervals import compare_auc, rank_summary
from confide.kernels.sums import sum_counts
from confide.sources import arrays, engine_cells, engine_tables, rank_tables
from confide.sources.duckdb_tables import DuckTable
from confide.sources.engine_cells import find_cells
from confide.sources.rank_tables import rank_in_engine, rank_streamed, sum_in_engine, sum_streamed, thin_counts
from tests.examples import examples
from tests.sources.ranked_rows import (
    LABELLED,
    LABELS,
    NORMAL,
    SCORES,
    SIZE,
    assert_points,
    assert_same_sums,
    counted,
    expected_sums,
)


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    made = ibis.duckdb.connect()
    yield made
    made.disconnect()


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_tables, "MOST_ROWS", 200)
    monkeypatch.setattr(rank_tables, "_RANGE_ROWS", 200)
    monkeypatch.setattr(rank_tables, "_MOST_COUNTED", 150)
    monkeypatch.setattr(engine_tables, "BATCH_ROWS", 64)
    monkeypatch.setattr(rank_tables, "_PART_ROWS", 48)


def table_of(connection: Any, labels: Any, scores: Any) -> Any:
    columns = {"label": pa.array(np.asarray(labels).astype(np.int64)), "score": pa.array(np.asarray(scores) * 1.0)}
    return connection.create_table("rows", pa.table(columns), overwrite=True)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SCORES)
def test_sums_without_a_compiler_are_those_of_numpy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rank_tables, arrays):
        monkeypatch.setattr(module, "compiler_installed", lambda: False)
    labels, scores = LABELLED[name], np.asarray(SCORES[name], dtype=np.float64)
    duck = duckdb.connect()
    duck.register("given", {"label": labels.astype(np.int64), "score": scores})
    rows = DuckTable(duck, "SELECT * FROM given")
    ends = float(scores.min()), float(scores.max())
    assert_same_sums(sum_streamed(rows, ends, scores.size), expected_sums(name))
    monkeypatch.setattr(rank_tables, "MOST_ROWS", 200)
    monkeypatch.setattr(rank_tables, "_RANGE_ROWS", 200)
    assert_same_sums(sum_streamed(rows, ends, scores.size), expected_sums(name))


@pytest.mark.parametrize("name", SCORES)
def test_sums_and_points_are_those_of_numpy(
    name: str, connection: Any, small_ranges: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = np.asarray(SCORES[name], dtype=np.float64)
    rows = table_of(connection, LABELLED[name], scores)
    ends = float(scores.min()), float(scores.max())
    assert_same_sums(sum_streamed(rows, ends, SIZE), expected_sums(name))
    monkeypatch.setattr(rank_tables, "MOST_ROWS", SIZE)
    assert_same_sums(sum_streamed(rows, ends, SIZE), expected_sums(name))
    thresholds = [float(np.sort(scores)[SIZE // 3]), 0.123]
    found = rank_streamed(rows, ends, SIZE, error=0.02, thresholds=thresholds)
    assert_same_sums(found.sums, expected_sums(name))
    assert_points(found.counts, name, 0.02, thresholds)


ANY_SCORES = st.one_of(
    st.sampled_from([-1.7e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1e-300, 0.1, 0.1 + 2**-56, 1.0, 1.7e308]),
    st.floats(allow_nan=False, allow_infinity=False),
)


@examples(12)
@given(st.lists(st.tuples(st.booleans(), ANY_SCORES), min_size=1, max_size=60), st.integers(1, 8))
def test_any_rows_in_cells_of_any_size(connection: Any, rows: list[tuple[bool, float]], most: int) -> None:
    labels, scores = np.array([label for label, _ in rows]), np.array([score for _, score in rows])
    table = table_of(connection, labels, scores + 0.0)
    ends = float(scores.min()), float(scores.max())
    _, positives, negatives = counted(labels, scores)
    cells = find_cells(table, *ends, scores.size, most=most)
    assert (np.diff(cells.low) > 0).all()
    assert (cells.high[:-1] < cells.low[1:]).all()
    assert (cells.single | (cells.rows <= most)).all()
    assert len(cells.steps) <= 13
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_cells.find_cells, "__kwdefaults__", {"most": most})
        assert_same_sums(sum_in_engine(table, ends, scores.size), sum_counts(positives, negatives))
        found = rank_in_engine(table, ends, scores.size, error=0.3)
    assert (found.counts.total_positives, found.counts.total_negatives) == (positives.sum(), negatives.sum())


def test_crowded_scores_end_after_a_dozen_divisions(connection: Any) -> None:
    """Scores that differ in their last digits only, at every scale and of both signs."""
    rng = np.random.default_rng(0)
    centres = np.concatenate([[0.0], rng.choice([-1.0, 1.0], 30) * 10.0 ** np.linspace(-300, 300, 30)])
    scores = np.concatenate([centre + np.spacing(centre) * np.arange(20) for centre in centres])
    table = table_of(connection, rng.random(scores.size) < 0.5, scores)
    cells = find_cells(table, float(scores.min()), float(scores.max()), scores.size, most=1)
    assert len(cells) == np.unique(scores).size
    assert len(cells.steps) <= 13


def test_the_same_points_by_kernel_and_by_engine(connection: Any) -> None:
    """Points of both ways are alike, except that cells of the engine begin points too."""
    rows = table_of(connection, LABELS, NORMAL)
    ends = float(NORMAL.min()), float(NORMAL.max())
    ours = rank_streamed(rows, ends, SIZE, error=0.1, thresholds=[0.5]).counts
    theirs = rank_in_engine(rows, ends, SIZE, error=0.1, thresholds=[0.5]).counts
    through = np.cumsum(theirs.positives + theirs.negatives)
    assert set(np.cumsum(ours.positives + ours.negatives).tolist()) <= set(through.tolist())


def test_means_of_points_are_those_of_their_rows() -> None:
    values, positives, negatives = counted(LABELS, NORMAL + 1e6)
    means, ours, theirs = thin_counts((values, positives, negatives), (0, 0), (30, 70))
    edges = np.concatenate([[0], np.cumsum(ours + theirs)])
    expected = np.add.reduceat(np.sort(NORMAL + 1e6) - 1e6, edges[:-1]) / np.diff(edges)
    np.testing.assert_allclose(means - 1e6, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("compiled", [True, False])
def test_files_with_many_rows_are_summed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_ranges: None, compiled: bool
) -> None:
    for module in (rank_tables, arrays):
        monkeypatch.setattr(module, "compiler_installed", lambda: compiled)
    monkeypatch.setattr(rank_tables, "STREAMED_ROWS", 100)
    monkeypatch.setattr(rank_tables, "MOST_SCORES", 100)
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"died": LABELS.astype(int), "risk": NORMAL}), file)
    found = confide.evaluate(file, label="died", score="risk", replicates=0)
    assert "engine" in found.assumptions[-1]
    assert found.models[0].auc.value == confide.auc_score(LABELS, NORMAL)
    assert found.rows == SIZE
    assert rank_summary(file, label="died", score="risk").auc == confide.auc_score(LABELS, NORMAL)


@pytest.mark.parametrize("rows", [100, 10**6])
def test_files_are_compared_as_arrays_are(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_tables, "STREAMED_ROWS", rows)
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"died": LABELS.astype(int), "a": NORMAL, "b": NORMAL.round(0)}), file)
    expected = compare_auc(LABELS, NORMAL, NORMAL.round(0), names=("a", "b"))
    assert compare_auc(file, "a", "b", label="died") == expected


@pytest.mark.parametrize("size", [SIZE - 1, SIZE + 1])
def test_a_table_with_other_rows_than_were_counted_is_refused(size: int, connection: Any) -> None:
    rows = table_of(connection, LABELS, NORMAL)
    with pytest.raises(DataError, match="changed"):
        sum_streamed(rows, (float(NORMAL.min()), float(NORMAL.max())), size)


def test_a_table_that_changes_is_refused(connection: Any, small_ranges: None, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table_of(connection, LABELS, NORMAL)

    def then_another_row(*args: Any, **options: Any) -> Any:
        cells = find_cells(*args, **options)
        connection.raw_sql("INSERT INTO rows VALUES (1, 0.5)")
        return cells

    monkeypatch.setattr(rank_tables, "find_cells", then_another_row)
    with pytest.raises(DataError, match="changed"):
        sum_streamed(rows, (float(NORMAL.min()), float(NORMAL.max())), SIZE)


def test_means_of_scores_at_both_ends_of_the_floats_are_finite() -> None:
    """Their difference is not."""
    largest = np.finfo(np.float64).max
    scores = np.array([-largest, -1.0, 0.0, 1.0, largest])
    one = np.ones(5, dtype=np.int64)
    means, ours, theirs = thin_counts((scores, one, one), (0, 0), (2, 2))
    assert np.isfinite(means).all()
    assert (means[:-1] < means[1:]).all()
    assert (ours.sum(), theirs.sum()) == (5, 5)
    alone, *_ = thin_counts((scores, one, one), (0, 0), (1, 1))
    assert alone.tolist() == scores.tolist()
