"""Quantiles of the largest of many normal statistics, beside Tukey's range, mvtnorm and independent statistics."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm, studentized_range

from confide.intervals.comparison import largest_normal_quantile

RELATIVE = 1e-4


def differences(variances: list[float]) -> NDArray[np.float64]:
    """Unit vectors of the differences between independent estimates; there are more of them than their rank."""
    root = np.diag(np.sqrt(variances))
    pairs = np.array([root[i] - root[j] for i, j in itertools.combinations(range(len(variances)), 2)])
    units: NDArray[np.float64] = pairs / np.linalg.norm(pairs, axis=1)[:, None]
    return units


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("models", [3, 4, 6])
def test_equal_variances_give_the_studentised_range(models: int, level: float) -> None:
    expected = studentized_range.ppf(level, models, np.inf) / np.sqrt(2)
    tolerance = 1e-7 if models == 3 else RELATIVE
    assert largest_normal_quantile(differences([1.0] * models), level) == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize("models", [8, 12])
def test_many_models(models: int) -> None:
    expected = studentized_range.ppf(0.95, models, np.inf) / np.sqrt(2)
    assert largest_normal_quantile(differences([1.0] * models), 0.95) == pytest.approx(expected, rel=RELATIVE)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_independent_statistics_have_sidaks_quantile(count: int) -> None:
    expected = norm.ppf(0.5 + 0.95 ** (1 / count) / 2)
    assert largest_normal_quantile(np.eye(count), 0.95) == pytest.approx(expected, rel=RELATIVE)


# library(mvtnorm); d <- function(v, q) { k <- length(v); A <- t(apply(combn(k, 2), 2, function(p) {
#   a <- numeric(k); a[p[1]] <- sqrt(v[p[1]]); a[p[2]] <- -sqrt(v[p[2]]); a / sqrt(sum(a^2)) })); set.seed(1)
#   m <- choose(k, 2); pmvnorm(rep(-q, m), rep(q, m), corr = A %*% t(A),
#   algorithm = GenzBretz(maxpts = 1e6, abseps = 2e-6)) }
# Its error of 1e-5 in probability moves the quantile by 4e-5 (2e-4 at 3.1, where few values lie).
@pytest.mark.parametrize(
    ("variances", "quantile", "probability", "tolerance"),
    [
        ([1.0, 4.0, 0.25], 2.3, 0.9484092227, 5e-5),
        ([1.0, 2.0, 0.1, 5.0], 2.5, 0.9469518938, RELATIVE),
        ([1.0, 2.0, 0.1, 5.0], 3.1, 0.9908300444, 3e-4),
        ([1.0, 0.01, 0.01, 3.0, 2.0], 2.4, 0.9120019139, RELATIVE),
    ],
)
def test_unequal_variances_against_mvtnorm(
    variances: list[float], quantile: float, probability: float, tolerance: float
) -> None:
    found = largest_normal_quantile(differences(variances), probability)
    assert found == pytest.approx(quantile, rel=tolerance)


def test_vectors_along_one_line_are_one_statistic() -> None:
    vectors = np.array([[0.6, 0.8], [-0.6, -0.8], [0.6, 0.8]])
    assert largest_normal_quantile(vectors, 0.95) == pytest.approx(norm.ppf(0.975), abs=1e-12)


def test_one_vector_twice_changes_nothing() -> None:
    vectors = differences([1.0, 2.0, 0.3])
    twice = np.concatenate((vectors, vectors[:1], -vectors[1:2]))
    assert largest_normal_quantile(twice, 0.9) == pytest.approx(largest_normal_quantile(vectors, 0.9), rel=1e-7)
