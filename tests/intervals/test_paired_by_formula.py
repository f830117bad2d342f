"""Differences between models on the same rows: paired z-test, DeLong, and the bootstrap as oracles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from confide import ScoreCounts
from confide.errors import DataError, ParameterError
from confide.intervals.clusters import ClusteredScores, cluster_replicates, compare_aucs_clustered
from confide.intervals.comparison import Comparison, compare_aucs
from confide.intervals.differences import compare_models, influence_covariance
from confide.intervals.influence import linearise
from confide.metrics.registry import METRICS
from tests.intervals.clustered_rows import Stays, draw_stays

Losses = NDArray[np.float64]


def named(stays: Stays) -> dict[str, NDArray[np.float64]]:
    return {f"model {i}": scores for i, scores in enumerate(stays.scores)}


def losses(stays: Stays, metric: str) -> list[Losses]:
    """Return each model's loss, or gain, of each row."""
    found = []
    for score in stays.scores:
        if metric == "brier":
            found.append((score - stays.labels) ** 2)
        elif metric == "log_loss":
            found.append(-np.where(stays.labels, np.log(score), np.log(1.0 - score)))
        else:  # net benefit at 0.2
            found.append(np.where(score >= 0.2, np.where(stays.labels, 1.0, -0.25), 0.0))
    return found


@pytest.mark.parametrize("metric", ["brier", "log_loss", "net_benefit"])
def test_means_have_the_paired_z_test(metric: str) -> None:
    stays = draw_stays(np.random.default_rng(1), models=2)
    first, second = losses(stays, metric)
    gap = first - second
    error = np.std(gap, ddof=1) / math.sqrt(gap.size)
    options: dict[str, Any] = {"threshold": 0.2} if metric == "net_benefit" else {}
    (found,) = compare_models(stays.labels, named(stays), metric, **options)
    assert (found.first, found.second, found.metric) == ("model 0", "model 1", metric)
    assert found.threshold == options.get("threshold")
    assert found.difference == pytest.approx(gap.mean(), abs=1e-14)
    assert found.standard_error == pytest.approx(error, rel=1e-12)
    assert found.z == pytest.approx(gap.mean() / error, rel=1e-9)
    assert found.p_value == pytest.approx(2.0 * norm.sf(abs(gap.mean() / error)), rel=1e-9)
    assert found.interval.lower == pytest.approx(gap.mean() - norm.ppf(0.975) * error)
    assert found.interval.method == "paired normal"


def test_clusters_are_added_up_first() -> None:
    stays = draw_stays(np.random.default_rng(2), models=2)
    first, second = losses(stays, "brier")
    gap = first - second
    sums = [float(np.sum(gap[stays.patients == p] - gap.mean())) for p in range(60)]
    error = math.sqrt(60 / 59 * sum(s**2 for s in sums)) / gap.size
    (found,) = compare_models(stays.labels, named(stays), "brier", clusters=stays.patients)
    assert found.standard_error == pytest.approx(error, rel=1e-12)
    assert found.interval.method == "paired cluster-robust, t"


def test_auc_is_compared_by_its_own_tests() -> None:
    stays = draw_stays(np.random.default_rng(3), models=3)
    assert compare_models(stays.labels, named(stays), "auc") == compare_aucs(stays.labels, named(stays)).differences
    assert (
        compare_models(stays.labels, named(stays), "auc", clusters=stays.patients)
        == compare_aucs_clustered(stays.labels, named(stays), stays.patients).differences
    )


def test_ratios_are_compared_by_their_logarithm() -> None:
    stays = draw_stays(np.random.default_rng(4), models=2)
    (found,) = compare_models(stays.labels, named(stays), "observed_expected")
    totals = [float(score.sum()) for score in stays.scores]
    assert found.contrast == "log ratio"
    assert found.difference == pytest.approx(math.log(totals[1] / totals[0]))  # the number observed is the same


def test_weights_repeat_rows() -> None:
    stays = draw_stays(np.random.default_rng(5), models=2)
    times = np.arange(stays.labels.size) % 3 + 1
    repeated = {name: np.repeat(score, times) for name, score in named(stays).items()}
    for metric in ("average_precision", "brier", "calibration_slope", "interpolated_median"):
        weighted = compare_models(stays.labels, named(stays), metric, weights=times, replicates=100, rng=1)
        written = compare_models(np.repeat(stays.labels, times), repeated, metric, replicates=100, rng=1)
        assert values(weighted) == pytest.approx(values(written), rel=1e-6), metric


