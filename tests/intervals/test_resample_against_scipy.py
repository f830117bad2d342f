"""The two bootstraps beside scipy.stats.bootstrap and a plain loop over rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import confide
from confide import ScoreCounts
from confide.errors import SmallSampleWarning
from confide.intervals.interval import Estimate
from confide.intervals.replicates import draw_replicates, replicate_values, split_at
from confide.intervals.resample import replicate_ranks
from confide.metrics.calibration_samples import SAMPLED_ERRORS
from confide.metrics.registry import METRICS, Resampling
from tests.random_rows import KINDS, RandomRows, random_rows

REPLICATES = 4_000
PEERS: dict[str, Literal["percentile", "BCa"]] = {"percentile": "percentile", "bca": "BCa"}
Floats = NDArray[np.float64]


def bootstrap(counts: ScoreCounts, metric: str, **options: Any) -> Estimate:
    with pytest.warns(SmallSampleWarning):
        return confide.intervals.bootstrap_estimate(counts, metric, replicates=REPLICATES, rng=1, **options)


def classes(rows: RandomRows) -> tuple[Floats, Floats]:
    return rows.scores[rows.labels == 1], rows.scores[rows.labels == 0]


def auc_of_classes(ours: Floats, theirs: Floats, axis: int = -1) -> Floats:
    del axis  # scipy resamples along the last one
    wins = (ours[..., :, None] > theirs[..., None, :]) + 0.5 * (ours[..., :, None] == theirs[..., None, :])
    found: Floats = wins.mean(axis=(-2, -1))
    return found


# The ends of a 90 % interval from 4,000 replicates have a standard error of 0.034 standard errors of the
# statistic; both sides vary, so the tolerance of 0.3 is above six of theirs: fewer than one false alarm in 10^8.
ALIKE = 0.3


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_auc_interval(method: str) -> None:
    rows = random_rows("tied", size=120)
    peer = stats.bootstrap(
        classes(rows),
        auc_of_classes,
        vectorized=True,
        n_resamples=REPLICATES,
        batch=500,
        confidence_level=0.9,
        method=PEERS[method],
        rng=np.random.default_rng(2),
    )
    found = bootstrap(rows.counts, "auc", method=method, level=0.9)
    assert found.interval is not None
    assert found.standard_error == pytest.approx(peer.standard_error, rel=0.1)
    scale = float(ALIKE * peer.standard_error)
    assert found.interval.lower == pytest.approx(peer.confidence_interval.low, abs=scale)
    assert found.interval.upper == pytest.approx(peer.confidence_interval.high, abs=scale)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_interval_of_a_statistic_of_one_class(method: str) -> None:
    """Recall depends on the positives alone: scipy's one-sample bootstrap of a mean."""
    rows = random_rows("distinct", size=300)
    ours = (classes(rows)[0] >= 0.5).astype(float)
    peer = stats.bootstrap(
        (ours,),
        np.mean,
        n_resamples=REPLICATES,
        confidence_level=0.9,
        method=PEERS[method],
        rng=np.random.default_rng(3),
    )
    found = bootstrap(rows.counts, "recall", method=method, level=0.9, threshold=0.5)
    assert found.interval is not None
    # The mean moves in steps of one row.
    scale = ALIKE * peer.standard_error + 1.0 / ours.size
    assert found.interval.lower == pytest.approx(peer.confidence_interval.low, abs=scale)
    assert found.interval.upper == pytest.approx(peer.confidence_interval.high, abs=scale)


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("metric", ["brier", "precision", "observed_expected"])
def test_interval_of_a_statistic_of_rows(metric: str, method: str) -> None:
    """Pairs of label and score are resampled together, as scipy does with `paired`."""
    rows = random_rows("distinct", size=300)

    def statistic(label: Floats, score: Floats, axis: int = -1) -> Floats:
        called = score >= 0.5
        value: Floats
        match metric:
            case "brier":
                value = np.mean((label - score) ** 2, axis=axis)
            case "precision":
                value = np.sum(label * called, axis=axis) / np.sum(called, axis=axis)
            case _:
                value = np.sum(label, axis=axis) / np.sum(score, axis=axis)
        return value

    peer = stats.bootstrap(
        (rows.labels.astype(float), rows.scores),
        statistic,
        paired=True,
        vectorized=True,
        n_resamples=REPLICATES,
        confidence_level=0.9,
        method=PEERS[method],
        rng=np.random.default_rng(4),
    )
    found = bootstrap(rows.counts, metric, method=method, level=0.9)
    assert found.interval is not None
    assert found.interval.method == f"bootstrap of rows, {method}"
    assert found.standard_error == pytest.approx(peer.standard_error, rel=0.1)
    scale = float(ALIKE * peer.standard_error)
    assert found.interval.lower == pytest.approx(peer.confidence_interval.low, abs=scale)
    assert found.interval.upper == pytest.approx(peer.confidence_interval.high, abs=scale)


