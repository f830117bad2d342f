"""Tests between AUCs from their formulas: joint chi-squared, unpaired Welch, simultaneous quantile."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, norm, studentized_range, t

import confide
from confide import ScoreCounts
from tests.intervals.test_delong_by_definition import covariance_by_pairs, rows

TOLERANCE = 1e-9


def test_joint_test_of_four_models() -> None:
    labels, models = rows(1, 1, models=4, size=120)
    aucs, covariance = covariance_by_pairs(labels, models)
    # Any three independent contrasts give the same statistic: neighbours here, the first model elsewhere.
    contrasts = np.eye(4)[:3] - np.eye(4)[1:]
    gaps = contrasts @ aucs
    expected = gaps @ np.linalg.inv(contrasts @ covariance @ contrasts.T) @ gaps
    found = confide.intervals.compare_aucs(labels, {f"model {i}": scores for i, scores in enumerate(models)})
    assert found.chi_squared == pytest.approx(expected, abs=TOLERANCE)
    assert found.degrees_of_freedom == 3
    assert found.p_value == pytest.approx(chi2.sf(expected, 3), abs=TOLERANCE)
    np.testing.assert_allclose(found.aucs, aucs, atol=1e-12)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-12)
    assert [(pair.first, pair.second) for pair in found.differences] == [
        (f"model {i}", f"model {j}") for i in range(4) for j in range(i + 1, 4)
    ]


def test_two_models_have_one_test() -> None:
    labels, models = rows(2, None, models=2)
    found = confide.intervals.compare_aucs(labels, {"first": models[0], "second": models[1]})
    assert found.chi_squared == pytest.approx(found.differences[0].z ** 2, abs=TOLERANCE)
    assert found.p_value == pytest.approx(found.differences[0].p_value, abs=TOLERANCE)
    assert found.differences[0].simultaneous is None


def test_a_repeated_model_costs_a_degree_of_freedom() -> None:
    labels, models = rows(3, None, models=2)
    found = confide.intervals.compare_aucs(
        labels, {"first": models[0], "again": 2 * models[0] + 1, "second": models[1]}
    )
    alone = confide.intervals.compare_aucs(labels, {"first": models[0], "second": models[1]})
    assert found.degrees_of_freedom == 1
    assert found.chi_squared == pytest.approx(alone.chi_squared, rel=1e-6)
    same = found.differences[0]
    assert (same.difference, same.z, same.p_value) == pytest.approx((0.0, 0.0, 1.0), abs=1e-12)


def test_certain_difference_is_significant_in_both_tests() -> None:
    """One model separates the classes, the other separates them the wrong way: no variance and a gap of 1."""
    found = confide.intervals.compare_aucs(
        [0, 0, 0, 1, 1, 1], {"right": [1, 2, 3, 4, 5, 6], "wrong": [6, 5, 4, 3, 2, 1]}
    )
    assert found.differences[0].p_value == 0.0
    assert found.p_value == 0.0


@pytest.mark.long
def test_nearly_equal_models_are_not_certainly_different() -> None:
    """One positive passes four negatives of 100,000: next to no variance, but a gap that is as small."""
    rng = np.random.default_rng(0)
    labels = np.repeat([1, 0], [1_000, 100_000])
    ranks = rng.permutation(labels.size).astype(np.float64)
    moved = ranks.copy()
    moved[np.argmin(np.abs(ranks[:1_000] - 50_000))] += 5.5
    found = confide.intervals.compare_aucs(labels, {"first": ranks, "second": moved})
    assert 0.2 < found.differences[0].p_value < 0.8
    assert found.p_value == pytest.approx(found.differences[0].p_value, rel=1e-3)


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_paired_interval(level: float) -> None:
    labels, models = rows(4, 1, models=2)
    aucs, covariance = covariance_by_pairs(labels, models)
    error = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    found = confide.compare_auc(labels, *models, level=level)
    assert found.difference == pytest.approx(aucs[0] - aucs[1], abs=1e-12)
    assert found.standard_error == pytest.approx(error, abs=1e-12)
    assert found.interval.width == pytest.approx(2 * norm.ppf(0.5 + level / 2) * error, abs=1e-12)


def test_unpaired_test_is_welchs() -> None:
    parts = [rows(5, 1, size=60), rows(6, None, size=90)]
    values = [covariance_by_pairs(labels, models) for labels, models in parts]
    (a1,), ((v1,),) = values[0]
    (a2,), ((v2,),) = values[1]
    degrees = (v1 + v2) ** 2 / (v1**2 / (60 - 1) + v2**2 / (90 - 1))
    statistic = (a1 - a2) / np.sqrt(v1 + v2)
    counts = [ScoreCounts.from_arrays(labels, models[0]) for labels, models in parts]
    found = confide.intervals.compare_auc_unpaired(counts[0], counts[1], level=0.9)
    assert found.z == pytest.approx(statistic, abs=TOLERANCE)
    assert found.p_value == pytest.approx(2 * t.sf(abs(statistic), degrees), abs=TOLERANCE)
    assert found.interval.width == pytest.approx(2 * t.ppf(0.95, degrees) * np.sqrt(v1 + v2), abs=TOLERANCE)


def exchangeable_models(models: int) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """Rows that stay the same when models are exchanged, so all variances and all covariances are equal."""
    rng = np.random.default_rng(models)
    labels = np.arange(40) % 2
    base = rng.normal(size=(40, models)) + labels[:, None]
    orders = list(permutations(range(models)))
    rows_of = np.concatenate([base[:, order] for order in orders])
    return np.tile(labels, len(orders)), {f"model {i}": rows_of[:, i] for i in range(models)}


@pytest.mark.parametrize("models", [3, 4])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_simultaneous_quantile_is_tukeys(models: int, level: float) -> None:
    """Equal variances and covariances: max |z| is the studentised range over sqrt 2 (Tukey)."""
    found = confide.intervals.compare_aucs(*exchangeable_models(models), level=level)
    expected = studentized_range.ppf(level, models, np.inf) / np.sqrt(2)
    for pair in found.differences:
        assert pair.simultaneous is not None
        assert pair.simultaneous.width / (2 * pair.standard_error) == pytest.approx(expected, rel=1e-4)
        assert pair.simultaneous.lower < pair.interval.lower < pair.interval.upper < pair.simultaneous.upper


def test_the_same_rows_give_the_same_simultaneous_intervals() -> None:
    labels, models = exchangeable_models(3)
    first, second = (confide.intervals.compare_aucs(labels, models) for _ in range(2))
    assert first == second
