"""Every engine gives the integers that NumPy gives, whatever the scores are and however they are divided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import confide
from confide.errors import ColumnError, DataError, LabelError, ParameterError, ScoreError
from confide.intervals import compare_auc, rank_summary
from confide.kernels.sums import RangeSums, RangeTotal
from confide.sources import engine_cells, paired_sums, rank_tables
from confide.sources.rank_tables import rank_in_engine, table_sums
from tests.servers import running_server
from tests.sources.ranked_rows import (
    LABELS,
    NORMAL,
    SCORES,
    SIZE,
    all_columns,
    assert_points,
    assert_same_sums,
    expected_sums,
)

FIRST, SECOND = "ties and both zeros", "distinct"
SPARK_CASES = ("one score holds most rows", "all scales and signs")
"""Each query takes Spark a second or more."""


@pytest.fixture(scope="module")
def duckdb_table() -> Iterator[Any]:
    connection = ibis.duckdb.connect()
    yield connection.create_table("ranked", all_columns())
    connection.disconnect()


@pytest.fixture(scope="module")
def postgresql_table() -> Iterator[Any]:
    with running_server() as server:
        connection = ibis.connect(server.get_uri())
        connection.create_table("ranked", all_columns())
        yield connection.table("ranked")
        connection.disconnect()


@pytest.fixture(scope="module")
def spark_table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("spark") / "ranked.parquet"
    pq.write_table(all_columns(), file)
    return ibis.pyspark.connect(spark).read_parquet(str(file), table_name="ranked")


ENGINES = [
    "duckdb",
    "postgresql",
    pytest.param("spark", id="spark", marks=pytest.mark.spark),
]


@pytest.fixture(params=ENGINES)
def table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the rows in an engine that takes cells of a few rows, and sends none."""
    monkeypatch.setattr(rank_tables, "is_local", lambda _: False)
    few = dict(engine_cells.find_cells.__kwdefaults__ or {}, most=100)
    monkeypatch.setattr(engine_cells.find_cells, "__kwdefaults__", few)
    monkeypatch.setattr(paired_sums, "MOST_ROWS", 100)
    return request.getfixturevalue(f"{request.param}_table")


def cases(table: Any) -> list[str]:
    return list(SPARK_CASES if table.get_backend().name == "pyspark" else SCORES)


@pytest.mark.few(1)
def test_sums_are_those_of_numpy(table: Any) -> None:
    for name in cases(table):
        assert_same_sums(table_sums(table, label=f"label {name}", score=name), expected_sums(name))


