"""Binormal ROC curves: Stata's manual, R's pROC, and curves whose truth is known."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.stats import norm

from confide import ScoreCounts, auc_score
from confide.curves import BinormalRoc, smooth_roc
from confide.curves.binormal_roc import _Likelihood, merge_categories, merge_runs
from confide.errors import DataError, ParameterError

RATINGS = ScoreCounts(np.arange(1.0, 6.0), np.array([3, 2, 2, 11, 33]), np.array([33, 6, 6, 11, 2]))


def normal_rows(positives: int, negatives: int, seed: int) -> ScoreCounts:
    rng = np.random.default_rng(seed)
    scores = np.concatenate((rng.normal(1.2, 1.4, positives), rng.normal(size=negatives)))
    return ScoreCounts.from_arrays(np.arange(scores.size) < positives, scores)


def test_ratings_of_tomograms_as_in_the_manual_of_stata() -> None:
    # rocfit disease rating, on the data of Hanley & McNeil (1982). R's optim() finds the same maximum and errors
    # of x * log(diff(c(0, pnorm(b * c - a), 1))) + y * log(diff(c(0, pnorm(c), 1))), over a, b and four edges c.
    fitted = smooth_roc(RATINGS)
    assert (fitted.intercept, fitted.slope) == pytest.approx((1.656782, 0.713002), abs=5e-7)
    assert fitted.covariance is not None
    assert np.sqrt(np.diag(fitted.covariance)) == pytest.approx([0.310456, 0.215882], abs=5e-7)
    assert (fitted.area, fitted.area_error) == pytest.approx((0.911331, 0.029506), abs=5e-7)


# s <- smooth(roc(aSAH$outcome, aSAH$ndka), method = "binormal"); auc(s); coef(s$model)
# coords(s, x = c(.1, .3, .5, .9), input = "specificity", ret = "sensitivity")
@pytest.mark.parametrize(
    ("marker", "area", "line", "sensitivities"),
    [
        (
            "ndka",
            0.600569923699544,
            (0.379507623303205, -1.103639001546005),
            (0.9338474, 0.7936136, 0.6345274, 0.2068674),
        ),
        (
            "wfns",
            0.845365979318225,
            (1.308711886242651, -0.810389308153573),
            (0.9987098, 0.9881460, 0.9468318, 0.5133670),
        ),
        (
            "s100b",
            0.740012862077311,
            (1.011830373143998, -1.213787919917597),
            (0.9705834, 0.8971792, 0.7977494, 0.4120719),
        ),
    ],
)
def test_regression_against_proc(
    shared_data: Path, marker: str, area: float, line: tuple[float, float], sensitivities: tuple[float, ...]
) -> None:
    with gzip.open(shared_data / "aSAH.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    counts = ScoreCounts.from_arrays(
        [row["outcome"] for row in rows], [float(row[marker]) for row in rows], positive="Poor"
    )
    fitted = smooth_roc(counts, method="regression")
    assert fitted.area == pytest.approx(area, abs=1e-12)
    assert (fitted.intercept / fitted.slope, -1.0 / fitted.slope) == pytest.approx(line, abs=1e-12)
    # pROC reads points off straight lines between 512 points.
    assert fitted.roc([0.9, 0.7, 0.5, 0.1]) == pytest.approx(sensitivities, abs=1e-3)
    assert fitted.area_error is None
    assert smooth_roc(counts).area == pytest.approx(auc_score(counts), abs=0.025)


def test_gradient_and_information_by_differences() -> None:
    model = _Likelihood(np.array([3.0, 2, 0, 11, 33]), np.array([33.0, 6, 6, 11, 2]))
    theta = model.start()
    gradient, _, observed = model.derivatives(theta)
    assert gradient == pytest.approx(approx_fprime(theta, model.value, 1e-6), rel=1e-3, abs=1e-3)
    steps = 1e-6 * np.eye(theta.size)
    curvature = [model.derivatives(theta + step)[0] - model.derivatives(theta - step)[0] for step in steps]
    assert observed == pytest.approx(-np.array(curvature) / 2e-6, rel=1e-5, abs=1e-3)


def test_truth_is_found_in_many_rows() -> None:
    """Positives N(1.2, 1.4), negatives N(0, 1): a = 1.2 / 1.4, b = 1 / 1.4; five standard errors are 0.02."""
    fitted = smooth_roc(normal_rows(20_000, 20_000, 1))
    assert fitted.area == pytest.approx(norm.cdf(1.2 / np.hypot(1.0, 1.4)), abs=0.02)
    assert (fitted.intercept, fitted.slope) == pytest.approx((1.2 / 1.4, 1.0 / 1.4), abs=0.06)
    assert fitted.area_error is not None
    assert 0.001 < fitted.area_error < 0.004


def test_only_ranks_count() -> None:
    counts = normal_rows(40, 60, 2)
    transformed = ScoreCounts(np.exp(counts.scores), counts.positives, counts.negatives)
    assert smooth_roc(transformed).to_dict() == smooth_roc(counts).to_dict()


def test_merging_runs_leaves_the_maximum() -> None:
    counts = normal_rows(15, 15, 3)
    merged = merge_runs(counts.positives, counts.negatives)
    assert merged[0].size < len(counts)
    assert all(side.sum() == 15 for side in merged)
    runs = ScoreCounts(np.arange(float(merged[0].size)), *merged)
    assert smooth_roc(runs).area == pytest.approx(smooth_roc(counts).area, abs=1e-12)


def test_few_categories_are_nearly_as_good() -> None:
    counts = normal_rows(300, 700, 4)
    ours, theirs = merge_categories(counts.positives, counts.negatives, 20)
    assert (ours.size, ours.sum(), theirs.sum()) == (20, 300, 700)
    assert smooth_roc(counts, categories=20).area == pytest.approx(smooth_roc(counts).area, abs=0.005)


def test_the_curve_is_drawn_from_corner_to_corner() -> None:
    fitted = BinormalRoc(intercept=1.5, slope=0.8, method="likelihood")
    curve = fitted.curve()
    assert (curve.false_positive_rate[[0, -1]] == [0.0, 1.0]).all()
    assert (curve.true_positive_rate[[0, -1]] == [0.0, 1.0]).all()
    assert np.isposinf(curve.thresholds[0])
    assert (np.diff(curve.true_positive_rate) >= 0.0).all()
    assert curve.area == pytest.approx(fitted.area, abs=1e-4)
    assert fitted.area == pytest.approx(quad(lambda t: float(fitted.roc(t)), 0, 1)[0], abs=1e-7)


def test_what_has_no_fit_is_refused() -> None:
    separated = ScoreCounts.from_arrays([0, 0, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6])
    for method in ("likelihood", "regression"):
        with pytest.raises(DataError, match="no finite fit"):
            smooth_roc(separated, method=method)
    with pytest.raises(DataError, match="no finite fit"):
        smooth_roc(ScoreCounts.from_arrays([0, 1, 0, 1], [1, 1, 2, 2]))
    with pytest.raises(ParameterError, match="`method` must be"):
        smooth_roc(RATINGS, method="density")
    with pytest.raises(ParameterError, match="`categories` must be"):
        smooth_roc(RATINGS, categories=2)
