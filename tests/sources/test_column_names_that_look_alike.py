"""Columns whose names differ in letter case alone, and columns with names that Python methods use themselves."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from confide.errors import ColumnError, WeightError
from confide.sources.encoding import Encoding, read_features
from confide.sources.predictions_out import write_with_scores
from confide.sources.submission_rows import ScoreLimits, own_parquet_rows
from confide.sources.tables import count_table

COLUMNS: dict[str, list[float]] = {"label": [1, 0], "score": [0.9, 0.1], "Score": [0.3, 0.7], "Score_1": [5.0, 6.0]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table(COLUMNS), path)
    return path


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("name", ["score", "Score", "Score_1"])
def test_each_column_of_parquet_is_read_by_its_own_name(file: Path, name: str, private: bool) -> None:
    counts = count_table(file, label="label", score=name, one_class=private).counts
    assert counts.scores.tolist() == sorted(COLUMNS[name])


def test_a_name_that_no_column_has_is_refused(file: Path) -> None:
    with pytest.raises(ColumnError, match="SCORE"):
        count_table(file, label="label", score="SCORE")


def test_two_columns_that_differ_in_letter_case_are_not_read_together(file: Path) -> None:
    with pytest.raises(ColumnError, match="'Score'"):
        read_features(file, Encoding.parse(columns=["score=0.5", "Score=0.5"]))


@pytest.mark.parametrize("others", [["ID", "SCORE"], ["Id", "score_1", "SCORE"]])
def test_scores_of_a_participant_are_found_beside_other_columns(tmp_path: Path, others: list[str]) -> None:
    path, none = tmp_path / "scores.parquet", {name: [0.0, 0.0] for name in others}
    parquet.write_table(pa.table(none | {"id": ["a", "b"], "score": [0.1, 0.2]}), path)
    ids, scores = own_parquet_rows(path, ("id", "score"), rows=2, limits=ScoreLimits())
    assert (list(ids), scores.tolist()) == (["a", "b"], [0.1, 0.2])


def test_a_column_may_have_the_name_self(tmp_path: Path) -> None:
    path, new = tmp_path / "rows.csv", tmp_path / "new.csv"
    path.write_text("self,label\n1,0\n0,1\n")
    assert read_features(path, Encoding.parse(columns=["self"])).features.tolist() == [0]
    write_with_scores(path, new, "risk", [0.5, 0.25])
    assert new.read_text() == "self,label,risk\n1,0,0.5\n0,1,0.25\n"


@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_weights_of_a_file_are_those_that_an_array_may_have(tmp_path: Path, weight: float) -> None:
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"label": [0, 1], "score": [0.1, 0.2], "weight": [0.5, weight]}), path)
    with pytest.raises(WeightError, match="between 1e-50 and 1e50"):
        count_table(path, label="label", score="score", weight="weight")