def values(found: tuple[Comparison, ...]) -> tuple[float, ...]:
    return tuple(value for each in found for value in (each.difference, each.standard_error, each.interval.lower))


def test_simultaneous_intervals_are_wider() -> None:
    stays = draw_stays(np.random.default_rng(6), models=3)
    found = compare_models(stays.labels, named(stays), "average_precision", clusters=stays.patients)
    assert [(each.first, each.second) for each in found] == [
        ("model 0", "model 1"),
        ("model 0", "model 2"),
        ("model 1", "model 2"),
    ]
    for each in found:
        assert each.simultaneous is not None
        assert 1.1 < each.simultaneous.width / each.interval.width < 1.4


def test_other_metrics_are_redrawn() -> None:
    stays = draw_stays(np.random.default_rng(7), models=2)
    (found,) = compare_models(stays.labels, named(stays), "interpolated_median", replicates=200, rng=8)
    first, second = (
        METRICS["interpolated_median"](ScoreCounts.from_arrays(stays.labels, score)) for score in stays.scores
    )
    assert found.difference == pytest.approx(first - second)
    assert found.z == pytest.approx(found.difference / found.standard_error)
    assert found.p_value == pytest.approx(2.0 * norm.sf(abs(found.z)))
    rows = np.arange(stays.labels.size)
    prepared = [ClusteredScores.prepare(stays.labels, score, rows) for score in stays.scores]
    drawn = cluster_replicates(prepared, {"m": METRICS["interpolated_median"]}, rows.size, replicates=200, rng=8)["m"]
    assert found.interval.lower == pytest.approx(np.quantile(drawn[0] - drawn[1], 0.025))
    assert found.interval.method == "paired bootstrap, percentile"
    (clustered,) = compare_models(
        stays.labels, named(stays), "interpolated_median", clusters=stays.patients, replicates=200, rng=8
    )
    assert clustered.interval.method == "paired cluster bootstrap, percentile"


def test_a_model_against_itself() -> None:
    stays = draw_stays(np.random.default_rng(9))
    (found,) = compare_models(stays.labels, {"a": stays.scores[0], "b": stays.scores[0]}, "average_precision")
    assert (found.difference, found.z, found.p_value) == (0.0, 0.0, 1.0)


def test_plain_data_name_metric_and_threshold() -> None:
    stays = draw_stays(np.random.default_rng(10), models=2)
    (found,) = compare_models(stays.labels, named(stays), "recall", threshold=0.3)
    plain = found.to_dict()
    assert (plain["metric"], plain["threshold"], plain["contrast"]) == ("recall", 0.3, "difference")
    (default,) = compare_models(stays.labels, named(stays), "recall")
    assert default.threshold == 0.5


def test_wrong_input_is_refused() -> None:
    labels, scores = [0, 1, 1], {"a": [0.1, 0.5, 0.4], "b": [0.3, 0.2, 0.1]}
    with pytest.raises(ParameterError, match="two or more models"):
        compare_models(labels, {"a": scores["a"]}, "brier")
    with pytest.raises(ParameterError, match="float weights"):
        compare_models(labels, scores, "interpolated_median", weights=[0.5, 1.5, 1.0])
    with pytest.raises(DataError, match="at least two rows"):
        influence_covariance(np.zeros((1, 3)), np.zeros(3, dtype=np.int64))


@pytest.mark.statistical
def test_average_precision_is_compared_at_its_level() -> None:
    """500 samples of 250 rows of equally good models; Binomial(500, 0.05) exceeds 0.085 with probability under 5e-4.

    The twin takes the models for independent; their scores agree, so it hardly ever refuses: under 0.015, where the
    right test falls with probability under 1e-4.
    """
    rng = np.random.default_rng(11)
    refused = twin = 0
    for _ in range(500):
        labels = rng.random(250) < 0.2
        shared = rng.standard_normal(250) + 1.2 * labels
        scores = {name: shared + 0.5 * rng.standard_normal(250) for name in "ab"}
        (found,) = compare_models(labels, scores, "average_precision")
        refused += found.p_value < 0.05
        each = [linearise("average_precision", labels, score).influence for score in scores.values()]
        twin += abs(found.difference) > 1.96 * math.sqrt(sum(np.sum(influence**2) for influence in each))
    assert 0.015 < refused / 500 < 0.085
    assert twin / 500 < 0.015
