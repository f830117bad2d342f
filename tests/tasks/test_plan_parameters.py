"""`confide.plan` is what the command line prints, and its parameters are those of a release."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from confide.report.plan import release_command
from confide.tasks.plan import plan, release_parameters
from confide.tasks.release import quote_release, release
from confide.tasks.requests.release import ReleaseRequest
from tests.cli.commands import confide

USUAL: dict[str, Any] = {"rows": 400, "prevalence": 0.2, "expected": 0.8}


def test_the_command_line_prints_what_python_returns() -> None:
    answer = confide("plan", "-n", 400, "--prevalence", 0.2, "--expect", 0.8, "-e", "1/2", "-m", "recall", "--json")
    assert json.loads(answer.out) == plan("recall", epsilon="1/2", **USUAL).to_dict()


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"epsilon": 1}, "--metric auc --epsilon 1"),
        ({"epsilon": "1/2", "neighbours": "label-only"}, "--metric auc --epsilon 0.5 --neighbours label-only"),
    ],
)
def test_a_plan_gives_the_parameters_of_its_release(given: dict[str, Any], command: str) -> None:
    found = release_parameters(plan(curve=False, **USUAL, **given), prevalence=0.2)
    inspect.signature(release).bind("scores.csv", **found)
    written = release_command(found)
    assert written.startswith(f"confide release FILE --label COL --score COL {command}")
    assert written.endswith("--prevalence-guess 0.2")


def test_release_and_its_quote_show_the_fields_of_one_request() -> None:
    expected = list(inspect.signature(ReleaseRequest).parameters)
    for task in (release, quote_release):
        assert list(inspect.signature(task).parameters) == expected
        assert task.__doc__
