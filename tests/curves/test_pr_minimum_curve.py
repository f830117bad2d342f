"""The region that no model reaches: quadrature, enumeration of rankings, and the worst ranking itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import quad

import confide
from confide import ScoreCounts
from confide.curves.pr import minimum_area

PREVALENCES = (1e-9, 1e-5, 0.003, 0.05, 0.1, 1 / 3, 0.5, 0.8, 0.99, 1 - 1e-9)
RANGES = ((0.0, 1.0), (0.5, 1.0), (0.8, 1.0), (0.0, 0.01), (0.2, 0.7), (0.999, 1.0))


@pytest.mark.parametrize("prevalence", PREVALENCES)
@pytest.mark.parametrize("between", RANGES)
def test_area_by_quadrature(prevalence: float, between: tuple[float, float]) -> None:
    expected = quad(lambda r: prevalence * r / (1 - prevalence + prevalence * r), *between, epsabs=0, epsrel=1e-12)[0]
    assert minimum_area(prevalence, *between) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("prevalence", [0.003, 0.1, 0.5, 0.99])
def test_area_by_theorem_and_corollary(prevalence: float) -> None:
    whole = 1 + (1 - prevalence) * np.log(1 - prevalence) / prevalence
    assert minimum_area(prevalence) == pytest.approx(whole, abs=1e-12)
    a, b = 0.3, 0.9
    ratio = (prevalence * (a - 1) + 1) / (prevalence * (b - 1) + 1)
    part = b - a + (1 - prevalence) / prevalence * np.log(ratio)
    assert minimum_area(prevalence, a, b) == pytest.approx(part, abs=1e-12)


def test_conventions_without_one_class() -> None:
    assert minimum_area(0.0) == 0.0
    assert minimum_area(1.0) == 1.0
    assert minimum_area(1.0, 0.25, 1.0) == 0.75
    only = np.array([3]), np.array([0])
    assert confide.metrics.aucnpr_score(ScoreCounts(np.array([0.5]), *only)) == 1.0
    assert confide.metrics.aucnpr_score(ScoreCounts(np.array([0.5]), *only[::-1])) == 0.0


@pytest.mark.parametrize(("positives", "negatives"), [(1, 1), (3, 2), (2, 7), (40, 3)])
def test_the_worst_ranking_lies_on_the_curve(positives: int, negatives: int) -> None:
    worst = ScoreCounts.from_arrays([1] * positives + [0] * negatives, np.arange(positives + negatives))
    curve = confide.pr_curve(worst)
    reached = curve.recall > 0
    np.testing.assert_allclose(curve.precision[reached], curve.minimum()[reached], atol=1e-14)
    area = confide.aucpr_score(worst, estimator="interpolated_thresholds")
    assert area == pytest.approx(confide.metrics.aucpr_minimum(worst), abs=1e-13)
    assert confide.average_precision_score(worst) == pytest.approx(
        confide.metrics.average_precision_minimum(worst), abs=1e-14
    )
    assert confide.metrics.normalised_average_precision_score(worst) == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize(("positives", "negatives"), [(1, 4), (2, 3), (3, 3), (4, 2)])
def test_no_ranking_lies_below(positives: int, negatives: int) -> None:
    size = positives + negatives
    areas = []
    for places in combinations(range(size), positives):
        counts = ScoreCounts.from_arrays(np.isin(np.arange(size), places), np.arange(size))
        curve = confide.pr_curve(counts)
        assert (curve.precision >= curve.minimum() - 1e-14).all()
        areas.append(confide.average_precision_score(counts))
    assert min(areas) == pytest.approx(confide.metrics.average_precision_minimum(counts), abs=1e-14)
    assert max(areas) == 1.0


def test_published_values() -> None:
    """Section 3.4: the gender predicate ranges over [0.31, 1] and genre over [0.02, 1]; at 0.1 about 0.05."""
    assert [round(minimum_area(pi), 2) for pi in (0.5, 0.1)] == [0.31, 0.05]


def test_aucnpr_between_worst_and_best() -> None:
    labels = [0, 1, 0, 1, 1, 0, 0, 1]
    counts = ScoreCounts.from_arrays(labels, np.arange(8))
    least = 1 + 0.5 * np.log(0.5) / 0.5
    assert confide.metrics.aucnpr_score(counts) == pytest.approx(
        (confide.average_precision_score(counts) - least) / (1 - least), abs=1e-13
    )
    part = confide.metrics.aucnpr_score(counts, estimator="interpolated_median", recall=(0.25, 0.75))
    least = minimum_area(0.5, 0.25, 0.75)
    area = confide.aucpr_score(counts, estimator="interpolated_median", recall=(0.25, 0.75))
    assert part == pytest.approx((area - least) / (0.5 - least), abs=1e-13)
