"""Estimates of clustered rows against R's survey and sandwich, and statsmodels.

R 4.2, clusters of four neighbouring rows:

    d <- read.csv("heart_attack.csv"); d$c <- (0:499) %/% 4
    s <- svydesign(ids=~c, weights=~1, data=d)
    svyratio(~died, ~logistic, s)                                      # and likewise recall, specificity, precision
    svymean(~b, update(s, b=(died-logistic)^2))                        # and likewise log loss and net benefit
    vcovCL(glm(died ~ qlogis(logistic), binomial, d), cluster=d$c, type="HC0")
    vcovCL(glm(died ~ 1, binomial, d, offset=qlogis(logistic)), cluster=d$c, type="HC0")
"""

from __future__ import annotations

import csv
import math
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray

from confide import ScoreCounts
from confide.errors import DataError
from confide.examples import HEART_ATTACK
from confide.intervals.clusters import Request, cluster_estimate, cluster_estimates
from confide.intervals.delong import delong_variance
from confide.intervals.influence import LINEAR_METRICS
from confide.intervals.interval import student_quantile
from confide.metrics.registry import METRICS
from tests.intervals.clustered_rows import draw_stays

AT = {"threshold": 0.3}


@pytest.fixture(scope="module")
def rows() -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.int64]]:
    with HEART_ATTACK.open(newline="") as file:
        patients = list(csv.DictReader(file))
    labels = np.array([row["died"] == "1" for row in patients])
    return labels, np.array([float(row["logistic"]) for row in patients]), np.arange(len(patients)) // 4


@pytest.mark.parametrize(
    ("metric", "options", "value", "standard_error"),
    [
        ("observed_expected", {}, 1.00116791315457, 0.0662513131557596),
        ("brier", {}, 0.15135977484438, 0.0100351777592366),
        ("log_loss", {}, 0.46732443440621, 0.0271708947308897),
        ("net_benefit", AT, 0.113428571428571, 0.0200315090833258),
        ("recall", AT, 0.681159420289855, 0.0394594785004001),
        ("specificity", AT, 0.759668508287293, 0.0232451226549884),
        ("precision", AT, 0.519337016574586, 0.0377732862883389),
        ("calibration_slope", {}, 0.890443528100248, 0.104900710482895),
        ("calibration_intercept", {}, 0.00223106661571869, 0.126513724160154),
    ],
)
def test_standard_errors_are_those_of_r(
    rows: tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.int64]],
    metric: str,
    options: dict[str, Any],
    value: float,
    standard_error: float,
) -> None:
    found = cluster_estimate(*rows, metric, **options)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert found.standard_error == pytest.approx(standard_error, rel=1e-10)
    assert value in found.known_interval


def test_calibration_slope_is_that_of_statsmodels() -> None:
    stays = draw_stays(np.random.default_rng(1), patients=80)
    log_odds = np.log(stays.scores[0] / (1.0 - stays.scores[0]))
    model = sm.GLM(stays.labels, sm.add_constant(log_odds), family=sm.families.Binomial())
    expected = model.fit(tol=1e-14, cov_type="cluster", cov_kwds={"groups": stays.patients, "use_correction": False})
    found = cluster_estimate(stays.labels, stays.scores[0], stays.patients, "calibration_slope")
    assert found.value == pytest.approx(expected.params[1], rel=1e-9)
    assert found.standard_error == pytest.approx(expected.bse[1] * math.sqrt(80 / 79), rel=1e-8)
    reach = student_quantile(79, 0.95) * (found.standard_error or math.nan)
    assert found.known_interval.upper == pytest.approx(found.value + reach)


def test_every_number_of_the_registry_has_an_interval() -> None:
    stays = draw_stays(np.random.default_rng(2), patients=120)
    requests: dict[str, Request] = {name: (name, {}) for name in METRICS}
    found = cluster_estimates(stays.labels, stays.scores[0], stays.patients, requests, replicates=100, rng=1)
    assert list(found) == list(METRICS)
    counts = ScoreCounts.from_arrays(stays.labels, stays.scores[0])
    for name, estimate in found.items():
        assert estimate.value == pytest.approx(METRICS[name](counts)), name
        method = estimate.known_interval.method
        closed = name in LINEAR_METRICS
        assert (
            method.startswith(("cluster-robust", "Obuchowski"))
            if closed
            else method == ("cluster bootstrap, percentile")
        )


def test_clusters_of_one_row_are_rows() -> None:
    stays = draw_stays(np.random.default_rng(3))
    found = cluster_estimate(stays.labels, stays.scores[0], np.arange(stays.labels.size), "auc")
    assert found.standard_error == pytest.approx(
        math.sqrt(delong_variance(ScoreCounts.from_arrays(stays.labels, stays.scores[0])))
    )
    brier = cluster_estimate(stays.labels, stays.scores[0], np.arange(stays.labels.size), "brier")
    missed = (stays.scores[0] - stays.labels) ** 2
    assert brier.standard_error == pytest.approx(np.std(missed, ddof=1) / math.sqrt(missed.size))


def test_a_part_of_the_rows_keeps_its_clusters() -> None:
    """Codes with gaps, as those of a group, give what codes without gaps give."""
    stays = draw_stays(np.random.default_rng(4))
    requests: dict[str, Request] = {name: (name, {}) for name in ("auc", "brier", "interpolated_median")}
    found, same = (
        cluster_estimates(stays.labels, stays.scores[0], codes, requests, replicates=100, rng=5)
        for codes in (stays.patients * 3, stays.patients)
    )
    assert found == same


def test_a_perfect_share_has_the_exact_interval_of_its_clusters() -> None:
    labels = np.array([True, True, True, False, False, False])
    scores = np.array([0.9, 0.8, 0.7, 0.2, 0.3, 0.1])
    found = cluster_estimate(labels, scores, np.array([0, 0, 1, 1, 2, 2]), "recall")
    assert found.known_interval.method == "exact binomial on clusters"
    assert found.known_interval.lower == pytest.approx(0.025 ** (1 / 2))  # two clusters hold positives
    assert found.known_interval.upper == 1.0


def test_one_cluster_is_refused() -> None:
    labels, scores = np.array([True, False]), np.array([0.7, 0.2])
    with pytest.raises(DataError, match="at least two clusters"):
        cluster_estimate(labels, scores, np.array([0, 0]), "brier")


def test_positives_of_one_cluster_give_auc_no_interval() -> None:
    labels, scores = np.array([True, True, False, False]), np.array([0.7, 0.1, 0.2, 0.3])
    found = cluster_estimate(labels, scores, np.array([0, 0, 1, 2]), "auc")
    assert (found.value, found.standard_error, found.interval) == (0.5, None, None)


def test_a_metric_without_value_has_no_interval() -> None:
    labels, scores = np.array([True, False, True]), np.array([0.7, 0.2, 0.1])
    found = cluster_estimate(labels, scores, np.arange(3), "precision", threshold=0.9)
    assert math.isnan(found.value)
    assert found.interval is None
