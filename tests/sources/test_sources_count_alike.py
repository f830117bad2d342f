"""Every source gives the same counts for the same rows, whichever way it counts them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide import ScoreCounts
from confide.errors import LabelError
from confide.sources import arrays, engine_tables, tables
from tests.sources.readers import FRAMES, READERS, TABLES, Columns, Names, Reader, arrow

RNG = np.random.default_rng(1)
SIZE = 240
LABELS = RNG.permutation(np.arange(SIZE) % 3 == 0).astype(int).tolist()
# Ties, both zeros, a sum that is not exact in decimals, and numbers far from one.
SCORES = RNG.choice([-0.0, 0.0, 0.1 + 0.2, 0.3, 1 / 3, 1e-300, 0.5, 1.0, 123456.789, -2.5], SIZE).tolist()
DISTINCT = RNG.random(SIZE).tolist()
FIVE_OR_SEVEN = [7 - 2 * label for label in LABELS]
WHOLE = RNG.integers(1, 6, SIZE).tolist()
QUARTERS = (RNG.integers(1, 16, SIZE) / 4).tolist()  # exact in any order of addition
THIRDS = (RNG.integers(1, 16, SIZE) / 3).tolist()


def words(labels: Sequence[int], negative: str, positive: str) -> list[str]:
    return [positive if label else negative for label in labels]


ROWS: dict[str, tuple[Columns, Names]] = {
    "tied scores": ({"label": LABELS, "score": SCORES}, Names()),
    "minus zero alone": ({"label": LABELS, "score": [-0.0, 0.5] * (SIZE // 2)}, Names()),
    "distinct scores": ({"label": LABELS, "score": DISTINCT}, Names()),
    "whole scores": ({"label": LABELS, "score": [round(10 * s) for s in DISTINCT]}, Names()),
    "whole weights": ({"label": LABELS, "score": SCORES, "times": WHOLE}, Names(weight="times")),
    "float weights": ({"label": LABELS, "score": SCORES, "share": QUARTERS}, Names(weight="share")),
    "words": ({"label": words(LABELS, "good", "poor"), "score": SCORES}, Names(positive="poor")),
    "words of truth": ({"label": words(LABELS, "no", "yes"), "score": SCORES}, Names(positive="yes")),
    "letters of truth": ({"label": words(LABELS, "F", "T"), "score": SCORES}, Names(positive="T")),
    "booleans": ({"label": [bool(label) for label in LABELS], "score": SCORES}, Names()),
    "minus and plus one": ({"label": [2 * label - 1 for label in LABELS], "score": SCORES}, Names()),
    "float labels": ({"label": [float(label) for label in LABELS], "score": SCORES}, Names()),
    "the lower number is positive": ({"label": FIVE_OR_SEVEN, "score": SCORES}, Names(positive=5)),
    "a positive given as text": ({"label": FIVE_OR_SEVEN, "score": SCORES}, Names(positive="5")),
    "other names": (
        {"score": LABELS, "label": SCORES, "weight": WHOLE, "all": WHOLE},
        Names(label="score", score="label", weight="all"),
    ),
    "names with spaces": ({"true label": LABELS, "Score (%)": SCORES}, Names(label="true label", score="Score (%)")),
}


def by_hand(columns: Columns, names: Names) -> ScoreCounts:
    """Count with a dictionary, without any of the package's sources."""
    positive = names.positive
    is_positive = [
        (value == positive or str(value) == str(positive)) if positive is not None else value in (1, True)
        for value in columns[names.label]
    ]
    weights = columns[names.weight] if names.weight else [1] * len(is_positive)
    found: dict[float, list[float]] = {}
    for ours, score, weight in zip(is_positive, columns[names.score], weights, strict=True):
        found.setdefault(float(score) + 0.0, [0, 0])[0 if ours else 1] += weight
    scores = sorted(found)
    return ScoreCounts(
        np.array(scores), np.array([found[s][0] for s in scores]), np.array([found[s][1] for s in scores])
    )


@pytest.mark.few(28)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("source", READERS)
def test_same_rows_same_counts(source: str, rows: str, tmp_path: Path) -> None:
    columns, names = ROWS[rows]
    counts = READERS[source](columns, names, tmp_path)
    expected = by_hand(columns, names)
    assert counts == expected
    assert counts.weighted == expected.weighted
    assert not np.signbit(counts.scores[counts.scores == 0]).any()
    assert not any(array.flags.writeable for array in (counts.scores, counts.positives, counts.negatives))


