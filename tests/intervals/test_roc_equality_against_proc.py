"""Venkatraman's tests of equal ROC curves against R's pROC 1.18, and their level and power.

    d <- read.csv("heart_attack.csv")
    roc.test(roc(d$died, d$logistic, direction="<"), roc(d$died, d$age_only, direction="<"), method="venkatraman")
    # and the first 250 rows against the last, with paired=FALSE

pROC's p-values are those of 2,000 permutations, 8,000 for the first: their standard errors are below 0.012.
"""

from __future__ import annotations

import csv
import time

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.errors import ParameterError
from confide.examples import HEART_ATTACK
from confide.intervals.comparison import compare_auc
from confide.intervals.roc_equality import compare_curves, compare_curves_unpaired
from tests.intervals.test_delong_asah_against_proc import Columns, patients

Column = NDArray[np.float64]
__all__ = ["patients"]


@pytest.fixture(scope="module")
def rows() -> tuple[NDArray[np.bool_], Column, Column]:
    with HEART_ATTACK.open(newline="") as file:
        read = list(csv.DictReader(file))
    first, second = (np.array([float(row[name]) for row in read]) for name in ("logistic", "age_only"))
    return np.array([row["died"] == "1" for row in read]), first, second


def test_paired(rows: tuple[NDArray[np.bool_], Column, Column]) -> None:
    found = compare_curves(*rows, ties="first", permutations=4_000, rng=1)
    assert found.statistic == 4218
    assert found.p_value == pytest.approx(0.049, abs=0.02)
    assert found.to_dict()["method"] == "Venkatraman, paired"


@pytest.mark.parametrize(
    ("first", "second", "statistic", "p_value"), [("s100b", "ndka", 692, 0.206), ("wfns", "s100b", 578, 0.0195)]
)
def test_paired_with_ties(
    patients: tuple[list[str], Columns], first: str, second: str, statistic: float, p_value: float
) -> None:
    outcome, markers = patients
    labels = np.array(outcome) == "Poor"
    found = compare_curves(labels, markers[first], markers[second], ties="first", rng=2)
    assert found.statistic == statistic
    assert found.p_value == pytest.approx(p_value, abs=0.05)


def test_unpaired(rows: tuple[NDArray[np.bool_], Column, Column]) -> None:
    labels, first, second = rows
    for other, statistic, p_value in ((first, 0.0185953763890179, 0.4555), (second, 0.00746349216887981, 0.9965)):
        found = compare_curves_unpaired(
            (labels[:250], first[:250]), (labels[250:], other[250:]), ties="first", permutations=1_000, rng=3
        )
        assert found.statistic == pytest.approx(statistic, rel=1e-12)
        assert found.p_value == pytest.approx(p_value, abs=0.06)


def test_models_that_rank_alike_do_not_differ(rows: tuple[NDArray[np.bool_], Column, Column]) -> None:
    labels, first, _ = rows
    found = compare_curves(labels, first, np.exp(first), ties="first", permutations=100)
    assert (found.statistic, found.p_value) == (0.0, 1.0)


def test_random_ties_need_no_order_of_rows() -> None:
    labels = np.repeat([False, True], 50)
    found = compare_curves(labels, np.zeros(100), np.zeros(100), permutations=200, rng=4)
    assert found.statistic > 0.0
    assert found.p_value > 0.01
    ordered = compare_curves(labels, np.zeros(100), np.zeros(100), ties="first", permutations=200, rng=4)
    assert ordered.statistic == 0.0


def test_wrong_settings_are_refused() -> None:
    labels, scores = np.array([True, False]), np.array([0.2, 0.1])
    with pytest.raises(ParameterError, match="ties must be 'random' or 'first'"):
        compare_curves(labels, scores, scores, ties="last")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="at least 100"):
        compare_curves(labels, scores, scores, permutations=10)


def test_two_thousand_permutations_of_a_thousand_rows_take_two_seconds() -> None:
    rng = np.random.default_rng(5)
    labels = rng.random(1_000) < 0.3
    start = time.process_time()  # whatever else the machine does
    compare_curves(labels, rng.random(1_000), rng.random(1_000), permutations=2_000, rng=6)
    assert time.process_time() - start < 2.0


@pytest.mark.statistical
def test_level_and_power() -> None:
    """Curves that cross with equal areas are found; equal ones are refused as often as the level says.

    Of 60 samples a right test refuses more than 9 with probability under 2e-3, and with a power above 0.4 on the
    crossing curves fewer than 11 with probability under 2e-4. The broken twin, a test of areas, is refused there.
    """
    rng = np.random.default_rng(7)

    def scores(labels: NDArray[np.bool_], spread: float) -> Column:
        """Positives vary `spread` times as much as negatives, at the AUC that spread 1 has."""
        shift = 1.3 * np.sqrt((1.0 + spread**2) / 2.0)
        drawn: Column = rng.standard_normal(labels.size) * np.where(labels, spread, 1.0) + shift * labels
        return drawn

    for spread, low, high in ((1.0, 0, 9), (3.0, 11, 60)):
        paired = unpaired = areas = 0
        for _ in range(60):
            labels, others = rng.random(150) < 0.4, rng.random(200) < 0.3
            first, second = scores(labels, 1.0), scores(labels, spread)
            paired += compare_curves(labels, first, second, permutations=100, rng=rng).p_value < 0.05
            test = compare_curves_unpaired((labels, first), (others, scores(others, spread)), permutations=100, rng=rng)
            unpaired += test.p_value < 0.05
            areas += compare_auc(labels, first, second).p_value < 0.05
        assert low <= paired <= high
        assert low <= unpaired <= high
    assert areas < 11