def brute_acceleration(rows: RandomRows, metric: Callable[[ScoreCounts], float], resampling: Resampling) -> float:
    """Efron's acceleration for one sample or for two, leaving out one row at a time."""
    cubes = squares = 0.0
    for label in (1, 0) if resampling == "classes" else (None,):
        members = np.arange(rows.labels.size) if label is None else np.flatnonzero(rows.labels == label)
        left_out = np.array(
            [
                metric(ScoreCounts.from_arrays(np.delete(rows.labels, row), np.delete(rows.scores, row)))
                for row in members
            ]
        )
        influence = (members.size - 1) * (left_out.mean() - left_out)
        cubes += np.sum(influence**3) / members.size**3
        squares += np.sum(influence**2) / members.size**2
    return float(cubes / (6 * squares**1.5))


@pytest.mark.parametrize("resampling", ["rows", "classes"])
@pytest.mark.parametrize("metric", ["auc", "average_precision"])
@pytest.mark.parametrize("kind", ["distinct", "tied"])
def test_bca_ends_from_a_brute_force_jackknife(kind: str, metric: str, resampling: Resampling) -> None:
    rows = random_rows(kind, size=90)
    score = {"auc": confide.auc_score, "average_precision": confide.average_precision_score}[metric]
    acceleration, value = brute_acceleration(rows, score, resampling), score(rows.counts)
    ranks = replicate_ranks(rows.counts, REPLICATES, np.random.default_rng(1), resampling=resampling)
    drawn = ranks[metric == "average_precision"]
    bias = stats.norm.ppf((np.sum(drawn < value) + np.sum(drawn == value) / 2) / REPLICATES)
    shifted = bias + stats.norm.ppf([0.025, 0.975])
    tails = stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))
    expected = np.quantile(drawn, tails)
    found = bootstrap(rows.counts, metric, method="bca", resampling=resampling).interval
    assert found is not None
    assert abs(acceleration) > 1e-3  # so that leaving it out would show
    assert (found.lower, found.upper) == pytest.approx(tuple(expected), abs=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize("resampling", ["rows", "classes"])
@pytest.mark.parametrize("kind", ["distinct", "tied", "tied and repeated", "rare"])
def test_values_of_all_replicates_are_those_of_each(kind: str, resampling: Resampling) -> None:
    counts = random_rows(kind, size=200).counts
    replicates = draw_replicates(counts, 100, np.random.default_rng(4), resampling)
    metrics = {name: metric for name, metric in METRICS.items() if name not in SAMPLED_ERRORS}  # tested on their own
    found = replicate_values(replicates, {name: (metric, {}) for name, metric in metrics.items()})
    for line, sample in enumerate(replicates.samples()):
        assert sample is not None
        assert sample.total_positives + sample.total_negatives == counts.total_positives + counts.total_negatives
        for name in metrics if line < 5 else ("auc", "average_precision", "recall", "net_benefit", "brier"):
            expected = confide.metric_score(sample, name)
            assert found[name][line] == pytest.approx(expected, abs=1e-12, nan_ok=True), name


def test_replicates_of_one_class_have_no_value() -> None:
    counts = ScoreCounts.from_arrays([1, 0, 0], [0.8, 0.2, 0.3])
    replicates = draw_replicates(counts, 200, np.random.default_rng(1), "rows")
    absent = ~replicates.both_classes
    assert 0.3 < absent.mean() < 0.4  # (2/3)^3 + (1/3)^3 = 1/3
    values = replicate_values(replicates, {name: (METRICS[name], {}) for name in ("auc", "brier", "recall", "f_beta")})
    for drawn in values.values():
        assert np.isnan(drawn[absent]).all()
        assert np.isfinite(drawn[~absent]).all()


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if "threshold" in metric.options])
@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.3, 0.5, 0.95])
def test_measures_at_a_threshold_need_the_confusion_matrix_alone(name: str, threshold: float) -> None:
    counts = random_rows("tied", size=200).counts
    few = split_at(counts, threshold)
    assert len(few) <= 2
    assert confide.metric_score(few, name, threshold=threshold) == pytest.approx(
        confide.metric_score(counts, name, threshold=threshold), abs=0.0, nan_ok=True
    )


