"""Thresholds under stated costs: by search over all thresholds, against R's pROC, and in theory."""

from __future__ import annotations

import csv
import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import ScoreCounts, confusion_matrix
from confide.errors import ParameterError
from confide.metrics import calibrated_threshold, cost_threshold
from tests.random_rows import KINDS, random_rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prevalence", [None, 0.03, 0.6])
@pytest.mark.parametrize("cost_ratio", [0.1, 1.0, 3.0, 50.0])
def test_no_threshold_costs_less(kind: str, prevalence: float | None, cost_ratio: float) -> None:
    counts = random_rows(kind).counts

    def cost(threshold: float) -> float:
        return confusion_matrix(counts, threshold).expected_cost(cost_ratio, prevalence=prevalence)

    found = cost_threshold(counts, cost_ratio=cost_ratio, prevalence=prevalence)
    thresholds = [*counts.scores.tolist(), math.inf]
    least = min(cost(threshold) for threshold in thresholds)
    assert cost(found) == pytest.approx(least, rel=1e-9, abs=1e-15)
    assert all(cost(threshold) > least * (1.0 + 1e-13) for threshold in thresholds if threshold > found)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=30).filter(
        lambda rows: len({label for label, _ in rows}) == 2
    ),
    st.integers(1, 9),
)
def test_costs_row_by_row(rows: list[tuple[bool, int]], cost_ratio: int) -> None:
    labels, scores = (np.array(column) for column in zip(*rows, strict=True))

    def cost(threshold: float) -> int:
        called = scores >= threshold
        return int(cost_ratio * (labels & ~called).sum() + (~labels & called).sum())

    found = cost_threshold(ScoreCounts.from_arrays(labels, scores), cost_ratio=cost_ratio)
    every = [*set(scores.tolist()), math.inf]
    assert found == max(threshold for threshold in every if cost(threshold) == min(map(cost, every)))


# coords(roc(aSAH$outcome, aSAH$s100b), "best", best.weights = c(10, .3), ret = c("threshold", "sensitivity", ...))
@pytest.mark.parametrize(
    ("marker", "cost_ratio", "prevalence", "threshold", "sensitivity", "specificity"),
    [
        ("s100b", 1, 0.5, 0.205, 0.6341463, 0.8055556),
        ("s100b", 2, 0.2, 0.51, 0.2926829, 1.0),
        ("s100b", 10, 0.3, 0.065, 0.9756098, 0.1388889),
        ("wfns", 1, 0.5, 3.5, 0.6341463, 0.8333333),
        ("wfns", 5, 0.1, 4.5, 0.4390244, 0.9444444),
        ("wfns", 0.5, 0.36, 4.5, 0.4390244, 0.9444444),
    ],
)
def test_best_coordinates_of_proc(
    shared_data: Path,
    marker: str,
    cost_ratio: float,
    prevalence: float,
    threshold: float,
    sensitivity: float,
    specificity: float,
) -> None:
    with gzip.open(shared_data / "aSAH.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    scores = np.array([float(row[marker]) for row in rows])
    counts = ScoreCounts.from_arrays([row["outcome"] for row in rows], scores, positive="Poor")
    found = cost_threshold(counts, cost_ratio=cost_ratio, prevalence=prevalence)
    assert found == scores[scores > threshold].min()
    matrix = confusion_matrix(counts, found)
    assert (matrix.recall, matrix.specificity) == pytest.approx((sensitivity, specificity), abs=5e-8)


def test_calibrated_probabilities_reach_the_theoretical_threshold() -> None:
    """With 200,000 calibrated rows the empirical threshold costs hardly less than the theoretical one."""
    rng = np.random.default_rng(1)
    risks = np.round(rng.beta(2, 5, 200_000), 2)
    counts = ScoreCounts.from_arrays(rng.random(risks.size) < risks, risks)
    theoretical = calibrated_threshold(4)
    assert theoretical == pytest.approx(0.2)
    assert cost_threshold(counts, cost_ratio=4) == pytest.approx(theoretical, abs=0.03)
    shares = counts.prevalence, 0.6
    moved = calibrated_threshold(4, prevalence=shares[1], calibrated_at=shares[0])
    assert cost_threshold(counts, cost_ratio=4, prevalence=shares[1]) == pytest.approx(moved, abs=0.03)


def test_wrong_costs_are_refused() -> None:
    counts = ScoreCounts.from_arrays([0, 1], [0.1, 0.9])
    with pytest.raises(ParameterError, match="`cost_ratio` must be"):
        cost_threshold(counts, cost_ratio=0)
    with pytest.raises(ParameterError, match="`prevalence` must lie"):
        cost_threshold(counts, cost_ratio=1, prevalence=1)
    with pytest.raises(ParameterError, match="`calibrated_at` must lie"):
        calibrated_threshold(1, prevalence=0.2, calibrated_at=0)
    with pytest.raises(ParameterError, match="belong together"):
        calibrated_threshold(1, prevalence=0.2)
