"""`confide plan`: tables, JSON, a page, and exit codes; nothing is read and nothing is spent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import confide
from tests.cli.test_lightness import loaded_by, run_cli

USUAL = ("plan", "--rows", 1_000, "--prevalence", 0.2, "--expect", 0.8)


def test_the_table_shows_every_mechanism() -> None:
    answer = confide(*USUAL, "--epsilon", 1)
    assert answer.code == 0
    assert "confide release FILE --label COL --score COL --metric" in answer.err
    for word in ("local *", "student-t", "published-cauchy", "times sampling", "auto takes local"):
        assert word in answer.out
    assert "published-laplace is left out" in answer.out
    assert "Epsilon needed" not in answer.out


@pytest.mark.long
def test_a_width_alone_finds_the_epsilon() -> None:
    answer = confide(*USUAL, "--width", 0.1)
    assert answer.code == 0
    assert "Epsilon needed for an interval of width 0.1" in answer.out


def test_a_width_below_that_of_sampling_is_said_to_be_out_of_reach() -> None:
    answer = confide(*USUAL, "--width", 0.02)
    assert answer.code == 0
    assert "sampling alone" in answer.out
    assert "none" in answer.out


def test_json_has_the_schema() -> None:
    answer = confide(*USUAL, "--epsilon", 1, "--width", 0.1, "--json")
    plain = json.loads(answer.out)
    assert plain["schema"] == "confide.plan/1"
    assert plain["auto"] == plain["recommended"] == "local"
    first = plain["mechanisms"][0]
    assert first["mechanism"] == "local"
    assert 0.0 < first["mean_absolute_error"] < first["sample_width"] < first["population_width"] < 0.2
    assert first["population_needs"]["relation"] == "about"
    assert first["curve"][0]["epsilon"] == 0.01


def test_the_report_is_one_page_with_a_picture(tmp_path: Path) -> None:
    answer = confide(*USUAL, "--epsilon", 1, "--report", tmp_path / "plan.html")
    assert answer.code == 0
    assert "plan.html" in answer.err
    page = (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "Content-Security-Policy" in page
    assert "<script" not in page
    for word in ("Epsilon (smaller is more private)", "sampling alone", "no budget was spent", "local"):
        assert word in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rows", 1_000), "give epsilon"),
        (("--rows", 1, "--epsilon", 1), "rows must be"),
        (("--rows", 1_000, "--epsilon", -1), "epsilon must be greater than 0"),
        (("--rows", 1_000, "--epsilon", 1, "--metric", "acu"), "Did you mean 'auc'"),
        (("--rows", 1_000, "--epsilon", 1, "--prevalence", 2), "prevalence"),
        (("--rows", 1_000, "--epsilon", 1, "--expect", 7), "expected must be"),
        (("--rows", 1_000, "--epsilon", 1, "--report", "plan.pdf"), "must end in .html"),
        (("--epsilon", 1), "--rows"),
    ],
)
def test_wrong_usage_is_one_clear_line_and_code_2(arguments: tuple[object, ...], message: str) -> None:
    answer = confide("plan", *arguments)
    assert answer.code == 2
    assert message in answer.err
    assert answer.out == ""


@pytest.mark.processes
def test_help_has_examples_and_loads_nothing_heavy() -> None:
    answer = confide("plan", "--help")
    assert answer.code == 0
    assert "confide plan --rows 1000" in answer.out
    assert loaded_by(run_cli("plan", "--help")) == set()
