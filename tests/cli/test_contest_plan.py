"""`confide contest plan`: a table, JSON, a page, and refusals; nothing is read and nothing is spent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from confide.tasks.contest import plan_contest, planned_repetitions
from confide.tasks.requests.contest import ContestPlanRequest
from tests.cli.commands import confide

USUAL = (
    "contest", "plan", "--rows", 600, "--prevalence", 0.3, "--answers", 40, "--epsilon", 2, "--teams", 8,
    "--repetitions", 3,
)  # fmt: skip


def test_the_table_compares_exact_and_masked_labels() -> None:
    answer = confide(*USUAL)
    assert answer.code == 0
    words = (
        "exact labels", "epsilon 1 ", "epsilon 2 *", "epsilon 4 ", "Kendall tau", "price in rows", "all can be read",
        "88.1 %", "Ladder, promises nothing", "600 rows", "3 simulated contests",
    )  # fmt: skip
    for word in words:
        assert word in " ".join(answer.out.split())
    assert answer.err == "simulating 3 contests\n"


def test_json_is_what_the_task_returns() -> None:
    answer = confide(*USUAL, "--seed", 4, "--json")
    plan = plan_contest(rows=600, prevalence=0.3, answers=40, epsilon="2", teams=8, repetitions=3, seed=4)
    assert json.loads(answer.out) == plan.to_dict()


def test_a_final_has_a_table_of_its_own() -> None:
    answer = confide(*USUAL, "--public", 0.5, "--final-epsilon", 1, "--final-delta", "1e-6", "--finalists", 4)
    assert answer.code == 0
    assert "What the final will be worth" in answer.out
    assert "shaped, epsilon 1, delta 1e-06" in answer.out


def test_rare_positives_are_advised_a_larger_epsilon() -> None:
    assert "a larger epsilon or more rows would help" in " ".join(confide(*USUAL, "--prevalence", 0.02).out.split())


def test_the_report_is_one_page_with_a_picture(tmp_path: Path) -> None:
    answer = confide(*USUAL, "--report", tmp_path / "plan.html")
    assert answer.code == 0
    page = (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<script" not in page
    for word in ("Plan for a contest", "<svg", "Kendall tau with the true order", "What was assumed"):
        assert word in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (("--epsilon", 0), "epsilon must be greater than 0"),
        (("--prevalence", 2), "--prevalence"),
        (("--metric", "aucc"), "Did you mean 'auc'"),
        (("--final-epsilon", 1), "--public"),
        (("--threshold", 0.3), "--threshold"),
    ],
)
def test_refusals_name_the_flag(changes: tuple[object, ...], message: str) -> None:
    answer = confide(*USUAL, *changes)
    assert answer.code == 2
    assert message in answer.err
    assert answer.out == ""


def test_the_bar_counts_what_the_task_simulates() -> None:
    request = ContestPlanRequest(rows=10_000, prevalence=0.3, answers=1_000, epsilon=1)
    assert planned_repetitions(replace(request, public=1.0)) == 6
    assert planned_repetitions(replace(request, public=0.5)) == 12
    assert planned_repetitions(replace(request, public=0.5, repetitions=7)) == 7
