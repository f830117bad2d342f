"""Rows encoded from files and tables: the same whichever the source, in order, each by itself, nothing given away."""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections.abc import Callable
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

from confide.errors import ColumnError, DataError, LabelError, ParameterError, UnreadableError
from confide.features import FeatureRows
from confide.sources.duckdb_files import open_file
from confide.sources.encoding import Encoding, read_features, read_rows, row_keys
from confide.sources.words import Vocabulary
from tests.examples import examples
from tests.sources.readers import Columns
from tests.sources.refusals import refused

COLUMNS: Columns = {
    "died": [0, 1, 1, 0, 1],
    "note": ['Said "no", left', None, "été; 007\nsecond line", "it's #1 | a\ttab", "007"],
    "smoker": [True, False, None, True, False],
    "age": [39.5, 40.0, None, 61.0, 50.0],
    "sex": ["f", "m", "", "x", "f"],
    "grade": [1, 2, None, 3, 1],
}
ENCODING = Encoding.parse(text="note", columns=["smoker", "age=40,60", "sex=f|m", "grade=1|2"])


def rows_of(columns: Columns) -> list[tuple[Any, ...]]:
    return list(zip(*columns.values(), strict=True))


def as_csv(columns: Columns, file: Path, delimiter: str = ",") -> Path:
    with (
        gzip.open(file, "wt", encoding="utf-8", newline="")
        if file.suffix == ".gz"
        else file.open("w", encoding="utf-8", newline="") as text
    ):
        writer = csv.writer(text, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(rows_of(columns))
    return file


def as_json(columns: Columns, file: Path) -> Path:
    lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows_of(columns)]
    file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return file


def as_parquet(columns: Columns, file: Path) -> Path:
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), file)
    return file


SOURCES: dict[str, Callable[[Columns, Path], Any]] = {
    "CSV": lambda columns, folder: as_csv(columns, folder / "rows.csv"),
    "CSV.gz": lambda columns, folder: str(as_csv(columns, folder / "rows.CSV.gz")),
    "semicolons": lambda columns, folder: as_csv(columns, folder / "rows.csv", ";"),
    "TSV": lambda columns, folder: as_csv(columns, folder / "rows.tsv", "\t"),
    "TSV.gz": lambda columns, folder: as_csv(columns, folder / "rows.tsv.gz", "\t"),
    "JSON lines": lambda columns, folder: as_json(columns, folder / "rows.jsonl"),
    "Parquet": lambda columns, folder: as_parquet(columns, folder / "rows.parquet"),
    "Ibis memory": lambda columns, folder: ibis.memtable(pa.table({k: list(v) for k, v in columns.items()})),
    "open file": lambda columns, folder: open_file(as_csv(columns, folder / "rows.csv"), as_written=True),
}


@pytest.fixture(params=SOURCES)
def given_as(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Columns], Any]:
    return lambda columns: SOURCES[request.param](columns, tmp_path)


def same(left: FeatureRows, right: FeatureRows, *, labels: bool = True) -> bool:
    if labels and left.labels.tolist() != right.labels.tolist():
        return False
    return (left.starts.tolist(), left.features.tolist()) == (right.starts.tolist(), right.features.tolist())


def test_every_source_gives_the_same(given_as: Callable[[Columns], Any]) -> None:
    rows = read_rows(given_as(COLUMNS), ENCODING, label="died")
    assert same(rows, ENCODING.encoded(COLUMNS), labels=False)
    assert rows.labels.tolist() == [False, True, True, False, True]
    named = [ENCODING.names(rows.features[a:b]) for a, b in zip(rows.starts[:-1], rows.starts[1:], strict=True)]
    assert [[name for name in row if name[0] != "#"] for row in named] == [
        ["smoker", "age<40", "sex=f", "grade=1"],
        ["40<=age<60", "sex=m", "grade=2"],
        [],
        ["smoker", "age>=60"],
        ["40<=age<60", "sex=f", "grade=1"],
    ]


def test_features_without_labels(given_as: Callable[[Columns], Any]) -> None:
    unlabelled = {name: values for name, values in COLUMNS.items() if name != "died"}
    assert same(read_features(given_as(unlabelled), ENCODING), ENCODING.encoded(COLUMNS))


def test_columns_without_any_value(given_as: Callable[[Columns], Any]) -> None:
    empty = {**COLUMNS, "note": [None] * 5, "age": [None] * 5, "smoker": [None] * 5, "sex": [None] * 5}
    rows = read_rows(given_as(empty), ENCODING, label="died")
    assert ENCODING.names(rows.features) == ("grade=1", "grade=2", "grade=1")


