"""The stratified bootstrap beside scipy.stats.bootstrap and a plain loop over rows."""

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
from confide.intervals.resample import redraw, replicate_ranks
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


def brute_acceleration(rows: RandomRows, metric: Callable[[ScoreCounts], float]) -> float:
    """Efron's acceleration for two samples, leaving out one row at a time."""
    cubes = squares = 0.0
    for label in (1, 0):
        members = np.flatnonzero(rows.labels == label)
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


@pytest.mark.parametrize("metric", ["auc", "average_precision"])
@pytest.mark.parametrize("kind", ["distinct", "tied"])
def test_bca_ends_from_a_brute_force_jackknife(kind: str, metric: str) -> None:
    rows = random_rows(kind, size=90)
    score = {"auc": confide.auc_score, "average_precision": confide.average_precision_score}[metric]
    acceleration, value = brute_acceleration(rows, score), score(rows.counts)
    drawn = replicate_ranks(rows.counts, REPLICATES, np.random.default_rng(1))[metric == "average_precision"]
    bias = stats.norm.ppf((np.sum(drawn < value) + np.sum(drawn == value) / 2) / REPLICATES)
    shifted = bias + stats.norm.ppf([0.025, 0.975])
    tails = stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))
    expected = np.quantile(drawn, tails)
    found = bootstrap(rows.counts, metric, method="bca").interval
    assert found is not None
    assert abs(acceleration) > 1e-3  # so that leaving it out would show
    assert (found.lower, found.upper) == pytest.approx(tuple(expected), abs=1e-12)


@pytest.mark.parametrize("kind", ["distinct", "tied", "tied and repeated", "rare"])
def test_replicates_score_what_was_redrawn(kind: str) -> None:
    counts = random_rows(kind, size=200).counts
    auc, average_precision = replicate_ranks(counts, 150, np.random.default_rng(4))
    for ours, theirs, a, ap in zip(*redraw(counts, 150, np.random.default_rng(4)), auc, average_precision, strict=True):
        seen = ours + theirs > 0
        sample = ScoreCounts(counts.scores[seen], ours[seen], theirs[seen])
        assert a == pytest.approx(confide.auc_score(sample), abs=1e-12)
        assert ap == pytest.approx(confide.average_precision_score(sample), abs=1e-12)


def plain_loop(rows: RandomRows, replicates: int, seed: int, *, fixed_positives: bool = False) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    ours, theirs = classes(rows)
    labels = np.repeat([1, 0], [ours.size, theirs.size])
    found = np.empty((2, replicates))
    for i in range(replicates):
        redrawn = ours if fixed_positives else rng.choice(ours, ours.size)
        sample = ScoreCounts.from_arrays(labels, np.concatenate((redrawn, rng.choice(theirs, theirs.size))))
        found[:, i] = confide.auc_score(sample), confide.average_precision_score(sample)
    return found[0], found[1]


# Kolmogorov-Smirnov at 1e-6: two comparisons a kind, so at most one false alarm in 10^5 changes of the seeds.
REJECTED = 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["distinct", "tied"])
def test_replicates_are_distributed_as_a_plain_loop(kind: str) -> None:
    rows = random_rows(kind, size=100)
    looped, ours = plain_loop(rows, 2_000, seed=5), replicate_ranks(rows.counts, 2_000, np.random.default_rng(6))
    for mine, theirs in zip(ours, looped, strict=True):
        assert stats.ks_2samp(mine, theirs).pvalue > REJECTED


@pytest.mark.statistical
def test_that_comparison_rejects_a_broken_twin() -> None:
    """A loop that redraws the negatives only has too narrow a distribution, and is told apart."""
    rows = random_rows("distinct", size=100)
    broken = plain_loop(rows, 2_000, seed=7, fixed_positives=True)
    ours = replicate_ranks(rows.counts, 2_000, np.random.default_rng(8))
    assert stats.ks_2samp(ours[0], broken[0]).pvalue < REJECTED


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "weighted" in kind])
def test_float_weights_are_refused(kind: str) -> None:
    with pytest.raises(confide.ConfideError, match="whole rows"):
        confide.intervals.bootstrap_estimate(random_rows(kind).counts, "auc")
