"""Columns of a file are those in it: names of folders such as `died=1` do not replace them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from confide import ScoreCounts
from confide.sources.tables import count_table

WRITE = {
    "parquet": "(FORMAT parquet)",
    "csv": "(FORMAT csv, HEADER)",
    "jsonl": "(FORMAT json)",
}


@pytest.mark.parametrize("ending", WRITE)
@pytest.mark.parametrize("one_class", [False, True])
def test_a_folder_does_not_decide_labels(tmp_path: Path, ending: str, one_class: bool) -> None:
    folder = tmp_path / "died=1" / "risk=7"
    folder.mkdir(parents=True)
    file = folder / f"rows.{ending}"
    rows = "SELECT * FROM (VALUES (1, 0.5::DOUBLE), (0, 0.25), (1, 0.75)) AS given (died, risk)"
    duckdb.execute(f"COPY ({rows}) TO '{file}' {WRITE[ending]}")
    found = count_table(file, label="died", score="risk", one_class=one_class).counts
    assert found == ScoreCounts.from_arrays([1, 0, 1], [0.5, 0.25, 0.75])