@pytest.mark.few(17)
@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        (["no", "yes", "yes", "no", "yes"], "yes"),
        (["-1", "1.0", "1", "-1", "1.0"], None),
        ([0.0, 1.0, 1.0, 0.0, 1.0], None),
        ([2, 1, 1, 2, 1], "1.0"),
        ([2, 1, 1, 2, 1], 1),
        (["False", "True", "True", "False", "True"], None),
        ([False, True, True, False, True], None),
    ],
)
def test_labels(given_as: Callable[[Columns], Any], labels: list[object], positive: object) -> None:
    rows = read_rows(given_as({**COLUMNS, "died": labels}), ENCODING, label="died", positive=positive)
    assert rows.labels.tolist() == [False, True, True, False, True]


@pytest.mark.parametrize(("label", "positive", "all_are"), [(1, None, True), (0, None, False), ("b", "a", False)])
def test_one_class_is_no_error(
    given_as: Callable[[Columns], Any], label: object, positive: object, all_are: bool
) -> None:
    source = given_as({**COLUMNS, "died": [label] * 5})
    assert read_rows(source, ENCODING, label="died", positive=positive).labels.tolist() == [all_are] * 5


@pytest.mark.few(23)
@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"died": ["zebra", "quagga", "okapi", "zebra", "zebra"]}, LabelError, "more than two"),
        ({"died": ["zebra", "quagga", "quagga", "zebra", "zebra"]}, LabelError, "positive"),
        ({"died": [0, 1, None, 0, 1]}, LabelError, "'died': some labels are missing"),
        ({"smoker": [0, 1, 31771, 0, 1]}, DataError, "'smoker'"),
        ({"smoker": ["1", "0", "zebra", "1", "0"]}, DataError, "'smoker'"),
        ({"age": ["39.5", "quagga", "1", "2", "3"]}, DataError, "'age'"),
    ],
)
def test_the_data_holder_sees_what_is_wrong(
    given_as: Callable[[Columns], Any],
    changed: Columns,
    error: type[Any],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONFIDE_SHOW_ERRORS", "1")
    with refused(error, private=["zebra", "quagga", "okapi", 31771, "39.5"], says=says):
        read_rows(given_as({**COLUMNS, **changed}), ENCODING, label="died")


@pytest.mark.few(15)
@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (["zebra", "quagga", "okapi", "zebra", "zebra"], "'died': labels are not 0/1"),
        (["zebra", "quagga", "quagga", "zebra", "zebra"], "'died': labels are not 0/1"),
        ([0, 1, -1, 0, 1], "'died': labels are not 0/1"),
        ([0, -1, -1, 0, 0], "'died': labels are not 0/1"),
        ([0, 1, None, 0, 1], "'died': some labels are missing"),
        ([0, 7, None, 3, 1], "'died': some labels are missing"),
    ],
)
def test_labels_are_refused_in_words_that_depend_on_little(
    given_as: Callable[[Columns], Any], labels: list[object], says: str
) -> None:
    with refused(LabelError, private=["zebra", "quagga", "okapi"], says=says):
        read_rows(given_as({**COLUMNS, "died": labels}), ENCODING, label="died")


@pytest.mark.parametrize(
    ("labels", "positive", "expected"),
    [
        (["zebra", "quagga", "okapi", "zebra", "x"], "zebra", [True, False, False, True, False]),
        ([0, 1, 9, 0, 1], 1, [False, True, False, False, True]),
        (["a", "b", "a", "b", "b"], "c", [False] * 5),
    ],
)
def test_a_named_label_is_one_against_the_rest(
    given_as: Callable[[Columns], Any], labels: list[object], positive: object, expected: list[bool]
) -> None:
    rows = read_rows(given_as({**COLUMNS, "died": labels}), ENCODING, label="died", positive=positive)
    assert rows.labels.tolist() == expected


def test_values_that_a_rule_does_not_know_set_no_feature(given_as: Callable[[Columns], Any]) -> None:
    changed = {**COLUMNS, "smoker": ["1", "0", "zebra", "2", None], "age": ["39.5", "quagga", "", "61", "4,5"]}
    known = {**COLUMNS, "smoker": ["1", "0", None, None, None], "age": ["39.5", None, None, "61", None]}
    assert same(read_features(given_as(changed), ENCODING), ENCODING.encoded(known))


