"""Cross-validated AUC by its published definition, and means over folds of other metrics."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from confide import ScoreCounts
from confide.errors import DataError, ParameterError
from confide.intervals.clusters import cluster_estimate
from confide.intervals.folds import cross_validated_auc, fold_estimate
from confide.metrics.registry import METRICS
from tests.intervals.clustered_rows import draw_stays

Column = NDArray[np.float64]


def definition(labels: NDArray[np.bool_], scores: Column, folds: NDArray[np.int64]) -> tuple[float, float]:
    """Return cross-validated AUC and standard error as ci.cvAUC of R's cvAUC defines them, by loops."""
    rows = list(zip(labels.tolist(), scores.tolist(), folds.tolist(), strict=True))
    total, share = len(rows), sum(label for label, _, _ in rows) / len(rows)
    aucs, curves = [], []
    for fold in sorted(set(folds.tolist())):
        ours = [s for label, s, f in rows if f == fold and label]
        theirs = [s for label, s, f in rows if f == fold and not label]
        beats = [[(x > y) + 0.5 * (x == y) for y in theirs] for x in ours]
        auc = sum(map(sum, beats)) / (len(ours) * len(theirs))
        curve = [(sum(line) / len(theirs) - auc) / share for line in beats]
        curve += [(sum(line[j] for line in beats) / len(ours) - auc) / (1.0 - share) for j in range(len(theirs))]
        aucs.append(auc)
        curves.append(sum(c**2 for c in curve) / len(curve))
    return sum(aucs) / len(aucs), math.sqrt(sum(curves) / len(curves) / total)


def rows(seed: int, decimals: int | None = None) -> tuple[NDArray[np.bool_], Column, NDArray[np.int64]]:
    """Draw rows of five uneven folds, whose models' scores have different levels."""
    rng = np.random.default_rng(seed)
    stays = draw_stays(rng, patients=80, decimals=decimals)
    folds = rng.choice(5, size=stays.labels.size, p=[0.3, 0.25, 0.15, 0.15, 0.15])
    return stays.labels, stays.scores[0] + 10.0 * folds, folds


@pytest.mark.parametrize("decimals", [None, 1])
def test_cross_validated_auc_is_that_of_the_definition(decimals: int | None) -> None:
    labels, scores, folds = rows(1, decimals)
    value, error = definition(labels, scores, folds)
    found = cross_validated_auc(labels, scores, folds, transform="none")
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.standard_error == pytest.approx(error, rel=1e-12)
    assert found.known_interval.lower == pytest.approx(value - norm.ppf(0.975) * error)
    assert found.known_interval.method == "cross-validated AUC"
    assert cross_validated_auc(labels, scores, folds).known_interval.method == "cross-validated AUC, logit"


def test_levels_of_folds_do_not_matter() -> None:
    labels, scores, folds = rows(2)
    moved = cross_validated_auc(labels, scores - 7.0 * folds, folds)
    assert moved.value == pytest.approx(cross_validated_auc(labels, scores, folds).value)
    pooled = METRICS["auc"](ScoreCounts.from_arrays(labels, scores))
    assert abs(pooled - moved.value) > 0.1


def test_weights_repeat_rows() -> None:
    labels, scores, folds = rows(3)
    times = np.arange(labels.size) % 3 + 1
    label, score, fold = np.repeat(labels, times), np.repeat(scores, times), np.repeat(folds, times)
    for found, same in (
        (cross_validated_auc(labels, scores, folds, weights=times), cross_validated_auc(label, score, fold)),
        (
            fold_estimate(labels, scores % 10.0, folds, "brier", weights=times),
            fold_estimate(label, score % 10.0, fold, "brier"),
        ),
    ):
        assert found.value == pytest.approx(same.value)
        assert found.standard_error == pytest.approx(same.standard_error)


