"""Named columns of a CSV file have the types and values that DuckDB finds in the whole file, or are left to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from confide.sources import duckdb_files
from confide.sources.duckdb_files import open_file

COLUMNS = {
    "whole": ["1", "-2", "30"],
    "numbers": ["0.5", "1", "2e-3"],
    "late number": ["1", "2", "0.5"],
    "late text": ["1", "2", "x"],
    "text": ["yes", "no", "yes"],
    "missing": ["1", "", "NA"],
    "missing numbers": ["0.25", "NA", ""],
    "leading zeros": ["007", "08", "1"],
    "signs": ["+1", "2", "3"],
    "spaces": [" 1", "2 ", "3"],
    "words for numbers": ["inf", "nan", "0.5"],
    "long": ["123456789012345678901", "1", "2"],
    "dates": ["2020-01-01", "2021-05-05", "2022-02-02"],
    "dots": ["1.", ".5", "2"],
    "quoted": ['"1"', '"2"', '"3"'],
    "quoted text": ['"a,b"', '"c ""d"""', "e"],
    "apostrophes": ["O'Brien", "x", "y"],
    "nothing": ["", "", ""],
    "bool": ["true", "false", "T"],
    "dashes": ["-", "1", "2"],
}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("rows", [1, 9_000])
def test_types_and_values_are_those_of_the_whole_file(name: str, rows: int, tmp_path: Path) -> None:
    first, second, last = COLUMNS[name]
    values = [first, second] * rows + [last]
    file = tmp_path / "table.csv"
    file.write_text("id,a column,other\n" + "".join(f"{i},{value},z{i}\n" for i, value in enumerate(values)))
    slow, fast = open_file(file), open_file(file, columns=["a column", "id"])
    assert fast["a column"].type() == slow["a column"].type()
    ours, theirs = (sorted((row["id"], str(row["a column"])) for row in each.rows()) for each in (fast, slow))
    assert ours == theirs


def test_only_named_columns_are_kept_where_types_are_plain(tmp_path: Path) -> None:
    file = tmp_path / "odd 'name' [1].csv"
    file.write_text('label;"my ""score""";rest\n0;0.5;a\n1;0.75;b\n')
    table = open_file(file, columns=["label", 'my "score"'])
    assert list(table.columns) == ["label", 'my "score"']
    assert table.rows() == [{"label": 0, 'my "score"': 0.5}, {"label": 1, 'my "score"': 0.75}]


def test_an_unknown_column_leaves_all_columns_to_choose_from(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("label,score\n0,0.5\n1,0.75\n")
    assert list(open_file(file, columns=["label", "scor"]).columns) == ["label", "score"]


def test_the_file_is_not_sniffed_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(duckdb_files._OPTIONS, "read_csv", {"no_such_option": "true"})
    file = tmp_path / "table.csv"
    file.write_text("label,score\n0,0.5\n1,0.75\n")
    assert len(open_file(file, columns=["label", "score"]).rows()) == 2


def test_a_column_is_found_by_its_own_name_letter_case_included(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("label,score,Score\n1,0.9,0.1\n0,0.1,0.9\n")
    assert open_file(file, columns=["label", "score"]).columns == ("label", "score")
    for name in ("Score", "SCORE"):
        assert open_file(file, columns=["label", name]).columns == ("label", "score", "Score_1")