def test_callables_resample_rows_unless_told() -> None:
    counts = random_rows("distinct", size=600).counts
    methods = {
        "bootstrap of rows, percentile": {},
        "stratified bootstrap, percentile": {"resampling": "classes"},
    }
    for method, options in methods.items():
        with pytest.warns(SmallSampleWarning):
            found = confide.bootstrap_interval(counts, confide.metrics.brier_score, replicates=100, rng=1, **options)
        assert found.method == method
    with pytest.raises(confide.ConfideError, match="resampling must be 'rows' or 'classes'"):
        confide.bootstrap_interval(counts, "auc", resampling="columns")


def plain_loop(
    rows: RandomRows, replicates: int, seed: int, *, fixed_positives: bool = False, resampling: Resampling = "classes"
) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    ours, theirs = classes(rows)
    labels = np.repeat([1, 0], [ours.size, theirs.size])
    found = np.empty((2, replicates))
    for i in range(replicates):
        redrawn = ours if fixed_positives else rng.choice(ours, ours.size)
        sample = ScoreCounts.from_arrays(labels, np.concatenate((redrawn, rng.choice(theirs, theirs.size))))
        if resampling == "rows":
            chosen = rng.integers(0, rows.labels.size, rows.labels.size)
            sample = ScoreCounts.from_arrays(rows.labels[chosen], rows.scores[chosen])
        found[:, i] = confide.auc_score(sample), confide.average_precision_score(sample)
    return found[0], found[1]


# Kolmogorov-Smirnov at 1e-6: two comparisons a kind, so at most one false alarm in 10^5 changes of the seeds.
REJECTED = 1e-6


@pytest.mark.few(1)
@pytest.mark.statistical
@pytest.mark.parametrize("resampling", ["rows", "classes"])
@pytest.mark.parametrize("kind", ["distinct", "tied"])
def test_replicates_are_distributed_as_a_plain_loop(kind: str, resampling: Resampling) -> None:
    rows = random_rows(kind, size=100)
    looped = plain_loop(rows, 2_000, seed=5, resampling=resampling)
    ours = replicate_ranks(rows.counts, 2_000, np.random.default_rng(6), resampling=resampling)
    for mine, theirs in zip(ours, looped, strict=True):
        assert stats.ks_2samp(mine, theirs).pvalue > REJECTED


@pytest.mark.statistical
def test_that_comparison_rejects_a_broken_twin() -> None:
    """A loop that redraws the negatives only has too narrow a distribution, and is told apart."""
    rows = random_rows("distinct", size=100)
    broken = plain_loop(rows, 2_000, seed=7, fixed_positives=True)
    ours = replicate_ranks(rows.counts, 2_000, np.random.default_rng(8), resampling="classes")
    assert stats.ks_2samp(ours[0], broken[0]).pvalue < REJECTED


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "weighted" in kind])
def test_float_weights_are_refused(kind: str) -> None:
    with pytest.raises(confide.ConfideError, match="whole rows"):
        confide.intervals.bootstrap_estimate(random_rows(kind).counts, "auc")
