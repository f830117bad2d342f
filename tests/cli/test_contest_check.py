"""`confide contest check` and `publish` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from confide.contest.template import Template
from tests.cli.commands import confide

IDS = ("a", "b", "c")


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "template.json"
    path.write_text(Template(contest="heart", ids=IDS, probabilities=True).to_json())
    return path


def test_a_file_that_fits(template: Path) -> None:
    Path("scores.csv").write_text("id,score\nc,0.5\na,0.25\nb,0.75\n")
    answer = confide("contest", "check", template, "scores.csv")
    assert (answer.code, answer.err) == (0, "")
    assert "scores.csv fits contest heart: 3 rows, in another order than the template, which is fine." in answer.out
    assert "Scores lie between 0.25 and 0.75; 3 are distinct." in answer.out
    plain = json.loads(confide("contest", "check", template, "scores.csv", "--json").out)
    assert plain == {
        "schema": "confide.contest-check/1",
        "contest": "heart",
        "fits": True,
        "rows": 3,
        "problems": [],
        "in_order": False,
        "lowest": 0.25,
        "highest": 0.75,
        "distinct": 3,
    }


def test_equal_scores_are_a_remark(template: Path) -> None:
    Path("scores.csv").write_text("id,score\na,0.5\nb,0.5\nc,0.5\n")
    answer = confide("contest", "check", template, "scores.csv")
    assert answer.code == 0
    assert "in the order of the template" in answer.out
    assert "All scores are equal" in answer.out


def test_a_file_that_does_not_fit(template: Path) -> None:
    Path("scores.csv").write_text("id,score\na,0.5\nb,1.5\nb,nan\n")
    answer = confide("contest", "check", template, "scores.csv")
    assert (answer.code, answer.err) == (1, "")
    said = " ".join(answer.out.split())
    assert "scores.csv does not fit contest heart, whose template has 3 rows:" in said
    assert "1 id occurs more than once: 'b'; keep one row for each id." in said
    assert "1 id is missing: 'c'; score every id of the template." in said
    assert "at id 'b'; give every id a finite number." in said
    assert "outside 0 to 1" in said
    described = confide("contest", "check", template, "scores.csv", "--json")
    assert described.code == 1
    codes = [problem["code"] for problem in json.loads(described.out)["problems"]]
    assert codes == ["repeated-ids", "missing-ids", "not-a-number", "out-of-range"]


@pytest.mark.parametrize(
    ("template_file", "scores", "code", "words"),
    [
        ("none.json", "scores.csv", 2, "give the organiser's file template.json"),
        ("scores.csv", "scores.csv", 2, "not a contest's template"),
        ("template.json", "none.csv", 2, "none.csv cannot be read"),
        ("template.json", "scores.txt", 2, "the ending must be .csv"),
    ],
)
def test_wrong_usage(template: Path, template_file: str, scores: str, code: int, words: str) -> None:
    Path("scores.csv").write_text("id,score\na,0.5\n")
    answer = confide("contest", "check", template_file, scores)
    assert (answer.code, answer.out) == (code, "")
    assert words in answer.err
