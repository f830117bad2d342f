"""Each distinct label matches exactly itself, in every engine: no row changes what another one counts for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide.sources.feature_columns import spelling
from confide.sources.locations import TableLocation
from confide.sources.open_tables import open_table
from confide.sources.table_cells import count_cells
from confide.sources.tables import count_table
from tests.servers import running_server

DOUBLES = [0.4, math.nextafter(0.4, 0), math.nextafter(0.4, 1), 5e-324, 1e-323, -0.0, 1.0, -1.0, 1e22, 2.0**53 + 2]
FLOATS = [float(np.float32(value)) for value in (0.1, 0.4)] + [float(np.nextafter(np.float32(0.4), np.float32(0)))]
TEXTS = ["yes", "YES", "Yes", "yés", "YÉS", "ye\u0301s", "ye\x0bs", "ye\x00s", "ye\x1fs", "y\\x41", "y'e\"s", "ß", "ss"]
WHOLE = [2**62, 2**62 + 1, -(2**63), 2**53 + 1, 2**53, 0]
DECIMALS = [Decimal("0.0000000001"), Decimal("0.0000000002"), Decimal("1.5000000000"), Decimal("1"), Decimal("0")]
COLUMNS: list[tuple[str, Any, Sequence[Any]]] = [
    ("doubles", pa.float64(), DOUBLES),
    ("floats", pa.float32(), FLOATS),
    ("texts", pa.string(), TEXTS),
    ("whole", pa.int64(), WHOLE),
    ("decimals", pa.decimal128(38, 10), DECIMALS),
]


def rows_of(kind: Any, values: Sequence[Any]) -> pa.Table:
    """Thirty rows of each value, and scores few enough to be counted in the engine."""
    given = [value for value in values for _ in range(30)]
    return pa.table({"label": pa.array(given, kind), "score": pa.array([0.25, 0.5, 0.75] * (len(given) // 3))})


def name_of(kind: Any, value: Any) -> str:
    """Return how a user names a value as the positive label."""
    if isinstance(value, Decimal):
        return format(value, "f")
    shortest = float(str(np.float32(value))) if kind == pa.float32() else value
    return str(spelling(shortest))


def assert_each_is_itself(table: Any, kind: Any, values: Sequence[Any]) -> None:
    for value in values:
        asked: dict[str, Any] = {"label": "label", "score": "score", "positive": name_of(kind, value)}
        assert count_table(table, **asked, one_class=True).counts.total_positives == 30
    counts = count_cells(table, **asked, edges=np.array([0.0, 0.5, 1.0]))
    assert (counts.positives.tolist(), counts.negatives.sum()) == ([10, 20], 30 * (len(values) - 1))


@pytest.mark.parametrize(("name", "kind", "values"), COLUMNS)
def test_in_parquet_and_in_duckdb(name: str, kind: Any, values: Sequence[Any], tmp_path: Path) -> None:
    rows = rows_of(kind, values)
    file = tmp_path / f"{name}.parquet"
    pq.write_table(rows, file)
    assert_each_is_itself(file, kind, values)
    assert_each_is_itself(ibis.duckdb.connect().create_table("t", rows), kind, values)


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NFC", "NOCASE.NOACCENT"])
def test_collations_of_duckdb_merge_no_labels(collation: str, tmp_path: Path) -> None:
    connection = ibis.duckdb.connect()
    fill(connection.con, collation)
    assert_each_is_itself(connection.table("t"), pa.string(), TEXTS)
    with duckdb.connect(tmp_path / "rows.db") as database:
        fill(database, collation)
    with open_table(TableLocation.parse(f"duckdb:///{tmp_path}/rows.db?table=t"), private=True) as held:
        labels = held.table.select("label")
        assert len(labels.distinct().to_pyarrow()) == len(TEXTS)  # the opened table itself has no collation
        assert_each_is_itself(held.table, pa.string(), TEXTS)


def fill(cursor: Any, collation: str) -> None:
    cursor.register("given", rows_of(pa.string(), TEXTS))
    cursor.execute(f"CREATE TABLE t (label VARCHAR COLLATE {collation}, score DOUBLE)")
    cursor.execute("INSERT INTO t SELECT * FROM given")
    cursor.unregister("given")


def test_an_engine_without_known_codes_sends_its_rows() -> None:
    texts = [text for text in TEXTS if "\x00" not in text]
    connection = ibis.sqlite.connect()
    connection.raw_sql("CREATE TABLE t (label TEXT COLLATE NOCASE, score REAL)").close()
    rows = rows_of(pa.string(), texts).to_pydict()
    connection.con.executemany("INSERT INTO t VALUES (?, ?)", list(zip(*rows.values(), strict=True)))
    assert_each_is_itself(connection.table("t"), pa.string(), texts)


@pytest.mark.parametrize(("first", "second"), [("yes", "YES"), (0.4, math.nextafter(0.4, 0))])
def test_one_row_changes_a_count_by_at_most_one(first: object, second: object) -> None:
    """Of many distinct scores, which are read row by row, and of few, which the engine counts."""
    connection = ibis.duckdb.connect()
    collated = "VARCHAR COLLATE NOCASE" if isinstance(first, str) else "DOUBLE"
    for place, scores in enumerate((np.arange(50.0), np.ones(50))):
        connection.raw_sql(f"CREATE TABLE t{place} (label {collated}, score DOUBLE)")
        for score in scores:
            connection.con.execute(f"INSERT INTO t{place} VALUES (?, ?)", [first, score])  # noqa: S608
        found = []
        for _ in range(2):
            table = connection.table(f"t{place}")
            counts = count_table(table, label="label", score="score", positive=str(second), one_class=True).counts
            found.append(counts.total_positives)
            connection.con.execute(f"UPDATE t{place} SET label = ? WHERE rowid = 0", [second])  # noqa: S608
        assert found == [0, 1]


def test_exact_evaluations_find_adjacent_labels(tmp_path: Path) -> None:
    pairs: list[tuple[Any, Any, Any]] = [
        (pa.float64(), 0.4, DOUBLES[1]),
        (pa.float32(), *FLOATS[1:]),
        (pa.string(), "no", "y\x00s"),
    ]
    for kind, first, second in pairs:
        pq.write_table(rows_of(kind, [first, second]), tmp_path / "rows.parquet")
        counts = count_table(tmp_path / "rows.parquet", label="label", score="score", positive=name_of(kind, second))
        assert counts.counts.total_positives == 30


@pytest.mark.postgresql
def test_in_postgresql() -> None:
    with running_server() as server:
        connection = ibis.connect(server.get_uri())
        for name, kind, values in COLUMNS:
            held = [value for value in values if value != "ye\x00s"]  # PostgreSQL has no text with NUL
            assert_each_is_itself(connection.create_table(name, rows_of(kind, held)), kind, held)
        connection.disconnect()


@pytest.mark.postgresql
def test_in_postgresql_under_a_collation_that_merges_texts() -> None:
    texts = [text for text in TEXTS if "\x00" not in text]
    rows = rows_of(pa.string(), texts).to_pydict()
    with running_server() as server:
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute(
                    "CREATE COLLATION odd (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
                )
                connection.execute("CREATE TABLE collated (label text COLLATE odd, score float8)")
                cursor = connection.cursor()
                cursor.executemany("INSERT INTO collated VALUES (%s, %s)", list(zip(*rows.values(), strict=True)))
        except psycopg.errors.FeatureNotSupported:
            pytest.skip("this server has no ICU")
        held = ibis.connect(server.get_uri())
        assert_each_is_itself(held.table("collated"), pa.string(), texts)
        held.disconnect()


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE_CI"])
def test_in_spark_under_a_collation(spark: Any, tmp_path: Path, collation: str) -> None:
    pq.write_table(rows_of(pa.string(), TEXTS), tmp_path / "rows.parquet")
    spark.read.parquet(str(tmp_path / "rows.parquet")).createOrReplaceTempView("given")
    spark.sql(f"SELECT label COLLATE {collation} AS label, score FROM given").createOrReplaceTempView("collated")  # noqa: S608
    table = ibis.pyspark.connect(spark).table("collated")
    for text in ("yes", "ye\x0bs"):
        counts = count_table(table, label="label", score="score", positive=text, one_class=True).counts
        assert counts.total_positives == 30