def test_clusters_of_one_row_are_rows_but_for_the_factor() -> None:
    labels, scores, folds = rows(4)
    size = labels.size
    plain = cross_validated_auc(labels, scores, folds)
    found = cross_validated_auc(labels, scores, folds, codes=np.arange(size))
    assert found.standard_error == pytest.approx((plain.standard_error or math.nan) * math.sqrt(size / (size - 1)))
    together = cross_validated_auc(labels, scores, folds, codes=np.arange(size) // 2)
    assert together.standard_error != pytest.approx(plain.standard_error, rel=1e-6)


def test_mean_over_folds() -> None:
    labels, scores, folds = rows(5)
    risks = scores % 10.0
    parts = [ScoreCounts.from_arrays(labels[folds == f], risks[folds == f]) for f in range(5)]
    sizes = np.array([np.sum(folds == f) for f in range(5)])
    for metric in ("average_precision", "calibration_slope", "recall"):
        each = [METRICS[metric](part) for part in parts]
        found = fold_estimate(labels, risks, folds, metric)
        assert found.value == pytest.approx(np.average(each, weights=sizes))
        equal = fold_estimate(labels, risks, folds, metric, weighting="equal")
        assert equal.value == pytest.approx(np.mean(each))
        assert found.value in found.known_interval


def test_brier_score_is_that_of_all_rows() -> None:
    labels, scores, folds = rows(6)
    missed = (scores % 10.0 - labels) ** 2
    found = fold_estimate(labels, scores % 10.0, folds, "brier")
    assert found.value == pytest.approx(missed.mean())
    variance = sum((np.mean(folds == f) ** 2) * missed[folds == f].var(ddof=1) / np.sum(folds == f) for f in range(5))
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    assert found.known_interval.method == "mean over folds"


def test_clustered_mean_over_folds() -> None:
    """Equal means in all folds: the standard error is that of all rows, of clusters that lie within folds."""
    stays = draw_stays(np.random.default_rng(7), patients=80)
    codes = np.concatenate((stays.patients, stays.patients + 80))
    labels, risks = np.tile(stays.labels, 2), np.tile(stays.scores[0], 2)
    folds = np.repeat([0, 1], stays.labels.size)
    found = fold_estimate(labels, risks, folds, "brier", codes=codes)
    same = cluster_estimate(labels, risks, codes, "brier")
    assert found.standard_error == pytest.approx(same.standard_error)
    assert found.known_interval.lower == pytest.approx(same.known_interval.lower)
    assert found.known_interval.method == "mean over folds, cluster-robust"


def test_other_metrics_are_redrawn() -> None:
    labels, scores, folds = rows(8)
    found = fold_estimate(labels, scores % 10.0, folds, "interpolated_median", replicates=100, rng=1)
    assert found.known_interval.method == "mean over folds, bootstrap, percentile"
    smooth = fold_estimate(labels, scores % 10.0, folds, "average_precision")
    assert found.standard_error == pytest.approx(smooth.standard_error, rel=0.5)
    clustered = fold_estimate(
        labels, scores % 10.0, folds, "interpolated_median", codes=np.arange(labels.size) // 2, replicates=100, rng=1
    )
    assert clustered.known_interval.method == "mean over folds, cluster bootstrap, percentile"


def test_wrong_folds_are_refused() -> None:
    labels, scores = np.array([True, False, True, False]), np.array([0.9, 0.2, 0.3, 0.4])
    with pytest.raises(DataError, match="a fold has rows of one class only"):
        cross_validated_auc(labels, scores, np.array([0, 1, 0, 1]))
    with pytest.raises(ParameterError, match="at least two"):
        cross_validated_auc(labels, scores, np.zeros(4))
    with pytest.raises(ParameterError, match="differ in length"):
        cross_validated_auc(labels, scores, np.array([0, 1]))
    with pytest.raises(ParameterError, match="weighting must be"):
        fold_estimate(labels, scores, np.array([0, 0, 1, 1]), "brier", weighting="size")  # type: ignore[arg-type]


@pytest.mark.statistical
def test_cross_validated_auc_covers_and_the_pooled_one_does_not() -> None:
    """Folds of 40 rows whose models' levels differ; the truth is normal: AUC is known.

    Binomial(600, 0.95) falls below 0.92 with probability under 1e-3; the pooled AUC is biased by more than its width.
    """
    truth = float(norm.cdf(1.0 / math.sqrt(2.0)))
    rng = np.random.default_rng(9)
    folds = np.repeat(np.arange(5), 40)
    covered = pooled = 0
    for _ in range(600):
        labels = np.tile(np.arange(40) < 16, 5)
        scores = rng.standard_normal(200) + labels + 3.0 * folds
        covered += truth in cross_validated_auc(labels, scores, folds).known_interval
        pooled += truth in cluster_estimate(labels, scores, np.arange(200), "auc").known_interval
    assert 0.92 < covered / 600 < 0.98
    assert pooled / 600 < 0.1