def test_unknown_columns(given_as: Callable[[Columns], Any]) -> None:
    source = given_as(COLUMNS)
    keys = str(source).endswith("jsonl")  # of which each row has its own: none is listed
    with refused(ColumnError, says="not every row .* has the key 'Died'" if keys else "Did you mean 'died'"):
        read_rows(source, ENCODING, label="Died")
    with refused(ColumnError, says="not every row .* has the key 'smokr'" if keys else "Did you mean 'smoker'"):
        read_features(source, Encoding.parse(columns=["smokr"]))
    with refused(ParameterError, says="'sex' is the label"):
        read_rows(source, ENCODING, label="sex")


def test_columns_of_other_types_are_refused_by_their_type() -> None:
    table = ibis.memtable(pa.table({"note": [31771], "when": pa.array([31771], pa.timestamp("s")), "list": [[31771]]}))
    with refused(ColumnError, private=[31771], says="'note' does not hold text"):
        read_features(table, Encoding.parse(text="note"))
    for column in ("when", "list"):
        with refused(ColumnError, private=[31771], says=f"'{column}'"):
            read_features(table, Encoding.parse(columns=[f"{column}=a|b"]))


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.csv.gz"])
def test_no_rows(name: str, tmp_path: Path) -> None:
    if name == "rows.parquet":
        pq.write_table(pa.table({"died": pa.array([], pa.int64()), "note": pa.array([], pa.string())}), tmp_path / name)
    else:
        as_csv({"died": [], "note": []}, tmp_path / name)
    with refused(DataError, says="no rows"):
        read_rows(tmp_path / name, Encoding.parse(text="note"), label="died")
    assert len(read_features(tmp_path / name, Encoding.parse(text="note"))) == 0


ROWS = 300_000
WORDS = [f"{letter}{number}" for letter in "abc" for number in range(80)]


@pytest.fixture(scope="module")
def places() -> Any:
    """Rows that say their place in three words, and one bit of it in their label."""
    place = np.arange(ROWS)
    note = [f"a{high} b{middle} c{low}" for high in range(74) for middle in range(64) for low in range(64)]
    return pa.table({"died": place % 7 % 2, "note": note[:ROWS]})


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "size"), [("rows.csv", ROWS), ("rows.csv.gz", ROWS), ("rows.parquet", ROWS), ("rows.jsonl", 50_000)]
)
def test_the_order_of_rows_is_kept(name: str, size: int, places: Any, tmp_path: Path) -> None:
    file, places = tmp_path / name, places.slice(0, size)
    if name.endswith("parquet"):
        pq.write_table(places, file, row_group_size=10_000)
    else:
        duckdb.from_arrow(places).query(
            "rows", f"copy rows to '{file}' ({'format json' if 'json' in name else 'header'})"
        )
    encoding = Encoding(rules=(Vocabulary(column="note", words=tuple(WORDS)),))
    found = read_rows(file, encoding, label="died")
    place = np.arange(size)
    assert (found.starts == 3 * np.arange(size + 1)).all()
    expected = np.column_stack((place >> 12, 80 + (place >> 6 & 63), 160 + (place & 63)))
    assert (found.features.reshape(-1, 3) == expected).all()
    assert (found.labels == (place % 7 % 2 == 1)).all()


odd_cells = st.one_of(
    st.sampled_from(
        ["007", "7", "1", "0", "1.0", "true", "T", "yes", "2020-01-01", "a;b", "a|b", "#1", "it's", "NULL"]
    ),
    st.text("ab \"',;|\t\n#\\0é", min_size=1, max_size=6),
)
two_cells = st.tuples(odd_cells, odd_cells)


