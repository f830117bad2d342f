"""Calibration intercept and slope beside statsmodels' binomial regression."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy.optimize import brentq

import confide
from confide import ScoreCounts
from tests.random_rows import KINDS, RandomRows, random_rows

TOLERANCE = 1e-7
Floats = NDArray[np.float64]


@pytest.fixture(params=KINDS)
def rows(request: pytest.FixtureRequest) -> RandomRows:
    return random_rows(request.param)


def log_odds(scores: Floats) -> Floats:
    return np.log(scores / (1.0 - scores))


def test_line(rows: RandomRows) -> None:
    design = sm.add_constant(log_odds(rows.scores))
    model = sm.GLM(rows.labels, design, family=sm.families.Binomial(), freq_weights=rows.weights)
    intercept, slope = model.fit(tol=1e-14).params
    assert confide.metrics.calibration_slope(rows.counts) == pytest.approx(slope, abs=TOLERANCE)
    assert confide.metrics.joint_intercept(rows.counts) == pytest.approx(intercept, abs=TOLERANCE)


def test_intercept_with_the_score_as_offset(rows: RandomRows) -> None:
    model = sm.GLM(
        rows.labels,
        np.ones((rows.labels.size, 1)),
        family=sm.families.Binomial(),
        freq_weights=rows.weights,
        offset=log_odds(rows.scores),
    )
    expected = model.fit(tol=1e-14).params[0]
    assert confide.metrics.calibration_intercept(rows.counts) == pytest.approx(expected, abs=TOLERANCE)


def test_fit_solves_the_likelihood_equations() -> None:
    """At the maximum, residuals add up to nothing, plain and times the log-odds, to rounding."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores = 1 / (1 + np.exp(-rng.normal(size=200)))
        labels = (rng.random(200) < scores).astype(np.float64)
        counts, x = ScoreCounts.from_arrays(labels, scores), log_odds(scores)
        shift = confide.metrics.calibration_intercept(counts)
        assert np.sum(labels - 1 / (1 + np.exp(-(x + shift)))) == pytest.approx(0.0, abs=1e-10)
        slope = confide.metrics.calibration_slope(counts)

        def residuals(start: float, line: Floats = slope * x, labels: Floats = labels) -> Floats:
            return labels - 1 / (1 + np.exp(-(start + line)))

        # With the slope fixed its intercept follows; then the second equation must hold too.
        residual = residuals(brentq(lambda start, rest=residuals: np.sum(rest(start)), -20, 20, xtol=1e-15))
        assert np.dot(residual, x) == pytest.approx(0.0, abs=1e-9)


def test_extreme_miscalibration_is_still_fitted() -> None:
    """Risks a thousand times too low and far too spread out: Newton's first steps overshoot."""
    rng = np.random.default_rng(1)
    truth = rng.normal(size=2_000)
    labels = (rng.random(2_000) < 1 / (1 + np.exp(-truth))).astype(np.int64)
    scores = 1 / (1 + np.exp(-(5.0 * truth - 7.0)))
    fit = sm.GLM(labels, sm.add_constant(log_odds(scores)), family=sm.families.Binomial()).fit(tol=1e-14)
    assert confide.metrics.calibration_slope(ScoreCounts.from_arrays(labels, scores)) == pytest.approx(
        fit.params[1], abs=1e-6
    )


def test_scores_close_together_have_a_slope() -> None:
    labels = [0, 1, 0, 1, 1]
    scores = np.array([0.5, 0.5, 0.5001, 0.5001, 0.5001])
    # Two distinct scores: the fit is exact, with log-odds 0 (1 of 2) and ln 2 (2 of 3).
    expected = np.log(2.0) / (log_odds(scores)[-1] - log_odds(scores)[0])
    assert confide.metrics.calibration_slope(ScoreCounts.from_arrays(labels, scores)) == pytest.approx(
        expected, rel=1e-6
    )


@pytest.mark.parametrize(
    ("labels", "scores"),
    [
        ([0, 1, 1], [0.4, 0.4, 0.4]),
        ([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.7]),
        ([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.3, 0.6, 0.7]),  # separated but for a tie
        ([1, 1, 0, 0], [0.1, 0.2, 0.6, 0.7]),
    ],
)
def test_no_slope_where_the_likelihood_has_no_maximum(labels: list[int], scores: list[float]) -> None:
    assert np.isnan(confide.metrics.calibration_slope(ScoreCounts.from_arrays(labels, scores)))


def test_intercept_exists_where_classes_separate() -> None:
    counts = ScoreCounts.from_arrays([0, 0, 1, 1], [0.2, 0.3, 0.7, 0.8])
    assert confide.metrics.calibration_intercept(counts) == pytest.approx(0.0, abs=1e-12)
