"""Rows brought from tables for comparison and groups: several scores, weights, groups, whichever the source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import polars as pl
import pytest

from confide import ScoreCounts
from confide.errors import ColumnError, DataError, ScoreError
from confide.sources.frames import frame_rows
from confide.sources.rows import Grouping, Missing, RowColumns, Rows, group_name, name_groups
from confide.sources.tables import count_table, table_rows
from tests.sources.readers import Columns, arrow, csv_text
from tests.sources.refusals import refused

COLUMNS: Columns = {
    "died": [0, 1, 1, 0, 1, 0, 0, 1],
    "old": [0.1, 0.2, 0.9, 0.4, 0.5, 0.3, 0.2, 0.8],
    "new": [3, 1, 4, 1, 5, 9, 2, 6],
    "times": [1, 2, 1, 1, 3, 1, 1, 2],
    "site": ["b", "a", "b", None, "a", "a", "b", "a"],
    "ward": [1, 1, 2, 2, 2, 1, 1, 2],
    "patient": ["x", "y", "x", "z", "y", "x", "z", "w"],
    "gaps": [0.1, None, 0.9, 0.4, None, 0.3, 0.2, 0.8],
    "holes": [0.5, None, 0.9, 0.4, 0.1, 0.3, None, 0.8],
}


def read(source: str, folder: Path, scores: Sequence[str], *, missing: Missing = "refuse", **columns: Any) -> Rows:
    named = RowColumns(label="died", scores=tuple(scores), **columns)
    if source == "CSV":
        file = folder / "rows.csv"
        file.write_text(csv_text(COLUMNS))
        return table_rows(file, named, missing=missing)
    if source == "frame":
        return frame_rows(pl.DataFrame(COLUMNS), named, missing=missing)
    return table_rows(ibis.memtable(arrow(COLUMNS)), named, missing=missing)


@pytest.mark.parametrize("source", ["CSV", "Ibis memory", "frame"])
def test_columns_arrive_together(source: str, tmp_path: Path) -> None:
    rows = read(source, tmp_path, ["new", "old"], weight="times", groups=("site",))
    assert rows.weights is not None
    (site,) = rows.groupings
    found = sorted(zip(rows.scores[0], rows.scores[1], rows.labels, rows.weights, site.groups, strict=True))
    groups = ["(missing)" if site is None else site for site in COLUMNS["site"]]
    expected = sorted(zip(COLUMNS["new"], COLUMNS["old"], COLUMNS["died"], COLUMNS["times"], groups, strict=True))
    assert found == expected
    assert rows.names == ("new", "old")


@pytest.mark.parametrize("source", ["CSV", "Ibis memory", "frame"])
def test_groups_are_counted_apart(source: str, tmp_path: Path) -> None:
    rows = read(source, tmp_path, ["old"], weight="times", groups=("site",))
    parts = {name: rows.take(chosen).counts()[0] for name, chosen in rows.groupings[0].members()}
    assert list(parts) == ["(missing)", "a", "b"]
    assert ScoreCounts.total(parts.values()) == rows.counts()[0]
    in_a = np.array(COLUMNS["site"]) == "a"
    died, old, times = (np.array(COLUMNS[name])[in_a] for name in ("died", "old", "times"))
    assert parts["a"] == ScoreCounts.from_arrays(died, old, times)


def test_text_shows_nothing_private(tmp_path: Path) -> None:
    rows = read("CSV", tmp_path, ["old"], groups=("site",))
    assert repr(rows) == "Rows(<private>, names=('old',))"


def test_the_second_score_is_checked_too(tmp_path: Path) -> None:
    with refused(ColumnError, says="Did you mean 'new'"):
        read("CSV", tmp_path, ["old", "neu"])
    with refused(ScoreError, says="'site'"):
        read("CSV", tmp_path, ["old", "site"])
    with refused(ColumnError, says="Did you mean 'site'"):
        read("CSV", tmp_path, ["old"], groups=("sites",))


EVERY_SOURCE = pytest.mark.parametrize("source", ["CSV", "Ibis memory", "frame"])


@EVERY_SOURCE
def test_several_groups_and_their_crossing(source: str, tmp_path: Path) -> None:
    rows = read(source, tmp_path, ["old"], groups=("site", "ward"))
    site, ward, both = rows.all_groupings()
    assert (site.column, ward.column, both.column) == ("site", "ward", "site × ward")
    assert [name for name, _ in ward.members()] == ["1", "2"]
    sizes = {name: int(chosen.sum()) for name, chosen in both.members()}
    assert sizes == {"(missing), 2": 1, "a, 1": 2, "a, 2": 2, "b, 1": 2, "b, 2": 1}
    assert sum(len(rows.take(chosen)) for _, chosen in site.members()) == len(rows)


@EVERY_SOURCE
def test_clusters_and_folds_are_numbered(source: str, tmp_path: Path) -> None:
    rows = read(source, tmp_path, ["old"], cluster="patient")
    folded = read(source, tmp_path, ["old"], fold="ward")
    assert rows.clusters is not None
    assert folded.folds is not None
    patients = np.array(COLUMNS["patient"])
    assert np.array_equal(rows.clusters[:, None] == rows.clusters, patients[:, None] == patients)
    assert np.array_equal(folded.folds, np.array(COLUMNS["ward"]) - 1)
    with refused(DataError, says="clusters are missing"):
        read(source, tmp_path, ["old"], cluster="site")


@EVERY_SOURCE
def test_missing_scores_are_refused_or_dropped_and_counted(source: str, tmp_path: Path) -> None:
    with refused(ScoreError, says="missing"):
        read(source, tmp_path, ["gaps", "old", "holes"])
    rows = read(source, tmp_path, ["gaps", "old", "holes"], weight="times", groups=("site",), missing="drop")
    kept = [0, 2, 3, 5, 7]
    assert rows.missing is not None
    assert rows.missing.to_dict() == {"rows": 3, "by_score": {"gaps": 2, "old": 0, "holes": 2}}
    for name, column in zip(rows.names, rows.scores, strict=True):
        assert column.tolist() == [COLUMNS[name][i] for i in kept]
    assert rows.labels.tolist() == [bool(COLUMNS["died"][i]) for i in kept]
    assert rows.weights is not None
    assert rows.weights.tolist() == [COLUMNS["times"][i] for i in kept]
    assert rows.groupings[0].groups.tolist() == ["b", "b", "(missing)", "a", "a"]


def test_counting_in_the_engine_drops_the_same_rows(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(csv_text(COLUMNS))
    counted = count_table(file, label="died", score="gaps", missing="drop")
    assert counted.missing is not None
    assert (counted.rows, counted.missing.rows) == (6, 2)
    assert counted.counts == read("CSV", tmp_path, ["gaps"], missing="drop").counts()[0]


def test_a_column_without_any_score_is_refused(tmp_path: Path) -> None:
    table = ibis.memtable(arrow({"died": [0, 1], "risk": [None, None]})).cast({"risk": "float64"})
    with refused(DataError, says="every row lacks a score"):
        table_rows(table, RowColumns(label="died", scores=("risk",)), missing="drop")
    with refused(DataError, says="every row lacks a score"):
        Rows.checked([0, 1], ["risk"], [[np.nan, np.nan]], missing="drop")


@pytest.mark.parametrize(
    "values",
    [
        ["b", "a", "b"],
        [10, 9, 10],
        [True, False, True],
        [1.0, -0.0, 0.0],
        [None, "a", "a"],
        [True, 1, "1"],
        [float("nan"), 2.0, 2.0],
        [],
    ],
)
def test_groups_are_named_one_by_one_or_at_once_alike(values: list[object]) -> None:
    assert name_groups(values).tolist() == [group_name(value) for value in values]


def test_members_are_numbers_in_order_then_words() -> None:
    grouping = Grouping("g", name_groups(["10", "b", "9", "a", "9"]))
    assert [(name, chosen.tolist().count(True)) for name, chosen in grouping.members()] == [
        ("9", 2),
        ("10", 1),
        ("a", 1),
        ("b", 1),
    ]
