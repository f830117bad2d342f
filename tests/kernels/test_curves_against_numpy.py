"""Compiled sums over curves equal those of NumPy, and of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from confide import ScoreCounts
from confide.curves.pr import recall_levels
from confide.curves.roc import hull_corners, roc_hull
from confide.kernels.curves import hull_points, level_areas, sum_many_counts
from confide.kernels.sums import sum_counts
from confide.metrics.precision_recall import _OF_LEVELS, aucpr_scores

KINDS = {
    "distinct": lambda rng, labels: rng.standard_normal(labels.size) + labels,
    "tied": lambda rng, labels: np.round(rng.standard_normal(labels.size) + labels, 2),
    "coarse": lambda rng, labels: np.round(rng.random(labels.size) + labels),
    "perfect": lambda rng, labels: rng.random(labels.size) + 2.0 * labels,
    "worst": lambda rng, labels: rng.random(labels.size) - 2.0 * labels,
    "hopeless": lambda rng, labels: rng.random(labels.size),
}


def counts_of(kind: str, rows: int, share: float) -> ScoreCounts:
    rng = np.random.default_rng([rows, int(100 * share)])
    labels = rng.random(rows) < share
    labels[:2] = True, False
    return ScoreCounts.from_arrays(labels, KINDS[kind](rng, labels))


CASES = pytest.mark.parametrize(
    ("kind", "rows", "share"),
    [(kind, rows, share) for kind in KINDS for rows, share in ((2, 0.5), (7, 0.3), (3_000, 0.01), (3_000, 0.4))],
)
WORKERS = pytest.mark.parametrize("workers", [1, 3])


@WORKERS
@CASES
def test_rank_sums_are_those_of_numpy(kind: str, rows: int, share: float, workers: int) -> None:
    counts = counts_of(kind, rows, share)
    fast = sum_many_counts(counts.positives, counts.negatives, workers=workers)
    slow = sum_counts(counts.positives, counts.negatives)
    assert (fast.positives, fast.negatives, fast.twice_wins) == (slow.positives, slow.negatives, slow.twice_wins)
    for name in ("precision_sum", "positive_placement_ss", "negative_placement_ss"):
        assert getattr(fast, name) == pytest.approx(getattr(slow, name), rel=1e-11, abs=1e-12)


@WORKERS
@CASES
def test_areas_are_those_of_paths(kind: str, rows: int, share: float, workers: int) -> None:
    counts = counts_of(kind, rows, share)
    fast = level_areas(counts.positives, counts.negatives, workers=workers)
    levels = recall_levels(counts)
    for name in fast._fields:
        assert getattr(fast, name) == pytest.approx(_OF_LEVELS[name](levels).area(), rel=1e-11), name


@WORKERS
@CASES
def test_hulls_are_those_of_all_points(kind: str, rows: int, share: float, workers: int) -> None:
    from confide.curves.roc import _chain

    counts = counts_of(kind, rows, share)
    found = hull_points(counts.positives, counts.negatives, workers=workers)
    corners = found[0][_chain(found[1].tolist(), found[2].tolist())][1:] - 1
    np.testing.assert_array_equal(corners, hull_corners(counts))


def test_one_class_has_no_sums() -> None:
    ones, none = np.ones(5, np.int64), np.zeros(5, np.int64)
    for ours, theirs in ((ones, none), (none, ones)):
        assert sum_many_counts(ours, theirs).twice_wins == 0


def test_the_functions_of_counts_use_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    import confide
    import confide.curves.compiled_sums as gate

    rng = np.random.default_rng(5)
    labels = rng.random(gate.KERNEL_FROM + 5_000) < 0.2
    scores = rng.standard_normal(labels.size) + labels
    counts = ScoreCounts.from_arrays(labels, scores)
    assert gate.has_kernel(counts)
    fast = (aucpr_scores(counts), roc_hull(counts).area, confide.delong_interval(counts))
    assert confide.auc_score(counts) == pytest.approx(roc_auc_score(labels, scores), rel=1e-12)
    assert confide.average_precision_score(counts) == pytest.approx(average_precision_score(labels, scores), rel=1e-12)
    monkeypatch.setattr(gate, "KERNEL_FROM", 10**9)
    fresh = ScoreCounts(counts.scores, counts.positives, counts.negatives)
    slow = (aucpr_scores(fresh), roc_hull(fresh).area, confide.delong_interval(fresh))
    assert fast[0] == pytest.approx(slow[0], rel=1e-11)
    assert fast[1] == pytest.approx(slow[1], rel=1e-12)
    assert (fast[2].lower, fast[2].upper) == pytest.approx((slow[2].lower, slow[2].upper), rel=1e-11)
