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
    return confide.evaluate(given.pop("labels"), given.pop("scores"), **given).warnings


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


@pytest.mark.slow
def test_bands_are_doubted_only_where_they_are_drawn() -> None:
    few = confide.evaluate(LABELS[:300], RISK[:300])
    assert not any("band" in text for text in few.warnings)
    assert "and are too narrow" in few.to_html()
    assert "and are too narrow" not in confide.evaluate(LABELS, RISK).to_html()
    weighted = confide.evaluate(LABELS[:300], RISK[:300], weights=np.full(300, 1.5)).to_html()
    assert "No bands are drawn" in weighted
    assert "and are too narrow" not in weighted
