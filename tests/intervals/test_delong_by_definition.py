"""DeLong's variance and covariance from all pairs of a positive and a negative, ties and weights included."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import confide
from confide import ScoreCounts

TOLERANCE = 1e-12
Floats = NDArray[np.float64]


def components(labels: NDArray[np.int64], scores: Floats) -> tuple[Floats, Floats]:
    """V10 and V01 of DeLong, DeLong & Clarke-Pearson (1988) by comparing every pair."""
    ours, theirs = scores[labels == 1][:, None], scores[labels == 0][None, :]
    wins = (ours > theirs) + 0.5 * (ours == theirs)
    return wins.mean(axis=1), wins.mean(axis=0)


def covariance_by_pairs(labels: NDArray[np.int64], models: list[Floats]) -> tuple[Floats, Floats]:
    v10, v01 = (np.array(part) for part in zip(*(components(labels, scores) for scores in models), strict=True))
    n, m = v10.shape[1], v01.shape[1]
    return v10.mean(axis=1), np.cov(v10, ddof=1).reshape(len(models), -1) / n + np.cov(v01, ddof=1).reshape(
        len(models), -1
    ) / m


def rows(seed: int, digits: int | None, models: int = 1, size: int = 70) -> tuple[NDArray[np.int64], list[Floats]]:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(size) < size // 3).astype(np.int64)
    common = rng.normal(size=size)
    found = [labels * 0.7 + common + rng.normal(size=size) for _ in range(models)]
    return labels, found if digits is None else [np.round(scores, digits) for scores in found]


@pytest.mark.parametrize("digits", [None, 1, 0])
@pytest.mark.parametrize("seed", range(3))
def test_variance(seed: int, digits: int | None) -> None:
    labels, (scores,) = rows(seed, digits)
    (auc,), ((variance,),) = covariance_by_pairs(labels, [scores])
    counts = ScoreCounts.from_arrays(labels, scores)
    assert confide.auc_score(counts) == pytest.approx(auc, abs=TOLERANCE)
    assert confide.intervals.delong_variance(counts) == pytest.approx(variance, abs=TOLERANCE)
    assert confide.intervals.rank_summary(labels, scores).auc_variance == pytest.approx(variance, abs=TOLERANCE)


@pytest.mark.parametrize("digits", [None, 0])
def test_variance_with_whole_weights_is_that_of_repeated_rows(digits: int | None) -> None:
    labels, (scores,) = rows(4, digits)
    times = np.random.default_rng(5).integers(1, 5, labels.size)
    _, ((variance,),) = covariance_by_pairs(np.repeat(labels, times), [np.repeat(scores, times)])
    for weights in (times, times.astype(np.float64)):
        found = confide.intervals.delong_variance(ScoreCounts.from_arrays(labels, scores, weights))
        assert found == pytest.approx(variance, abs=TOLERANCE)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [None, 0])
def test_covariance_of_three_models(digits: int | None, weighted: bool) -> None:
    labels, models = rows(6, digits, models=3)
    times = np.random.default_rng(7).integers(1, 4, labels.size) if weighted else np.ones(labels.size, dtype=np.int64)
    aucs, covariance = covariance_by_pairs(np.repeat(labels, times), [np.repeat(scores, times) for scores in models])
    named = {f"model {i}": scores for i, scores in enumerate(models)}
    found = confide.intervals.compare_aucs(labels, named, weights=times if weighted else None)
    np.testing.assert_allclose(found.aucs, aucs, atol=TOLERANCE)
    np.testing.assert_allclose(found.covariance, covariance, atol=TOLERANCE)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_from_the_variance(level: float) -> None:
    from scipy.stats import norm

    labels, (scores,) = rows(8, 1)
    counts = ScoreCounts.from_arrays(labels, scores)
    auc, error, z = (
        confide.auc_score(counts),
        np.sqrt(confide.intervals.delong_variance(counts)),
        norm.ppf(0.5 + level / 2),
    )
    plain = confide.delong_interval(counts, level=level, transform="none")
    assert (plain.lower, plain.upper) == pytest.approx((auc - z * error, auc + z * error), abs=TOLERANCE)
    logit = confide.delong_interval(counts, level=level)
    centre, reach = np.log(auc / (1 - auc)), z * error / (auc * (1 - auc))
    expected = [1 / (1 + np.exp(-(centre + sign * reach))) for sign in (-1, 1)]
    assert [logit.lower, logit.upper] == pytest.approx(expected, abs=TOLERANCE)


def test_the_plain_interval_is_cut_at_one() -> None:
    labels = [0] * 4 + [1] * 4
    counts = ScoreCounts.from_arrays(labels, [1, 2, 3, 6, 5, 7, 8, 9])
    assert confide.delong_interval(counts, transform="none").upper == 1.0
    assert confide.delong_interval(counts).upper < 1.0


@pytest.mark.parametrize(("top", "value"), [(1, 1.0), (0, 0.0)])
def test_separated_classes_have_the_exact_interval_of_disjoint_pairs(top: int, value: float) -> None:
    counts = ScoreCounts.from_arrays([1 - top] * 9 + [top] * 6, range(15))
    interval = confide.delong_interval(counts)
    bound = 0.025 ** (1 / 6)
    assert confide.intervals.delong_variance(counts) == 0.0
    assert (interval.lower, interval.upper) == pytest.approx((bound, 1.0) if value else (0.0, 1 - bound), abs=TOLERANCE)
