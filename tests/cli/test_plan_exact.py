"""`confide plan --exact`: sizes of studies without privacy, JSON, and wrong combinations."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from confide.tasks.plan import plan_exact
from confide.tasks.requests.plan import TAKES, ExactPlanRequest
from tests.cli.commands import confide

AUC = ("plan", "--exact", "auc", "--auc", 0.8, "--prevalence", 0.3)
COMPARE = ("plan", "--exact", "compare", "--auc", 0.8, "--auc", 0.75, "--prevalence", 0.3)
VALIDATION = ("plan", "--exact", "validation", "--prevalence", 0.018, "--auc", 0.8)
PREDICTOR = ("--lp-mean", -5, "--lp-sd", 2.5, "--oe-width", 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*AUC, "--null", 0.7, "--power", 0.9), ("295 rows", "AUC 0.8 against 0.7 with power 0.901", "two-sided")),
        ((*AUC, "--width", 0.1), ("347 rows", "estimate AUC 0.8;", "0.100 wide")),
        ((*COMPARE, "--correlation", 0.5, "--power", 0.9), ("1,146 rows", "on the same rows with power 0.900")),
        ((*COMPARE, "--unpaired", "--rows", 900, "--one-sided"), ("2 samples of 900 rows", "one-sided")),
        ((*VALIDATION, *PREDICTOR), ("needs 4,554 rows", "calibration slope *", "4,252", "prevalence 0.0523")),
        ((*VALIDATION, "--rows", 900), ("900 rows are too few", "AUC (c-statistic)", "as AUC 0.8 and prevalence")),
        ((*VALIDATION, *PREDICTOR, "--threshold", 0.08), ("standardised net benefit *", "11,024")),
    ],
)
def test_answers(arguments: tuple[object, ...], words: tuple[str, ...]) -> None:
    answer = confide(*arguments)
    assert (answer.code, answer.err) == (0, "")
    text = " ".join(answer.out.split())
    for word in words:
        assert word in text


@pytest.mark.parametrize(
    ("arguments", "question", "terms"),
    [
        (
            (*AUC, "--power", 0.9, "--variance", "obuchowski", "--level", 0.9),
            "auc",
            {"auc": 0.8, "prevalence": 0.3, "power": 0.9, "variance": "obuchowski", "level": 0.9},
        ),
        (
            (*COMPARE, "--auc-correlation", 0.4, "--width", 0.05),
            "compare",
            {"auc": (0.8, 0.75), "prevalence": 0.3, "auc_correlation": 0.4, "width": 0.05},
        ),
        (
            (*VALIDATION, "--risk-beta", 1, 50, "--oe", 1.1),
            "validation",
            {"auc": 0.8, "prevalence": 0.018, "risk_beta": (1, 50), "oe": 1.1},
        ),
    ],
)
def test_json_is_what_python_returns(arguments: tuple[object, ...], question: str, terms: dict[str, Any]) -> None:
    plain = json.loads(confide(*arguments, "--json").out)
    assert plain["schema"] == "confide.exact_plan/1"
    assert plain == plan_exact(question, **terms).to_dict()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan", "--exact", "acu"), "Did you mean 'auc'"),
        (("plan", "--exact", "auc", "--prevalence", 0.2, "--power", 0.9), "--exact auc needs --auc"),
        (("plan", "--exact", "auc", "--auc", 0.8, "--power", 0.9), "--exact auc needs --prevalence"),
        (AUC, "give --power, or the --width"),
        ((*AUC, "--auc", 0.7, "--power", 0.9), "two are for --exact compare"),
        ((*AUC, "--rows", 100, "--power", 0.9), "--rows and --power exclude each other"),
        ((*AUC, "--threshold", 0.1), "--exact auc takes no --threshold; it belongs to --exact validation"),
        ((*AUC, "--epsilon", 1), "--epsilon is for a private plan"),
        ((*AUC, "--report", "plan.html"), "--report is for a private plan"),
        ((*COMPARE, "--power", 0.9), "needs either --correlation"),
        (("plan", "--exact", "compare", "--auc", 0.8, "--prevalence", 0.3, "--power", 0.9), "two values of --auc"),
        ((*VALIDATION, "--lp-mean", -5), "--lp-mean and --lp-sd belong together"),
        ((*VALIDATION, "--sensitivity", 0.9), "needs a --threshold"),
        (("plan", "--rows", 100, "--power", 0.9), "--power is for a plan without privacy; add --exact"),
    ],
)
def test_wrong_usage_names_flags_and_the_next_step(arguments: tuple[object, ...], message: str) -> None:
    answer = confide(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert "`" not in answer.err


def test_every_term_belongs_to_a_question() -> None:
    assert {name for names in TAKES.values() for name in names} == {one.name for one in fields(ExactPlanRequest)} - {
        "exact"
    }
