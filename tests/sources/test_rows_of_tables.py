"""Rows brought from tables for comparison and groups: several scores, weights, groups, whichever the source."""

from __future__ import annotations

from pathlib import Path

import ibis
import numpy as np
import pytest

from confide import ScoreCounts
from confide.errors import ColumnError, ScoreError
from confide.sources.rows import Rows
from confide.sources.tables import table_rows
from tests.sources.readers import Columns, arrow, csv_text
from tests.sources.refusals import refused

COLUMNS: Columns = {
    "died": [0, 1, 1, 0, 1, 0, 0, 1],
    "old": [0.1, 0.2, 0.9, 0.4, 0.5, 0.3, 0.2, 0.8],
    "new": [3, 1, 4, 1, 5, 9, 2, 6],
    "times": [1, 2, 1, 1, 3, 1, 1, 2],
    "site": ["b", "a", "b", None, "a", "a", "b", "a"],
}


def read(source: str, folder: Path, **keywords: object) -> Rows:
    if source == "CSV":
        file = folder / "rows.csv"
        file.write_text(csv_text(COLUMNS))
        return table_rows(file, **keywords)  # type: ignore[arg-type]
    return table_rows(ibis.memtable(arrow(COLUMNS)), **keywords)  # type: ignore[arg-type]


@pytest.mark.parametrize("source", ["CSV", "Ibis memory"])
def test_columns_arrive_together(source: str, tmp_path: Path) -> None:
    rows = read(source, tmp_path, label="died", scores=["new", "old"], weight="times", group="site")
    assert rows.groups is not None
    assert rows.weights is not None
    found = sorted(zip(rows.scores[0], rows.scores[1], rows.labels, rows.weights, rows.groups, strict=True))
    groups = ["(missing)" if site is None else site for site in COLUMNS["site"]]
    expected = sorted(zip(COLUMNS["new"], COLUMNS["old"], COLUMNS["died"], COLUMNS["times"], groups, strict=True))
    assert found == expected
    assert rows.names == ("new", "old")


@pytest.mark.parametrize("source", ["CSV", "Ibis memory"])
def test_groups_are_counted_apart(source: str, tmp_path: Path) -> None:
    rows = read(source, tmp_path, label="died", scores=["old"], weight="times", group="site")
    parts = {name: part.counts()[0] for name, part in rows.by_group()}
    assert list(parts) == ["(missing)", "a", "b"]
    assert ScoreCounts.total(parts.values()) == rows.counts()[0]
    in_a = np.array(COLUMNS["site"]) == "a"
    died, old, times = (np.array(COLUMNS[name])[in_a] for name in ("died", "old", "times"))
    assert parts["a"] == ScoreCounts.from_arrays(died, old, times)


def test_text_shows_nothing_private(tmp_path: Path) -> None:
    rows = read("CSV", tmp_path, label="died", scores=["old"], group="site")
    assert repr(rows) == "Rows(<private>, names=('old',))"


def test_the_second_score_is_checked_too(tmp_path: Path) -> None:
    with refused(ColumnError, says="Did you mean 'new'"):
        read("CSV", tmp_path, label="died", scores=["old", "neu"])
    with refused(ScoreError, says="'site'"):
        read("CSV", tmp_path, label="died", scores=["old", "site"])
    with refused(ColumnError, says="Did you mean 'site'"):
        read("CSV", tmp_path, label="died", scores=["old"], group="sites")
