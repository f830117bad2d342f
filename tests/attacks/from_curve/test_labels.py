"""Labels read off a ROC curve: against all labelings, and scikit-learn's curves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_curve as sklearn_roc_curve

from confide import ScoreCounts, roc_curve
from confide.attacks.from_curve.labels import labels_exposed, labels_from_roc
from confide.attacks.from_curve.points import RocPoints
from confide.errors import DataError, ParameterError
from tests.attacks.rows import tied_rows


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("digits", [None, 3])
@pytest.mark.parametrize("thresholds", [False, True])
def test_labels_read_off_the_curve_of_scikit_learn(dropped: bool, digits: int | None, thresholds: bool) -> None:
    rng = np.random.default_rng(4)
    for _ in range(15):
        labels, scores = tied_rows(rng, int(rng.integers(4, 40)), 60)
        false, true, cuts = sklearn_roc_curve(labels, scores, drop_intermediate=dropped)
        if digits is not None:
            false, true = np.round(false, digits), np.round(true, digits)
        points = RocPoints(false, true, cuts if thresholds else None, digits)
        found = labels_from_roc(points, scores)
        sure = labels_from_roc(points, scores, positives=int(labels.sum()))
        assert sure.sizes[0] in found.sizes
        assert (found.lower <= sure.lower).all()
        assert (found.upper >= sure.upper).all()
        assert (labels[sure.lower == 1.0]).all()
        assert not (labels[sure.upper == 0.0]).any()
        np.testing.assert_array_equal(sure.lower, sure.upper)
        np.testing.assert_allclose(sure.probability.sum(), labels.sum())
        if not dropped:
            expected = [labels[scores == value].mean() for value in scores]
            np.testing.assert_allclose(sure.probability, expected)
            assert sure.certain == np.isin(expected, (0.0, 1.0)).sum()


def fitting(points: RocPoints, scores: np.ndarray) -> np.ndarray:
    """Every labeling, with both classes, whose curve would be published as these points; halves go either way."""
    every = (np.arange(1, 2**scores.size - 1)[:, None] >> np.arange(scores.size)) & 1
    above = scores[:, None] >= np.unique(scores)[::-1]
    rates = [(each @ above) / each.sum(axis=1, keepdims=True) for each in (1 - every, every)]
    shown = (points.false_positive_rate[1:], points.true_positive_rate[1:])
    far = [np.abs(ours - theirs).max(axis=1) for ours, theirs in zip(rates, shown, strict=True)]
    return np.asarray(every[np.maximum(*far) <= points.reach])


@pytest.mark.parametrize("digits", [0, 1])
def test_coarse_points_against_all_labelings(digits: int) -> None:
    """Bounds, class sizes and probabilities, with the number of positives known and not."""
    rng = np.random.default_rng(5)
    certain = 0
    for _ in range(60):
        labels, scores = tied_rows(rng, int(rng.integers(8, 12)), 12)
        published = RocPoints.of_curve(roc_curve(ScoreCounts.from_arrays(labels, scores)), digits=digits)
        every = fitting(published, scores)
        for positives in (None, int(labels.sum())):
            found = labels_from_roc(published, scores, positives=positives)
            fits = every if positives is None else every[every.sum(axis=1) == positives]
            tied = scores[:, None] == scores
            shares = (fits @ tied) / tied.sum(axis=0)
            np.testing.assert_allclose(found.lower, shares.min(axis=0))
            np.testing.assert_allclose(found.upper, shares.max(axis=0))
            np.testing.assert_allclose(found.probability, fits.mean(axis=0), atol=1e-10)
            assert set(found.sizes) == {(int(ours), labels.size - int(ours)) for ours in fits.sum(axis=1)}
            certain += found.certain
    assert certain > 0


def test_dropped_points_and_coarse_rounding_need_thresholds() -> None:
    rng = np.random.default_rng(6)
    labels = rng.random(200) < 0.5
    scores = rng.normal(labels)
    false, true, cuts = sklearn_roc_curve(labels, scores, drop_intermediate=True)
    false, true = np.round(false, 1), np.round(true, 1)
    with pytest.raises(DataError, match="give the thresholds"):
        labels_from_roc(RocPoints(false, true, digits=1), scores, positives=int(labels.sum()))
    found = labels_from_roc(RocPoints(false, true, cuts, 1), scores, positives=int(labels.sum()))
    assert (labels[found.lower == 1.0]).all()
    assert not (labels[found.upper == 0.0]).any()
    assert found.certain < 200


def test_exact_and_rounded_curves_of_many_rows() -> None:
    rng = np.random.default_rng(9)
    labels = rng.random(1500) < 0.3
    scores = rng.normal(labels)
    counts = ScoreCounts.from_arrays(labels, scores)
    exact, coarse = labels_exposed(counts), labels_exposed(counts, digits=2)
    truth = labels[np.argsort(scores)]
    assert (exact.certain, exact.rows, exact.sizes) == (1500, 1500, ((int(labels.sum()), int((~labels).sum())),))
    np.testing.assert_array_equal(exact.probability, truth)
    assert truth[coarse.lower == 1.0].all()
    assert not truth[coarse.upper == 0.0].any()
    assert 300 < coarse.certain < 800  # two digits at every one of 1,500 points still give a third away
    assert exact.to_dict()["share"] == 1.0


def test_what_is_refused() -> None:
    points = RocPoints(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1 / 3, 1.0]))
    with pytest.raises(DataError, match="scores do not fit"):
        labels_from_roc(points, [0.1, 0.2, 0.3])
    with pytest.raises(ParameterError, match="leave a negative"):
        labels_from_roc(points, [0.1, 0.2, 0.3], positives=3)
