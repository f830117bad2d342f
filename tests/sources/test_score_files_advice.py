"""Messages about a file of scores name what the file has, and the likely mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from confide.errors import SubmissionError
from confide.sources.submissions import IdIndex, read_scores

IDS = ("a", "b", "c")


def problem(tmp_path: Path, text: str, *, probabilities: bool = False) -> str:
    file = tmp_path / "scores.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SubmissionError) as refused:
        read_scores(file, "csv", IdIndex(IDS), probabilities=probabilities)
    return str(refused.value)


def test_a_column_that_is_not_there_lists_those_that_are(tmp_path: Path) -> None:
    said = problem(tmp_path, "id,prediction,fold\na,1,1\nb,2,1\nc,3,1\n")
    assert said.startswith("the file has no column 'score'")
    assert said.endswith("the file has 'id', 'prediction', 'fold'")
    wide = ",".join(f"x{place}" for place in range(20))
    assert problem(tmp_path, f"id,{wide}\n").endswith("'x8' and 11 more")


@pytest.mark.parametrize(
    ("scores", "percentages"),
    [((12, 0.5, 100), True), ((12, -1, 3), False), ((1.01, 0, 1), False), ((101, 5, 6), False)],
)
def test_percentages_are_recognised(tmp_path: Path, scores: tuple[float, ...], percentages: bool) -> None:
    text = "id,score\n" + "".join(f"{one},{score}\n" for one, score in zip(IDS, scores, strict=True))
    said = problem(tmp_path, text, probabilities=True)
    assert ("divide percentages by 100" in said) is percentages
    assert "outside 0 to 1" in said
