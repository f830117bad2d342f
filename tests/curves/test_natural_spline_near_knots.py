"""Scores that differ by rounding have the curve of scores that are equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

from confide import ScoreCounts
from confide.counts import FloatArray
from confide.curves import Spline, smooth_calibration
from confide.curves.calibration_spline import NEAREST, NaturalSpline

PLACES = np.array([0.1, 0.3, 0.6, 0.7, 0.8])  # ten scores with those right above, so that each is a knot
SHARES = (10, 20, 20, 30, 50, 40, 80, 70, 60, 90)  # of 100 rows at each place, and right above it


def curve(gap: float) -> FloatArray:
    """Fit the rows of which half lie `gap` above a place."""
    scores = np.repeat(np.column_stack((PLACES, PLACES + gap)).ravel(), 100)
    labels = np.concatenate([np.arange(100) < share for share in SHARES])
    return Spline().fit(ScoreCounts.from_arrays(labels, scores)).observed(np.linspace(0.05, 0.9, 60))


@pytest.mark.parametrize("gap", [2e-17, 6e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7])
def test_a_gap_that_vanishes_changes_nothing(gap: float) -> None:
    np.testing.assert_allclose(curve(gap), curve(0.0), atol=2e-5)


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_the_curve_has_no_step_where_knots_are_merged(share: float) -> None:
    """On both sides of the tolerance the curve is that of equal scores, to within the gap's own effect."""
    width = np.log(0.8 / 0.2) - np.log(0.1 / 0.9)
    np.testing.assert_allclose(curve(share * NEAREST * width * 0.25), curve(0.0), atol=1e-4)


@given(
    places=st.lists(st.integers(1, 999), min_size=2, max_size=12, unique=True),
    exponents=st.lists(st.floats(-18.0, -6.5), min_size=12, max_size=12),
    coefficients=st.lists(st.floats(-1.0, 1.0), min_size=12, max_size=12),
)
def test_knots_that_are_merged_leave_scipys_spline(
    places: list[int], exponents: list[float], coefficients: list[float]
) -> None:
    """Every function is the natural spline of SciPy through its own values at the knots that stay."""
    places.sort()
    near = np.array(places[:-1]) + 1e-3 * (places[-1] - places[0]) * 10.0 ** np.array(exponents[: len(places) - 1])
    spline = NaturalSpline.through(np.unique(np.concatenate((places, near)).astype(np.float64)))
    assert np.diff(spline.knots).min() >= NEAREST
    assert (spline.knots[0], spline.knots[-1]) == (0.0, 1.0)
    weights = np.resize(coefficients, spline.size)
    points = np.linspace(float(places[0]), float(places[-1]), 50)
    ours = spline.combine(weights, points)
    np.testing.assert_allclose(spline.design(points) @ weights, ours, atol=1e-9 * (1 + np.abs(ours).max()))
    if spline.size > 2:
        theirs = CubicSpline(spline.knots, spline.values @ weights, bc_type="natural")
        at = (points - spline.first) / spline.width
        np.testing.assert_allclose(ours, theirs(at), atol=1e-7 * (1 + np.abs(ours).max()))


@pytest.mark.parametrize("scores", [(0.1, 0.10000000000000002), (0.5, 0.5 + 1e-9), (1.0 - 1e-15, 1.0)])
def test_scores_within_rounding_are_one_score(scores: tuple[float, float]) -> None:
    rows = ScoreCounts.from_arrays([0, 0, 0, 1] * 2, np.repeat(scores, 4))
    np.testing.assert_allclose(smooth_calibration(rows).observed, 0.25, atol=1e-12)


def test_the_roughness_is_still_a_sum_of_squares() -> None:
    """The integral of the squared second derivative, piecewise linear, is the sum of the squared coefficients."""
    knots = np.sort(np.concatenate((np.linspace(0.0, 1.0, 7), np.linspace(0.0, 1.0, 7)[:-1] + 1e-15)))
    spline = NaturalSpline.through(knots)
    assert spline.size == 7
    left, right = spline.bends[:-1, 2:], spline.bends[1:, 2:]
    step = np.diff(spline.knots)[:, None, None]
    products = (
        2 * left[:, :, None] * left[:, None, :]
        + 2 * right[:, :, None] * right[:, None, :]
        + left[:, :, None] * right[:, None, :]
        + right[:, :, None] * left[:, None, :]
    )
    np.testing.assert_allclose((step / 6 * products).sum(axis=0), np.eye(5), atol=1e-9)