@examples(30)
@given(
    rows=st.lists(two_cells, min_size=1, max_size=5), other=two_cells, ending=st.sampled_from(["csv", "tsv", "jsonl"])
)
def test_no_row_changes_how_another_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], other: tuple[str, str], ending: str
) -> None:
    """Types and separators guessed from all rows would turn 007 to 7 until a word comes along."""
    encoding = Encoding.parse(text="note", bits=20, columns=["code=007|7|1|true|T"])
    file = tmp_path_factory.getbasetemp() / f"one.{ending}"
    found = []
    for written in (rows, [*rows, other]):
        columns = {"note": [note for note, _ in written], "code": [code for _, code in written]}
        as_json(columns, file) if ending == "jsonl" else as_csv(columns, file, "\t" if ending == "tsv" else ",")
        found.append(read_features(file, encoding))
        assert same(found[-1], encoding.encoded(columns))
    assert same(found[1].rows(np.arange(len(rows) + 1) < len(rows)), found[0])


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("\ufeffnote,code\nword,1\n", ["note", "code"]),
        ("\n\r\nnote;code\r\nword;1\nword;2\r\n", ["note", "code"]),
        ('"note","a, b",note\nword,1,2\n', ["note", "a, b", "note_1"]),
        (",note\n0,word\n", ["column0", "note"]),
        ("note , code\nword,1\n", ["note", "code"]),
        ("note\nword\n\nword\n", ["note"]),
        ("note|code\nword|a,b;c\n", ["note", "code"]),
        ('note,"two\nlines"\nword,1\n', ["note", "two\nlines"]),
    ],
)
def test_headers(content: str, columns: list[str], tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(content, encoding="utf-8", newline="")
    table = open_file(file, as_written=True)
    assert list(table.columns) == columns
    assert {row["note"] for row in table.rows()} == {"word"}


@pytest.mark.parametrize(
    "content",
    [
        b"note,code\nzebra,1,2\n",
        b"note,code\nzebra\n",
        b'note,code\n"zebra" crossing,1\n',
        b'note,code\n"zebra,1\n',
        b"note,code\nzebra\xe9,1\n",
        b"note\xe9,code\nzebra,1\n",
        "note,code\nzebra,1\n".encode("utf-16"),
    ],
    ids=["long", "short", "half quoted", "quote left open", "Latin-1", "Latin-1 header", "UTF-16"],
)
def test_files_that_are_not_as_they_should_be(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(content)
    with refused(UnreadableError, private=["zebra"], says=r"rows\.csv"):
        read_features(file, Encoding.parse(text="note"))


def test_long_values(tmp_path: Path) -> None:
    """A note may be a book; what Python's own reader allows stays as it was."""
    before = csv.field_size_limit()
    as_csv({"died": [1], "note": ["word " * 100_000 + "end"]}, tmp_path / "rows.csv")
    assert len(read_features(tmp_path / "rows.csv", Encoding.parse(text="note")).features) == 2
    assert csv.field_size_limit() == before


def test_a_bad_line_is_found_by_the_data_holder_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["note,code", *["zebra,1"] * 20_000, "zebra", *["zebra,1"] * 20_000]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    with refused(UnreadableError, private=["zebra", "2000"], says="cannot be read as CSV; .*CONFIDE_SHOW_ERRORS=1"):
        read_features(tmp_path / "rows.csv", Encoding.parse(text="note"))
    monkeypatch.setenv("CONFIDE_SHOW_ERRORS", "1")
    with refused(UnreadableError, private=["zebra"], says="near line 20002;"):
        read_features(tmp_path / "rows.csv", Encoding.parse(text="note"))


def test_keys(given_as: Callable[[Columns], Any]) -> None:
    """The same whichever the source, other columns aside; where a row's values differ, the keys do."""
    source = given_as(COLUMNS)
    keys = row_keys(source, ["grade", "sex"])
    assert keys.dtype == np.uint64
    assert (
        keys.tolist() == row_keys(ibis.memtable({k: COLUMNS[k] for k in ("grade", "sex")}), ["grade", "sex"]).tolist()
    )
    assert keys[0] == keys[4]
    assert np.unique(keys).size == 4
    with refused(ColumnError):
        row_keys(source, ["sax"])
    with refused(ParameterError, says="no column"):
        row_keys(source, [])


def test_keys_are_fixed_and_told_apart() -> None:
    table = ibis.memtable({"a": ["x", "xy", "", None], "b": ["yz", "z", "xyz", "xyz"]})
    keys = row_keys(table, ["a", "b"])
    assert keys[0] == KEY
    assert np.unique(keys).size == 3
    assert keys[2] == keys[3]


KEY = 4289416188804071106


def test_nothing_of_the_data_is_shown(tmp_path: Path) -> None:
    rows = read_rows(as_csv(COLUMNS, tmp_path / "rows.csv"), ENCODING, label="died")
    assert repr(rows) == f"<FeatureRows of {ENCODING.width} features>"


def test_missing_numbers_of_an_engine() -> None:
    table = ibis.memtable(pa.table({"age": pa.array([math.nan, None, 40.0, math.inf])}))
    assert read_features(table, Encoding.parse(columns=["age=40"])).starts.tolist() == [0, 0, 0, 1, 2]
