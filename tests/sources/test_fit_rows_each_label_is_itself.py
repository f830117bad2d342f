"""Each distinct label matches exactly itself, in every engine: no row changes what another one counts for."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Sequence
from contextlib import closing
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

from confide.errors import DataError, LabelError, UnreadableError
from confide.federation.site.local_models import Scorer
from confide.federation.site.scored_rows import DistinctRows, feature_frames
from confide.sources.duckdb_tables import DuckTable
from confide.sources.encoding import Encoding, read_features, read_rows, row_keys
from confide.sources.engine_tables import fetch_rows
from confide.sources.feature_columns import spelling
from confide.sources.labelled_ids import read_labelled_ids
from confide.sources.locations import TableLocation
from confide.sources.open_tables import open_table
from confide.sources.rows import RowColumns
from confide.sources.submissions import IdIndex
from confide.sources.tables import count_cells, count_table, table_rows
from tests.servers import running_server

DOUBLES = [0.4, math.nextafter(0.4, 0), math.nextafter(0.4, 1), 5e-324, 1e-323, -0.0, 1.0, -1.0, 1e22, 2.0**53 + 2]
FLOATS = [float(np.float32(value)) for value in (0.1, 0.4)] + [float(np.nextafter(np.float32(0.4), np.float32(0)))]
TEXTS = ["yes", "YES", "Yes", "yés", "YÉS", "ye\u0301s", "ye\x0bs", "ye\x00s", "ye\x1fs", "y\\x41", "y'e\"s", "ß", "ss"]
WHOLE = [2**62, 2**62 + 1, -(2**63), 2**53 + 1, 2**53, 0]
DECIMALS = [Decimal("0.0000000001"), Decimal("0.0000000002"), Decimal("1.5000000000"), Decimal("1"), Decimal("0")]
HUGE = [2**127 - 1, 2**127 - 2, -(2**127) + 1, 10**38 - 1, 10**37, 2**64, 7]
COLUMNS: list[tuple[str, Any, Sequence[Any]]] = [
    ("doubles", pa.float64(), DOUBLES),
    ("floats", pa.float32(), FLOATS),
    ("texts", pa.string(), TEXTS),
    ("whole", pa.int64(), WHOLE),
    ("decimals", pa.decimal128(38, 10), DECIMALS),
    ("short", pa.decimal128(5, 1), [Decimal("0.1"), Decimal("0.7"), Decimal("-3.0"), Decimal("1000")]),
    ("long", pa.decimal128(38, 37), [Decimal("1E-37"), Decimal("2E-37"), Decimal("0.1"), Decimal("1")]),
]


def through_ibis(connection: Any, name: str = "t") -> Any:
    return connection.table(name)


def directly(connection: Any, name: str = "t") -> Any:
    return DuckTable(connection.con, f"SELECT * FROM {name}")  # noqa: S608


WAYS = pytest.mark.parametrize("held_by", [through_ibis, directly])
"""Ways to a table of DuckDB."""


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
    assert_each_is_itself_where_rows_are_learned_from(table, kind, values)


def assert_each_is_itself_where_rows_are_learned_from(table: Any, kind: Any, values: Sequence[Any]) -> None:
    """As a label, as a value in a list, and as what tells persons apart."""
    names = [name_of(kind, value) for value in values]
    for name in names:
        assert read_rows(table, Encoding.parse(columns=["score=0.5"]), label="label", positive=name).labels.sum() == 30
    listed = [name for name in names if "|" not in name]
    rows = read_features(table, Encoding.parse(columns=[f"label={'|'.join(listed)}|"]))
    assert np.bincount(rows.features, minlength=len(listed)).tolist() == [30] * len(listed)
    assert np.unique(row_keys(table, ["label"]), return_counts=True)[1].tolist() == [30] * len(values)


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "kind", "values"), COLUMNS)
def test_in_parquet_and_in_duckdb(name: str, kind: Any, values: Sequence[Any], tmp_path: Path) -> None:
    rows = rows_of(kind, values)
    file = tmp_path / f"{name}.parquet"
    pq.write_table(rows, file)
    assert_each_is_itself(file, kind, values)
    connection = ibis.duckdb.connect()
    assert_each_is_itself(connection.create_table("t", rows), kind, values)
    assert_each_is_itself(directly(connection), kind, values)


@WAYS
@pytest.mark.parametrize("kind", ["HUGEINT", "ENUM", "DECIMAL(38, 0)"])
def test_in_types_of_duckdb_alone(kind: str, held_by: Any) -> None:
    texts = [text for text in TEXTS if "\x00" not in text]
    values: Sequence[Any] = (
        texts if kind == "ENUM" else [value for value in HUGE if kind == "HUGEINT" or abs(value) < 10**38]
    )
    declared = f"ENUM ({', '.join(quoted(text) for text in texts)})" if kind == "ENUM" else kind
    connection = ibis.duckdb.connect()
    connection.con.register("given", rows_of(pa.string(), list(map(str, values))))
    connection.raw_sql(f"CREATE TABLE t AS SELECT CAST(label AS {declared}) AS label, score FROM given")  # noqa: S608
    assert_each_is_itself(held_by(connection), pa.string(), list(map(str, values)))


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@WAYS
@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE", "DECIMAL(4, 1)", "VARCHAR"])
def test_a_number_begins_the_interval_that_its_digits_begin(kind: str, held_by: Any) -> None:
    """As in a file of text: 0.7 as a float of 32 bits lies below 0.7, and 0.1 as a decimal below the float 0.1."""
    connection = ibis.duckdb.connect()
    connection.raw_sql(f"CREATE TABLE t AS SELECT CAST(unnest(['0.1', '0.7', '0.3']) AS {kind}) AS dose")
    rows = read_features(held_by(connection), Encoding.parse(columns=["dose=0.1,0.3,0.7"]))
    assert rows.features.tolist() == [1, 3, 2]
    cut = Encoding.parse(columns=["dose=0.1,0.3,0.7"])
    assert cut.encoded({"dose": [Decimal("0.1"), Decimal("0.7"), Decimal("0.3")]}).features.tolist() == [1, 3, 2]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_every_nan_is_a_missing_label(kind: Any, tmp_path: Path) -> None:
    patterns: Any = [0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000123, 0x7FFFFFFFFFFFFFFF]
    if kind == pa.float32():
        patterns = [pattern >> 32 | pattern & 0xFFFF for pattern in patterns]
    file, bits = tmp_path / "rows.parquet", kind.to_pandas_dtype()
    for pattern in patterns:
        odd = np.array([pattern], dtype=f"u{kind.bit_width // 8}").view(bits)
        labels = np.concatenate([np.array([0, 1, 1], dtype=bits), odd])
        pq.write_table(pa.table({"label": pa.array(labels, from_pandas=False), "score": np.arange(4.0)}), file)
        with pytest.raises(LabelError, match="missing"):
            count_table(file, label="label", score="score", positive="1", one_class=True)
        with pytest.raises(LabelError, match="missing"):
            read_rows(file, Encoding.parse(columns=["score=1"]), label="label", positive="1")


SCORES: list[tuple[str, list[str]]] = [
    ("DOUBLE", ["0.4", "0.39999999999999997", "0.4000000000000001", "5e-324", "1e-323", "1e22", "-1"]),
    ("FLOAT", ["0.4", "0.39999998", "1e-45", "16777216", "16777217"]),
    ("BIGINT", ["9007199254740993", "9007199254740992", "-9223372036854775808", "7"]),
    ("HUGEINT", [str(value) for value in HUGE]),
    ("DECIMAL(38, 20)", ["0.4", "0.39999999999999997", "0.00000000000000000001", "1"]),
]


@WAYS
@pytest.mark.parametrize(("kind", "written"), SCORES)
def test_scores_are_numbers_by_themselves(kind: str, written: list[str], held_by: Any) -> None:
    """Read row by row, counted by the engine, and counted in cells that begin at each score."""
    narrow = np.float32 if kind == "FLOAT" else np.float64
    expected = np.unique([float(narrow(float(text))) for text in written])
    for repeated in (1, 40):
        connection = ibis.duckdb.connect()
        connection.con.register(
            "given", pa.table({"score": written * repeated, "label": [1] * len(written) * repeated})
        )
        connection.raw_sql(f"CREATE TABLE t AS SELECT CAST(score AS {kind}) AS score, label FROM given")  # noqa: S608
        table = held_by(connection)
        assert count_table(table, label="label", score="score", one_class=True).counts.scores.tolist() == (
            expected.tolist()
        )
        edges = np.array([*expected, np.inf])
        cells = count_cells(table, label="label", score="score", positive=None, edges=edges)
        assert cells.scores.tolist() == expected.tolist()


@WAYS
def test_groups_and_clusters_of_a_table_are_told_apart_by_value(held_by: Any) -> None:
    columns_of: list[tuple[str, list[Any]]] = [
        ("HUGEINT", HUGE),
        ("DOUBLE", DOUBLES),
        ("VARCHAR COLLATE NOCASE", TEXTS),
    ]
    for kind, values in columns_of:
        connection = ibis.duckdb.connect()
        rows = pa.table(
            {"g": list(map(str, values)) * 2, "label": [0, 1] * len(values), "score": [0.5] * len(values) * 2}
        )
        connection.con.register("given", rows)
        connection.raw_sql(f"CREATE TABLE t (g {kind}, label INT, score DOUBLE); INSERT INTO t FROM given")
        columns = RowColumns(label="label", scores=("score",), groups=("g",), cluster="g")
        found = table_rows(held_by(connection), columns)
        assert found.clusters is not None
        assert len(set(found.groupings[0].groups.tolist())) == np.unique(found.clusters).size == len(values)


def test_ids_of_a_contest_are_told_apart_by_their_bytes(tmp_path: Path) -> None:
    ids = [text for text in TEXTS if text.isprintable()] + ["1", "1.0", "01", "1e0", "\ufffd", " 1"]
    labels = [float(np.float32(0.1))] * len(ids)
    labels[3] = float(np.float32(0.7))
    for kind, positive in [(pa.float32(), "0.7"), (pa.decimal128(5, 3), "0.7")]:
        held = pa.array([Decimal(f"{label:.3f}") for label in labels] if kind != pa.float32() else labels, kind)
        pq.write_table(pa.table({"id": ids, "label": held}), tmp_path / "labels.parquet")
        found = read_labelled_ids(tmp_path / "labels.parquet", id_column="id", label="label", positive=positive)
        assert found.ids == tuple(sorted(ids))
        assert [one for one, label in zip(found.ids, found.labels, strict=True) if label] == [ids[3]]
        assert IdIndex(found.ids).places(pa.array(ids)).tolist() == [found.ids.index(one) for one in ids]


def test_labels_beside_the_features_of_a_sites_own_model(tmp_path: Path) -> None:
    held = pa.table({"label": pa.array([0.1, 0.7], pa.float32()), "dose": [1.0, 2.0]})
    pq.write_table(held, tmp_path / "rows.parquet")
    assert [labels for labels, _ in feature_frames(tmp_path / "rows.parquet", "label", ["dose"], [])] == [[0.1, 0.7]]


@pytest.mark.parametrize("others", [["icu", "ward", ""], ["1", "0.5", ""], ["icu", "7", ""]])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_site_s_model_sees_a_row_alike_beside_texts_numbers_and_gaps(
    ending: str, others: list[str], tmp_path: Path
) -> None:
    """One row with a number, among texts alone, must not give missing values of other rows another type."""
    transcripts = set()
    for first in ("er", "12", "", "nan"):
        file, seen = tmp_path / f"rows.{ending}", _Seen()
        values = [first, *others]
        if ending == "csv":
            file.write_text("label,ward\n" + "".join(f"1,{value}\n" for value in values))
        else:
            file.write_text("".join(json.dumps({"label": 1, "ward": value}) + "\n" for value in values))
        rows = DistinctRows()
        for _, frame in feature_frames(file, "label", ["ward"], []):
            rows.add(frame)
        rows.scores(Scorer(("ward",), seen.score))
        transcripts.add(tuple(sorted(each for each in seen.rows if each[1] in map(repr, _as_read(others)))))
    assert len(transcripts) == 1


def _as_read(values: list[str]) -> list[object]:
    return [float(value or "nan") if value[:1] in ("", "0", "1", "7") else value for value in values]


class _Seen:
    """Model that notes the type and the value of the row that it is given."""

    def __init__(self) -> None:
        self.rows: set[tuple[str, str]] = set()

    def score(self, frame: Any) -> Any:
        column = frame["ward"]
        (value,) = column.tolist()
        self.rows.add((str(column.dtype), repr(value)))
        return np.zeros(1)


def test_a_missing_whole_number_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    """Ibis reads SQLite, and Spark, by way of pandas, which makes floats of a column with a missing whole number."""
    big, encoding = 2**53, Encoding.parse(columns=[f"code={2**53}|{2**53 + 1}"])
    with closing(sqlite3.connect(tmp_path / "rows.sqlite")) as file, file:
        file.execute("CREATE TABLE rows (code INTEGER, label INTEGER)")
        file.executemany("INSERT INTO rows VALUES (?, ?)", [(None, 0), (big + 1, 1), (big, 1), (big + 1, 0)])
    table = ibis.sqlite.connect(tmp_path / "rows.sqlite").table("rows")
    assert read_rows(table, encoding, label="label", positive="1").features.tolist() == [1, 0, 1]
    assert row_keys(table, ["code"]).tolist() == row_keys({"code": [None, big + 1, big, big + 1]}, ["code"]).tolist()


@pytest.mark.parametrize("odd", [b"x\xed\xa0\x80", b"x\xff", b"\xc0\x80"])
def test_a_file_whose_text_is_no_text_is_refused_alike(odd: bytes, tmp_path: Path) -> None:
    """Lone surrogates and other bytes that are no UTF-8: wherever they stand, the message is the same."""
    messages = set()
    for place in (0, 2):
        held = [b"yes", b"no", b"no"]
        held[place] = odd
        labels = pa.Array.from_buffers(pa.string(), 3, pa.array(held, pa.binary()).buffers())
        pq.write_table(pa.table({"label": labels, "score": [0.0, 1.0, 2.0]}), tmp_path / "rows.parquet")
        for read in (
            lambda file: count_table(file, label="label", score="score", positive="yes", one_class=True),
            lambda file: read_rows(file, Encoding.parse(columns=["score=1"]), label="label", positive="yes"),
            lambda file: read_labelled_ids(file, id_column="label", label="score", positive="1"),
        ):
            with pytest.raises((UnreadableError, DataError)) as error:
                read(tmp_path / "rows.parquet")
            messages.add(str(error.value))
    assert len(messages) == 1


@pytest.mark.few(1)
@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NFC", "NOCASE.NOACCENT"])
def test_collations_of_duckdb_merge_no_labels(collation: str, tmp_path: Path) -> None:
    connection = ibis.duckdb.connect()
    fill(connection.con, collation)
    assert_each_is_itself(connection.table("t"), pa.string(), TEXTS)
    with duckdb.connect(tmp_path / "rows.db") as database:
        fill(database, collation)
    with open_table(TableLocation.parse(f"duckdb:///{tmp_path}/rows.db?table=t"), private=True) as held:
        labels = held.table.select("label")
        assert len(fetch_rows(labels.distinct())) == len(TEXTS)  # the opened table itself has no collation
        assert_each_is_itself(held.table, pa.string(), TEXTS)


def fill(cursor: Any, collation: str) -> None:
    cursor.register("given", rows_of(pa.string(), TEXTS))
    cursor.execute(f"CREATE TABLE t (label VARCHAR COLLATE {collation}, score DOUBLE)")
    cursor.execute("INSERT INTO t SELECT * FROM given")
    cursor.unregister("given")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("declared", "kind", "values"),
    [
        ("TEXT COLLATE NOCASE", pa.string(), [text for text in TEXTS if "\x00" not in text]),
        ("INTEGER", pa.int64(), WHOLE),
        ("REAL", pa.float64(), DOUBLES),
    ],
)
def test_an_engine_without_known_codes_sends_its_rows(declared: str, kind: Any, values: Sequence[Any]) -> None:
    connection = ibis.sqlite.connect()
    connection.raw_sql(f"CREATE TABLE t (label {declared}, score REAL)").close()
    rows = rows_of(kind, values).to_pydict()
    connection.con.executemany("INSERT INTO t VALUES (?, ?)", list(zip(*rows.values(), strict=True)))
    assert_each_is_itself(connection.table("t"), kind, values)
    connection.con.execute("INSERT INTO t VALUES (NULL, 0.25)")
    with pytest.raises(LabelError, match="missing"):
        count_table(connection.table("t"), label="label", score="score", positive="1", one_class=True)


@WAYS
@pytest.mark.parametrize(("first", "second"), [("yes", "YES"), (0.4, math.nextafter(0.4, 0))])
def test_one_row_changes_a_count_by_at_most_one(first: object, second: object, held_by: Any) -> None:
    """Of many distinct scores, which are read row by row, and of few, which the engine counts."""
    connection = ibis.duckdb.connect()
    collated = "VARCHAR COLLATE NOCASE" if isinstance(first, str) else "DOUBLE"
    for place, scores in enumerate((np.arange(50.0), np.ones(50))):
        connection.raw_sql(f"CREATE TABLE t{place} (label {collated}, score DOUBLE)")
        for score in scores:
            connection.con.execute(f"INSERT INTO t{place} VALUES (?, ?)", [first, score])  # noqa: S608
        found = []
        for _ in range(2):
            table = held_by(connection, f"t{place}")
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


@WAYS
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("UBIGINT", [2**64 - 1, 2**64 - 2]),
        ("BIGINT", [-(2**63), -(2**63) + 1]),
        ("HUGEINT", [2**127 - 1, 2**127 - 2]),
        ("DECIMAL(38, 37)", [Decimal("1E-37"), Decimal("2E-37")]),
        ("FLOAT", [0.1, 0.4]),
        ("BOOLEAN", [True, False]),
    ],
)
def test_exact_evaluations_find_labels_at_the_ends_of_their_types(kind: str, values: list[Any], held_by: Any) -> None:
    connection = ibis.duckdb.connect()
    connection.raw_sql(f"CREATE TABLE t (label {kind}, score DOUBLE)")
    connection.con.executemany("INSERT INTO t VALUES (?, ?)", [(str(value), 0.5) for value in [*values, values[1]]])
    for value, expected in zip(values, (1, 2), strict=True):
        counts = count_table(held_by(connection), label="label", score="score", positive=value).counts
        assert (counts.total_positives, counts.total_negatives) == (expected, 3 - expected)


def test_a_result_that_was_left_unread_is_no_hindrance() -> None:
    connection = duckdb.connect()
    table = DuckTable(connection, "SELECT i FROM range(100000) AS t(i)")
    next(table.value_batches(10))
    next(table.number_batches())
    assert table.aggregate(rows=table.count()).rows() == [{"rows": 100_000}]


def test_in_postgresql() -> None:
    with running_server() as server:
        connection = ibis.connect(server.get_uri())
        for name, kind, values in COLUMNS:
            held = [value for value in values if value != "ye\x00s"]  # PostgreSQL has no text with NUL
            assert_each_is_itself(connection.create_table(name, rows_of(kind, held)), kind, held)
        connection.disconnect()


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
