"""Private rows in Python: what a row counts for follows from its own value and the request, whatever the others are."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide import ScoreCounts
from confide.errors import DataError, ParameterError, ScoreError
from confide.intervals import against_rest
from confide.sources.encoding import Encoding, read_rows, row_keys
from confide.sources.feature_columns import spelling
from confide.sources.frames import private_columns
from confide.sources.rows import Rows, group_names, member_codes
from confide.tasks.release_terms import ColumnScores

SAME: list[list[Any]] = [
    [1, 1.0, "1", "1.00", " 1", Decimal(1), Decimal("1.00"), np.int8(1), np.float32(1), np.str_("1"), np.uint64(1)],
    [True, "true", "TRUE", np.bool_(True)],
    [0, -0.0, 0.0, "0", "-0.0", Decimal("-0.00")],
    [False, "False", np.bool_(False)],
    [0.4, "0.4", Decimal("0.40")],
    [0.39999999999999997],
    [0.1, Decimal("0.1")],
    [np.float32(0.1), float(np.float32(0.1))],
    [5e-324, "5e-324"],
    [2**53, float(2**53), str(2**53)],
    [2**53 + 1, Decimal(2**53 + 1)],
    [2**63],
    [-(2**63) - 1],
    [10**400, Decimal(10**400), str(10**400)],
    [10**5000],
    [10**5000 + 1],
    [Decimal("1E-10"), "0.0000000001"],
    [Decimal("1E+999999")],
    [math.inf, "inf", np.float32("inf")],
    ["x"],
    ["X"],
    ["x\0"],
    ["x\0\0"],
    ["\0"],
    ["x\ud800"],
    ["x\udfff"],
    ["x\ufffd"],
    ["caf\u00e9"],
    ["cafe\u0301"],
    ["a\x0bb"],
    ["a\nb"],
    ["007"],
    ["1e5"],
    [1e-05, "1e-05", "0.00001", Decimal("0.00001")],
    [-2.5e-07, "-2.5e-07", "-0.00000025"],
    [10**16, 1e16, "1e+16"],
    [100000, 1e5],
    [b"x"],
    [date(2020, 1, 2), "2020-01-02"],
    [datetime(2020, 1, 2)],
]
VALUES = [value for values in SAME for value in values]
CLASS = [number for number, values in enumerate(SAME) for _ in values]
SCORES = [row / 1024 for row in range(len(VALUES))]
NUMBERS: list[Any] = [
    0.5, 0.1, -0.0, 1, True, 2**53 + 1, 2**63, -(2**63) - 1, 2**70, Decimal("0.1"), Decimal("1E-400"), 5e-324,
    np.float32(0.1), np.float16(0.1), np.longdouble("0.1"), np.int8(-3), np.uint64(2**64 - 1), np.int32(2**24 + 1),
]  # fmt: skip


def objects(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        array[row] = value
    return array


def in_pandas(labels: list[Any], scores: list[Any]) -> Any:
    return pd.DataFrame({"label": pd.Series(objects(labels), dtype=object), "score": scores})


DOORS: dict[str, Any] = {
    "list": lambda labels, scores, positive: ScoreCounts.from_arrays(labels, scores, positive=positive, one_class=True),
    "tuple": lambda labels, scores, positive: ScoreCounts.from_arrays(
        tuple(labels), scores, positive=positive, one_class=True
    ),
    "objects": lambda labels, scores, positive: ScoreCounts.from_arrays(
        objects(labels), scores, positive=positive, one_class=True
    ),
    "pandas": lambda labels, scores, positive: ScoreCounts.from_frame(
        in_pandas(labels, scores), label="label", score="score", positive=positive, one_class=True
    ),
    "release": lambda labels, scores, positive: ColumnScores(label="label", score="score", value=positive)._count(
        in_pandas(labels, scores), None
    ),
    "select": lambda labels, scores, positive: _learn(labels, scores, positive),
}


def _learn(labels: list[Any], scores: list[Any], positive: object) -> ScoreCounts:
    frame = private_columns(in_pandas(labels, [1] * len(labels)), ["label", "score"])
    rows = read_rows(frame, Encoding.parse(columns=["score"]), label="label", positive=positive)
    return ScoreCounts.from_arrays(rows.labels, scores, one_class=True)


@pytest.mark.few(1)
@pytest.mark.parametrize("door", DOORS)
def test_each_label_matches_itself_alone(door: str) -> None:
    for value, own in zip(VALUES, CLASS, strict=True):
        counts = DOORS[door](VALUES, SCORES, value)
        assert counts.positives.tolist() == [int(other == own) for other in CLASS], (spelling(value) or "")[:40]


@pytest.mark.few(4)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("positive", [1, True, "x", "x\0", 0.4, b"x", "absent\0", "absent\ud800"])
def test_one_row_changes_itself_alone(door: str, positive: object) -> None:
    rest: list[Any] = [1, True, "x", 0.4, "no", b"x"]
    scores = [row / 8 for row in range(len(rest) + 1)]
    alone = DOORS[door]([*rest, "other"], scores, positive).positives.tolist()
    for value in VALUES:
        first = DOORS[door]([value, *rest], scores, positive).positives.tolist()
        last = DOORS[door]([*rest, value], scores, positive).positives.tolist()
        assert first[1:] == alone[:-1]
        assert last[:-1] == alone[:-1]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("missing", [None, math.nan, pd.NA, pd.NaT, Decimal("NaN"), Decimal("sNaN"), ""], ids=repr)
def test_a_missing_label_is_refused_whatever_the_others_are(door: str, missing: object) -> None:
    messages = set()
    for others in (["x", "y"], [1, True], [0.5, b"x"], ["\ud800", 10**5000]):
        for labels in ([missing, *others], [*others, missing]):
            with pytest.raises(DataError) as error:
                DOORS[door](labels, [0.1, 0.2, 0.3], "x")
            messages.add(str(error.value))
    assert len(messages) <= 2  # None and NaN in a dataframe are named with their column


@pytest.mark.parametrize("kind", ["bool", "int8", "int64", "uint64", "float16", "float32", "float64"])
def test_typed_arrays_are_judged_as_their_values_are(kind: str) -> None:
    values = np.array([0, 1, 1, 0, 1], dtype=kind)
    for positive in (None, 0, 1, "1", "1.0", "1e0", "01", "x", 2**70, 0.1, -1, 300):
        if kind == "bool" and positive not in (None, 0, 1, "1"):
            continue
        typed = ScoreCounts.from_arrays(values, np.arange(5.0), positive=positive, one_class=True)
        plain = values.astype(int).tolist() if kind == "bool" else values.tolist()
        listed = ScoreCounts.from_arrays(plain, np.arange(5.0), positive=positive, one_class=True)
        assert typed == listed


def test_without_a_name_labels_are_known_pairs_alone() -> None:
    labels: Any
    for labels in ([1, 0], ["1", 0], [-1, 1.0], [True, "false"], [1], [0], [-1], [True]):
        counts = ScoreCounts.from_arrays(labels, np.arange(float(len(labels))), one_class=True)
        assert counts.positives.tolist() == [int(spelling(label) in ("1", "true")) for label in labels]
    for labels in ([True, 1], [True, 0], [1, 2], ["a"], [-1, 0]):
        for given in (labels, labels[::-1], np.array(labels, dtype=object)):
            with pytest.raises(DataError, match="not 0/1"):
                ScoreCounts.from_arrays(given, np.arange(float(len(labels))), one_class=True)


@pytest.mark.parametrize("series", [pl.Series, pd.Series, pa.array, pa.chunked_array, pd.Categorical])
def test_texts_of_a_series_keep_their_last_nul(series: Any) -> None:
    texts = ["x", "x\0", "x\0\0", "y"]
    held = series([texts] if series is pa.chunked_array else texts)
    for text, row in zip(texts, range(4), strict=True):
        counts = ScoreCounts.from_arrays(held, np.arange(4.0), positive=text, one_class=True)
        assert np.flatnonzero(counts.positives).tolist() == [row]
    assert group_names(held).tolist() == texts
    assert np.unique(member_codes(held, "clusters")).size == 4


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_float_is_found_by_the_name_that_is_printed_for_it(kind: Any) -> None:
    labels = (10.0 ** np.arange(-12, 20)).astype(kind)
    for row, label in enumerate(labels):
        for positive in (label.item(), repr(label.item())):
            counts = ScoreCounts.from_arrays(labels, np.arange(labels.size), positive=positive, one_class=True)
            assert np.flatnonzero(counts.positives).tolist() == [row]


WEIGHTED: dict[str, Any] = {
    "arrays": lambda frame: ScoreCounts.from_arrays(frame["l"], frame["s"], frame["w"], positive="yes", one_class=True),
    "frame": lambda frame: ScoreCounts.from_frame(
        frame, label="l", score="s", weight="w", positive="yes", one_class=True
    ),
    "table": lambda frame: ScoreCounts.from_table(
        ibis.memtable(frame), label="l", score="s", weight="w", positive="yes", one_class=True
    ),
}


@pytest.mark.parametrize("door", WEIGHTED)
def test_private_rows_take_no_weights_whatever_they_hold(door: str) -> None:
    """Whether labels have a third value, and weights one that is not whole, would show."""
    refusals = set()
    for labels in (["yes", "no", "no"], ["no", "no", "no"], ["yes", "no", "maybe"], [None, "no", "no"]):
        for weights in ([1, 2, 3], [0.5, 2, 3], [0, 1, 1]):
            with pytest.raises(ParameterError) as error:
                WEIGHTED[door](pd.DataFrame({"l": labels, "s": [0.1, 0.2, 0.3], "w": weights}))
            refusals.add(str(error.value))
    assert len(refusals) == 1


def test_one_score_leaves_the_others_as_they_are() -> None:
    for value in NUMBERS:
        for other in NUMBERS:
            for given in ([value, other], objects([value, other])):
                counts = ScoreCounts.from_arrays([1, 0], given, one_class=True)
                assert counts.scores[counts.positives > 0].tolist() == [float(value) + 0.0]
                assert counts.scores[counts.negatives > 0].tolist() == [float(other) + 0.0]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_typed_columns_are_read_by_value(library: str) -> None:
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library]
    for labels, positive in (
        (["x", "y\0", "x\0"], "x\0"),
        ([1, 0, 1], "1"),
        ([0.5, 0.25, 0.5], 0.5),
        ([True, False, True], True),
        ([Decimal("0.1"), Decimal("0.12345678901234567890"), Decimal("0.1")], "0.1"),
    ):
        frame = make({"label": labels, "score": [0.1, 0.2, 0.3]})
        counts = ScoreCounts.from_frame(frame, label="label", score="score", positive=positive, one_class=True)
        assert counts.positives.tolist() == [int(spelling(label) == spelling(positive)) for label in labels]
    frame = pd.DataFrame({"label": pd.Categorical(["x", "y", "x"]), "score": pd.array([1, 2, 3], dtype="Int64")})
    counts = ScoreCounts.from_frame(frame, label="label", score="score", positive="x", one_class=True)
    assert counts.positives.tolist() == [1, 0, 1]


def test_features_groups_and_clusters_are_told_apart_by_value() -> None:
    texts = [value for value in VALUES if isinstance(value, str) and value.strip()]
    listed = list({spelling(text): text for text in texts}.values())
    encoded = Encoding.parse(columns=["a=" + "|".join(text for text in listed if text.strip() == text)])
    plain = [text for text in listed if text.strip() == text]
    assert encoded.encoded({"a": plain}).features.tolist() == list(range(len(plain)))
    words = Encoding.parse(text="a", bits=4)
    assert (
        words.encoded({"a": ["free prize", 1]}).features.tolist()
        == words.encoded({"a": ["free prize"]}).features.tolist()
    )
    assert np.unique(row_keys({"a": listed}, ["a"])).size == len(listed)
    assert member_codes(["a", "a\0", "b", "a"], "cluster").tolist() == [0, 1, 2, 0]
    mixed: list[Any] = ["a", "a\0", 1, 2.5, True]
    assert group_names(mixed).tolist() == ["a", "a\0", "1", "2.5", "True"]
    assert group_names([1, 2.5]).tolist() == ["1", "2.5"]
    labels, scores = [0, 1] * 4, [0.1, 0.5, 0.4, 0.3, 0.2, 0.9, 0.3, 0.4]
    found = against_rest(labels, scores, ["a", "a", "a\0", "a\0", "b", "b", "b", "b"], "brier")
    assert [each.first for each in found] == ["a", "a\0", "b"]
    for last in (0.5, -1, "x", 1):
        assert member_codes([2**53, 2**53 + 1, 2**63, 2**63 + 1, last], "cluster")[:4].tolist() in (
            [0, 1, 2, 3],
            [1, 2, 3, 4],
        )


def test_rows_without_a_score_leave_the_others_as_they_are() -> None:
    """Where the array holds objects, a text beside numbers, or a NUL at an end, changes no other row."""
    groups: list[Any] = ["a", "a\0", 2**53 + 1, "gone", 2**53, 1.5]
    scores: list[Any] = [0.1, 0.2, 0.3, None, 0.5, 0.6]
    kept = [0, 1, 2, 4, 5]
    for make in (list, objects):
        rows = Rows.checked(
            make([1, 0, 1, 0, 1, 0]),
            ["s"],
            [make(scores)],
            groups={"g": make(groups)},
            clusters=make(groups),
            missing="drop",
        )
        assert rows.clusters is not None
        assert rows.groupings[0].groups.tolist() == [str(groups[row]) for row in kept]
        assert np.unique(rows.clusters).size == len(kept)
        assert rows.scores[0].tolist() == [scores[row] for row in kept]


UNFIT: list[Any] = [
    None,
    "0.5",
    math.inf,
    10**400,
    Decimal("sNaN"),
    np.longdouble("1e4000"),
    np.complex128(0.5),
    1j,
    [0.5],
    (0.5, 0.5),
    range(3),
    b"x",
    bytearray(b"x"),
    np.array([0.1, 0.2]),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", UNFIT, ids=lambda odd: type(odd).__name__)
@pytest.mark.parametrize("held", [list, objects])
def test_every_bad_score_is_refused_with_one_message(odd: Any, held: Any) -> None:
    """No warning and no other error tells one bad score of a single row from another."""
    with pytest.raises(ScoreError, match="do not hold a finite number in every row"):
        ScoreCounts.from_arrays([0, 1, 1], held([0.1, 0.2, odd]), one_class=True)


def test_scores_of_several_columns_are_refused_as_such() -> None:
    with pytest.raises(ParameterError, match="one-dimensional"):
        ScoreCounts.from_arrays([0, 1], [[0.1, 0.9], [0.2, 0.8]], one_class=True)


def test_a_duration_among_numbers_is_in_no_interval() -> None:
    encoding = Encoding.parse(columns=["age=40"])
    assert encoding.encoded({"age": [50, np.timedelta64(5, "D"), 30]}).starts.tolist() == [0, 1, 1, 2]