@pytest.fixture(params=["engine", "stream"])
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make tables count inside the engine, or stream, and fail if they do the other."""
    chosen: str = request.param
    monkeypatch.setattr(tables, "_FEW_DISTINCT_SHARE", 1e9 if chosen == "engine" else -1.0)

    def wrong(*_: Any) -> None:
        pytest.fail("the table went the other way")

    monkeypatch.setattr(tables, "stream" if chosen == "engine" else "_count_in_engine", wrong)
    return chosen


@pytest.mark.few(13)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("source", TABLES)
def test_tables_count_alike_on_both_routes(source: str, rows: str, route: str, tmp_path: Path) -> None:
    columns, names = ROWS[rows]
    if route == "engine" and rows == "float weights":  # their sums would depend on the order of rows
        with pytest.raises(pytest.fail.Exception, match="went the other way"):
            TABLES[source](columns, names, tmp_path)
        return
    counts = TABLES[source](columns, names, tmp_path)
    expected = by_hand(columns, names)
    assert counts == expected
    assert counts.weighted == expected.weighted
    assert not np.signbit(counts.scores[counts.scores == 0]).any()


@pytest.mark.parametrize("source", READERS)
def test_weights_that_do_not_add_exactly(source: str, tmp_path: Path) -> None:
    columns: Columns = {"label": LABELS, "score": SCORES, "share": THIRDS}
    counts, expected = (
        READERS[source](columns, Names(weight="share"), tmp_path),
        by_hand(columns, Names(weight="share")),
    )
    np.testing.assert_array_equal(counts.scores, expected.scores)
    np.testing.assert_allclose(counts.positives, expected.positives, rtol=1e-14)
    np.testing.assert_allclose(counts.negatives, expected.negatives, rtol=1e-14)


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_are_put_together(workers: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engine_tables, "BATCH_ROWS", 7 * workers)
    columns, names = ROWS["distinct scores"]
    assert TABLES["DuckDB"](columns, names, tmp_path) == by_hand(columns, names)


@pytest.mark.parametrize("scores", [SCORES, DISTINCT])
def test_the_compiled_kernel_counts_alike(scores: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "COMPILED_FROM_ROWS", 1)
    columns: Columns = {"label": LABELS, "score": scores}
    counts = ScoreCounts.from_arrays(LABELS, scores)
    assert counts == by_hand(columns, Names())
    assert not np.signbit(counts.scores[counts.scores == 0]).any()


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int8, np.uint64, np.bool_])
def test_narrow_numbers_are_widened_exactly(kind: type, tmp_path: Path) -> None:
    values: Any = (RNG.integers(0, 2, SIZE) if kind is np.bool_ else RNG.integers(0, 100, SIZE) / 8).astype(kind)
    expected = by_hand({"label": LABELS, "score": values.astype(float).tolist()}, Names())
    assert ScoreCounts.from_arrays(LABELS, values) == expected
    if kind is np.float16:
        return  # Arrow's half floats are not known to every engine
    assert ScoreCounts.from_frame(pd.DataFrame({"label": LABELS, "score": values}), label="label", score="score") == (
        expected
    )
    table = ibis.memtable(pa.table({"label": pa.array(LABELS), "score": pa.array(values)}))
    assert ScoreCounts.from_table(table, label="label", score="score") == expected


CATEGORIES = words(LABELS, "good", "poor")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"label": pd.Categorical(CATEGORIES), "score": SCORES}),
        pl.DataFrame({"label": pl.Series(CATEGORIES, dtype=pl.Categorical), "score": SCORES}),
        pl.DataFrame({"label": pl.Series(CATEGORIES, dtype=pl.Enum(["good", "poor"])), "score": SCORES}),
        pa.table({"label": pa.array(CATEGORIES).dictionary_encode(), "score": pa.array(SCORES)}),
    ],
    ids=["pandas", "Polars", "Polars enum", "PyArrow"],
)
def test_categories_are_words(frame: Any) -> None:
    counts = ScoreCounts.from_frame(frame, label="label", score="score", positive="poor")
    assert counts == by_hand({"label": CATEGORIES, "score": SCORES}, Names(positive="poor"))


@pytest.mark.parametrize("source", FRAMES)
def test_the_index_and_other_columns_do_not_matter(source: str, tmp_path: Path) -> None:
    columns: Columns = {"extra": [None] * SIZE, "label": LABELS, "score": SCORES, "text": ["x"] * SIZE}
    assert FRAMES[source](columns, Names(), tmp_path) == by_hand({"label": LABELS, "score": SCORES}, Names())


def test_a_filtered_pandas_frame_is_read_by_position() -> None:
    frame = pd.DataFrame({"label": LABELS, "score": SCORES}).iloc[::-1]
    assert ScoreCounts.from_frame(frame, label="label", score="score") == by_hand(*ROWS["tied scores"])


def test_a_query_is_a_table() -> None:
    table = ibis.memtable(arrow({"label": LABELS, "score": SCORES, "site": [i % 2 for i in range(SIZE)]}))
    parts = [ScoreCounts.from_table(table.filter(table.site == site), label="label", score="score") for site in (0, 1)]
    assert ScoreCounts.total(parts) == by_hand(*ROWS["tied scores"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.tsv", "label\tscore\n0\t0.5\n1\t0.75\n"),
        ("rows.csv", "label;score\n0;0.5\n1;0.75\n"),
        ("rows.csv", "\ufefflabel,score\r\n0,0.5\r\n1,0.75\r\n"),
        ("ROWS.CSV", "label,score\n0,0.5\n1,0.75\n"),
        ("rows.json", '[{"label": 0, "score": 0.5}, {"label": 1, "score": 0.75}]'),
        ("rows.JSON", '[{"label": 0, "score": 0.5}, {"label": 1, "score": 0.75}]'),
        ("rows.ndjson", '{"label": 0, "score": 0.5}\n{"label": 1, "score": 0.75}\n'),
        ("rows.2024.v1.csv", "label,score\n0,0.5\n1,0.75\n"),
        ("rows [final] (1)*.csv", "label,score\n0,0.5\n1,0.75\n"),
        ("it's ours.csv", "label,score\n0,0.5\n1,0.75\n"),
    ],
    ids=["tabs", "semicolons", "Windows", "capitals", "JSON", "JSON capitals", "ndjson", "dots", "wildcards", "quote"],
)
def test_endings_and_odd_names_of_files(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8", newline="")
    counts = ScoreCounts.from_table(file, label="label", score="score")
    assert counts == ScoreCounts.from_arrays([0, 1], [0.5, 0.75])


def test_a_name_with_brackets_is_that_file_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "scores1.csv").write_text("label,score\n0,0.1\n1,0.2\n")
    (tmp_path / "scores[1].csv").write_text("label,score\n0,0.5\n1,0.75\n")
    counts = ScoreCounts.from_table(tmp_path / "scores[1].csv", label="label", score="score")
    assert counts == ScoreCounts.from_arrays([0, 1], [0.5, 0.75])


LATE = 50_000  # more rows than a reader looks at to guess the type of a column


@pytest.mark.parametrize("source", ["CSV", "JSON lines"])
def test_a_late_fraction_is_not_rounded(source: str, tmp_path: Path) -> None:
    scores: list[float] = [*([0, 1, 2, 3, 4] * (LATE // 5)), 0.25, 0.75]
    columns: Columns = {"label": [0, 1] * (len(scores) // 2), "score": scores}
    assert READERS[source](columns, Names(), tmp_path) == by_hand(columns, Names())


@pytest.mark.parametrize("source", ["CSV", "JSON lines"])
def test_a_late_third_label_is_not_rounded_away(source: str, tmp_path: Path) -> None:
    labels: list[float] = [*([0, 1] * (LATE // 2)), 0.75]
    with pytest.raises(LabelError, match="two values"):
        READERS[source]({"label": labels, "score": [0.5] * len(labels)}, Names(), tmp_path)


@pytest.mark.parametrize("reader", [READERS["CSV"], READERS["JSON lines"]], ids=["CSV", "JSON lines"])
def test_decimals_are_read_to_the_last_bit(reader: Reader, tmp_path: Path) -> None:
    scores = (RNG.random(2_000) * 10.0 ** RNG.integers(-300, 300, 2_000)).tolist()
    labels = (RNG.random(2_000) < 0.5).astype(int).tolist()
    columns: Columns = {"label": labels, "score": scores}
    assert reader(columns, Names(), tmp_path) == by_hand(columns, Names())


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_labels_that_differ_in_a_last_nul_are_two(frame: Any) -> None:
    rows = frame({"label": ["a\0", "a", "a\0"], "score": [0.1, 0.2, 0.3]})
    assert ScoreCounts.from_frame(rows, label="label", score="score", positive="a\0").positives.tolist() == [1, 0, 1]
    counts = ScoreCounts.from_arrays(["a\0", "a", "a\0"], [0.1, 0.2, 0.3], positive="a\0")
    assert counts.positives.tolist() == [1, 0, 1]
