"""An evaluation warns of what its data make doubtful, and of nothing else."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import confide

RNG = np.random.default_rng(3)
LABELS = RNG.random(600) < 0.4
RISK = 1 / (1 + np.exp(-(RNG.standard_normal(600) + LABELS)))
GROUPS = np.where(np.arange(600) % 2, "a", "b")
RARE = np.where(RNG.random(600) < np.where(LABELS, 0.7, 0.4), "common", "rare")

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "few rows": ({"labels": LABELS[:40], "scores": RISK[:40]}, "fewer than 20 rows: every interval"),
    "many positives": ({"labels": ~LABELS, "scores": 1 - RISK}, "Positives outnumber negatives"),
    "whole weights": ({"weights": np.full(600, 50)}, "Rows are weighted"),
    "float weights": ({"weights": np.full(600, 1.5)}, "Rows are weighted"),
    "constant": ({"scores": np.full(600, 0.3)}, "same score"),
    "separates": ({"scores": LABELS * 0.5 + 0.2}, "separates the classes completely"),
    "reversed": ({"scores": 1 - RISK}, "ranks worse than guessing"),
    "ties": ({"scores": np.round(RISK)}, "ties many positives"),
    "percent": ({"scores": 100 * RISK}, "outside [0, 1]"),
    "zeros": ({"scores": np.where(RISK < 0.2, 0.0, RISK)}, "exactly 0 or 1"),
    "alike": ({"scores": {"a": RISK, "b": RISK**2}}, "an estimated variance of zero"),
    "prevalence": ({"groups": RARE}, "Groups differ in prevalence"),
    "one class": ({"groups": np.where(LABELS, "a", "b")}, "one class only"),
    "small group": ({"groups": np.where(np.arange(600) < 25, "small", "large")}, "Some groups have fewer than 20"),
}


def cautions(**changed: Any) -> tuple[str, ...]:
    given = {"labels": LABELS, "scores": RISK, **changed}
    return confide.evaluate(given.pop("labels"), given.pop("scores"), **given, replicates=0).warnings


@cache
def cautions_of(case: str) -> tuple[str, ...]:
    return cautions(**CASES[case][0])


def test_ordinary_data_call_for_no_caution() -> None:
    assert cautions() == ()
    assert cautions(scores={"risk": RISK, "other": RNG.permutation(RISK)}, groups=GROUPS) == ()


@pytest.mark.parametrize("case", CASES)
def test_caution(case: str) -> None:
    found, says = cautions_of(case), CASES[case][1]
    assert sum(says in text for text in found) == 1, found


@pytest.mark.parametrize("case", CASES)
def test_cautions_show_no_numbers_of_the_data(case: str) -> None:
    for text in cautions_of(case):
        assert not {"240", "360", "600", "0.3", "0.7"} & set(text.split()), text


@pytest.mark.long
def test_bands_are_doubted_only_where_they_are_drawn() -> None:
    few = confide.evaluate(LABELS[:300], RISK[:300], replicates=0)
    assert not any("band" in text for text in few.warnings)
    assert "and are too narrow" in few.to_html()
    assert "and are too narrow" not in confide.evaluate(LABELS, RISK, replicates=0).to_html()
    weighted = confide.evaluate(LABELS[:300], RISK[:300], weights=np.full(300, 1.5), replicates=0).to_html()
    assert "No bands are drawn" in weighted
    assert "and are too narrow" not in weighted


def test_one_caution_of_a_kind_names_all_its_models() -> None:
    percent = cautions(scores={"a": 100 * RISK, "b": RISK, "c": 50 * RISK[::-1], "d": 9 * RISK})
    (outside,) = (text for text in percent if "outside [0, 1]" in text)
    assert outside.startswith("a, c and d have scores outside [0, 1], which are not probabilities:")
    (single,) = (text for text in cautions(scores={"a": 100 * RISK, "b": RISK}) if "outside [0, 1]" in text)
    assert single.startswith("a has scores outside [0, 1], which are not probabilities:")


def test_a_caution_about_all_of_many_models_lists_no_names() -> None:
    many = cautions(scores={f"model {i}": RNG.permutation(RISK) * 100 for i in range(8)})
    assert sum("outside [0, 1]" in text for text in many) == 1
    assert any(text.startswith("All 8 models have scores outside [0, 1]") for text in many)


def test_differences_without_variance_share_a_caution() -> None:
    alike = [text for text in cautions(scores={"a": RISK, "b": RISK**2, "c": RISK**3}) if "variance of zero" in text]
    assert alike == [
        "The differences between a and b, a and c, and b and c have an estimated variance of zero: their intervals and "
        "p-values mean nothing."
    ]


def test_a_constant_score_has_no_other_caution() -> None:
    assert len(cautions(scores=np.full(600, 7.0))) == 1