@pytest.mark.long
def test_points_are_small_and_lie_on_the_curve(table: Any) -> None:
    for name in cases(table)[::2]:
        scores = np.asarray(SCORES[name], dtype=np.float64)
        thresholds = [float(np.sort(scores)[SIZE // 3]), 0.123]
        rows = table.select(label=table[f"label {name}"], score=table[name].cast("float64") + 0.0)
        found = rank_in_engine(rows, (scores.min(), scores.max()), SIZE, error=0.02, thresholds=thresholds)
        assert_same_sums(found.sums, expected_sums(name))
        assert_points(found.counts, name, 0.02, thresholds)


@pytest.mark.long
def test_paired_comparisons_are_those_of_arrays(table: Any) -> None:
    found = compare_auc(table, FIRST, SECOND, label=f"label {FIRST}")
    expected = compare_auc(LABELS, SCORES[FIRST], SCORES[SECOND], names=(FIRST, SECOND))
    assert found == expected


@pytest.mark.long
def test_a_whole_evaluation(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_tables, "MOST_SCORES", 100)
    monkeypatch.setattr(rank_tables, "CURVE_ERROR", 0.002)
    found = confide.evaluate(table, label=f"label {SECOND}", score=SECOND, thresholds=[0.5], replicates=0)
    expected = confide.evaluate(LABELS, NORMAL, thresholds=[0.5], replicates=0)
    (ours,), (theirs,) = found.models, expected.models
    assert ours.auc.value == theirs.auc.value
    assert ours.auc.standard_error == pytest.approx(theirs.auc.standard_error, rel=1e-12)
    assert ours.average_precision.value == pytest.approx(theirs.average_precision.value, rel=1e-12)
    assert len(ours.counts) < len(theirs.counts)
    assert "0.00200" in found.assumptions[-1]
    assert "engine" in found.assumptions[-1]
    assert ours.thresholds == theirs.thresholds  # no cell contains a threshold


def test_bad_tables_are_refused_with_the_next_step(table: Any) -> None:
    with pytest.raises(ColumnError, match="Did you mean 'distinct'"):
        rank_summary(table, label=f"label {SECOND}", score="distinc")
    with pytest.raises(LabelError, match="two values"):
        rank_summary(table, label=SECOND, score=FIRST)


def test_a_forgotten_offset_is_found(duckdb_table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that takes every cell for the lowest one gives other sums."""
    monkeypatch.setattr(rank_tables, "is_local", lambda _: False)

    class Forgetful(RangeTotal):
        def add(self, part: RangeSums) -> None:
            before = self.positives, self.negatives
            self.positives = self.negatives = 0
            super().add(part)
            self.positives += before[0]
            self.negatives += before[1]

    monkeypatch.setattr(rank_tables, "RangeTotal", Forgetful)
    with pytest.raises(AssertionError):
        assert_same_sums(table_sums(duckdb_table, label=f"label {SECOND}", score=SECOND), expected_sums(SECOND))


def test_precisions_without_the_rows_above_are_found(duckdb_table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_tables, "is_local", lambda _: False)
    whole = rank_tables._cell_lines
    forgotten = {"above", "over"}
    monkeypatch.setattr(
        rank_tables,
        "_cell_lines",
        lambda *args: {name: 0 * v if name in forgotten else v for name, v in whole(*args).items()},
    )
    found = table_sums(duckdb_table, label=f"label {SECOND}", score=SECOND)
    expected = expected_sums(SECOND)
    assert found.twice_wins == expected.twice_wins
    assert found.precision_sum != pytest.approx(expected.precision_sum, rel=1e-6)


def test_more_than_one_executor_did_the_work(spark_table: Any, spark: Any) -> None:
    from tests.spark import executors

    assert executors(spark, wanted=2) == 2


def test_decimals_and_narrow_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of any numbers are summed as their float64."""
    monkeypatch.setattr(rank_tables, "is_local", lambda _: False)
    rounded = NORMAL.round(2)
    columns = {
        "label": pa.array(LABELS),
        "decimal": pa.array([f"{each:.2f}" for each in rounded]).cast(pa.decimal128(9, 2)),
        "single": pa.array(NORMAL.astype(np.float32)),
        "small": pa.array((NORMAL * 10).astype(np.int8)),
    }
    table = ibis.memtable(pa.table(columns))
    values: dict[str, NDArray[Any]] = {
        "decimal": rounded,
        "single": NORMAL.astype(np.float32),
        "small": (NORMAL * 10).astype(np.int8),
    }
    for name, scores in values.items():
        found, expected = (
            rank_summary(table, label="label", score=name),
            rank_summary(LABELS, scores.astype(np.float64)),
        )
        assert found.auc == expected.auc, name
        assert found.auc_variance == pytest.approx(expected.auc_variance, rel=1e-12)


def test_a_table_has_names_and_no_arrays_beside(duckdb_table: Any) -> None:
    with pytest.raises(ParameterError, match="both `label` and `score`"):
        rank_summary(duckdb_table, label="label distinct")
    with pytest.raises(ParameterError, match="no arrays beside"):
        rank_summary(duckdb_table, NORMAL, label="label distinct", score="distinct")
    with pytest.raises(ParameterError, match="name two columns"):
        compare_auc(duckdb_table, NORMAL, NORMAL, label="label distinct")
    with pytest.raises(ParameterError, match="without weights"):
        compare_auc(duckdb_table, FIRST, SECOND, label="label distinct", weights=np.ones(SIZE))


def test_rows_of_one_class_or_without_a_score_are_refused(duckdb_table: Any) -> None:
    ones = duckdb_table.filter(duckdb_table["label distinct"] == 1)
    with pytest.raises((DataError, LabelError)):
        rank_summary(ones, label="label distinct", score="distinct")
    holes = duckdb_table.mutate(holes=duckdb_table["one score holds most rows"].nullif(0.25))
    with pytest.raises(ScoreError, match="missing"):
        rank_summary(holes, label="label distinct", score="holes")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "dialect", ["duckdb", "postgres", "databricks", "bigquery", "snowflake", "trino", "clickhouse"]
)
def test_expressions_compile_for_other_engines(dialect: str, duckdb_table: Any) -> None:
    """Windows are partitioned by cell in every dialect."""
    name = "all scales and signs"
    scores = SCORES[name]
    rows = duckdb_table.select(label=duckdb_table[f"label {name}"], score=duckdb_table[name] + 0.0)
    cells = engine_cells.find_cells(rows, scores.min(), scores.max(), SIZE, most=100)
    assert len(cells.steps) > 2
    elsewhere = ibis.table({"label": "int64", "score": "float64"}, name="rows")
    ranked = rank_tables._ranked(elsewhere, cells, ~cells.single)
    pointed = ranked.mutate(**rank_tables._point_keys(ranked, 7, 9, [0.5]))
    summed = pointed.group_by("cell", "side").aggregate(**rank_tables._sums(pointed))
    placed = paired_sums._placed(elsewhere.rename(score0="score"), cells, 0)
    digits = paired_sums._Digits.of(10**9).sums(placed, 1, "ours", placed.label == 1)
    for expression in (summed, placed.aggregate(**digits)):
        sql = " ".join(ibis.to_sql(expression, dialect=dialect).upper().split())
        assert sql.count("OVER (") == sql.count("OVER ( PARTITION BY")
        assert sql.count("OVER (") >= 2
