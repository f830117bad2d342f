"""Evaluations repeat themselves: the order of rows does not matter, and seeds decide the replicates alone."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import confide
from confide.evaluation.evaluation import Evaluation
from tests.evaluation.design_rows import CLUSTERS, FIRST, LABELS, PLACES, SECOND, SIZE


def undated(evaluation: Evaluation) -> dict[str, Any]:
    plain = evaluation.to_dict()
    assert plain["provenance"].pop("date")
    return plain


def differing(found: Any, expected: Any, place: str = "") -> list[str]:
    """Return the places at which two documents differ by more than rounding."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        return [text for key in expected for text in differing(found[key], expected[key], f"{place}.{key}")]
    if isinstance(expected, list):
        assert len(found) == len(expected), place
        return [text for i, one in enumerate(expected) for text in differing(found[i], one, f"{place}[{i}]")]
    if isinstance(expected, float) and isinstance(found, float):
        return [] if math.isclose(found, expected, rel_tol=1e-7, abs_tol=1e-10) else [f"{place}: {found} {expected}"]
    return [] if found == expected else [f"{place}: {found} {expected}"]


PERMUTED: dict[str, dict[str, Any]] = {
    "rows": {},
    "bootstrap": {"interval": "bootstrap"},
    "weights": {"weights": 1 + PLACES % 3},
    "sampling weights": {"survey_weights": 0.5 + PLACES % 3},
    "sampled clusters": {"survey_weights": 0.5 + PLACES % 3, "clusters": CLUSTERS},
    "groups": {"groups": PLACES % 3},
    "clusters": {"clusters": CLUSTERS, "groups": PLACES % 3},
    "folds": {"folds": PLACES % 4},
    "imputed": {"imputed": {"m": ["a", "b"]}},
}


@pytest.mark.few(1)
@pytest.mark.parametrize("design", PERMUTED)
def test_the_order_of_rows_does_not_matter(design: str) -> None:
    order = np.random.default_rng(5).permutation(SIZE)
    given = PERMUTED[design]
    moved: dict[str, Any] = {
        name: each[order] if isinstance(each, np.ndarray) else each for name, each in given.items()
    }
    settings: dict[str, Any] = {"replicates": 100, "thresholds": [0.3], "specificity": (0.8, 1.0)}
    if design == "folds":  # replicates redraw rows by their place
        settings["replicates"] = 0
    first = confide.evaluate(LABELS, {"a": FIRST, "b": SECOND}, **given, **settings)
    second = confide.evaluate(LABELS[order], {"a": FIRST[order], "b": SECOND[order]}, **moved, **settings)
    assert not differing(undated(second), undated(first))


@pytest.mark.few(1)
@pytest.mark.parametrize("design", PERMUTED)
def test_the_same_call_gives_the_same_json(design: str) -> None:
    scores = {"a": FIRST, "b": SECOND}
    first, second = (confide.evaluate(LABELS, scores, **PERMUTED[design], replicates=100) for _ in range(2))
    assert json.dumps(undated(first)) == json.dumps(undated(second))


@pytest.mark.parametrize("design", ["rows", "clusters", "folds"])
def test_another_seed_gives_other_replicates(design: str) -> None:
    thresholds = [
        confide.evaluate(LABELS, FIRST, **PERMUTED[design], replicates=100, seed=seed).models[0].youden.threshold
        for seed in (0, 1)
    ]
    assert thresholds[0].value == thresholds[1].value
    assert thresholds[0].standard_error != thresholds[1].standard_error
