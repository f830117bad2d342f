"""Smooth calibration curves beside R: penalised splines of mgcv, local regression of stats::loess.

d <- read.csv("heart_attack.csv"); y <- d$died; p <- d$logistic; at <- c(0.03, 0.06, 0.12, 0.25, 0.45)
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray

import confide
from confide import ScoreCounts
from confide.curves import Loess, Spline, smooth_calibration
from confide.errors import ParameterError
from confide.metrics import calibration_errors

AT = (0.03, 0.06, 0.12, 0.25, 0.45)


@pytest.fixture(scope="module")
def heart() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    with (files("confide.examples") / "heart_attack.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    return np.array([int(row["died"]) for row in rows]), np.array([float(row["logistic"]) for row in rows])


# f <- loess(y ~ p, degree = degree, span = span, control = loess.control(surface = "direct")); predict(f, at)
# e <- abs(pmin(1, pmax(0, fitted(f))) - p); c(mean(e), quantile(e, c(.5, .9), type = 2), max(e))
# R's default, surface = "interpolate", is up to 0.027 away from this on these rows, and its ICI by up to 0.0017.
@pytest.mark.parametrize(
    ("degree", "span", "curve", "errors"),
    [
        (
            *(1, 0.75, [0.0372388813725, 0.0667371898345, 0.1273245942023, 0.2758862250562, 0.4468618154713]),
            [0.0124072324179, 0.0075766437794, 0.0263257008218, 0.0624376225859],
        ),
        (
            *(1, 0.4, [0.0474883290257, 0.0755740239749, 0.1082410171502, 0.2683115086870, 0.4313748710756]),
            [0.0185191138420, 0.0156126599718, 0.0352667476644, 0.0682181163586],
        ),
        (
            *(2, 0.75, [0.0482888734424, 0.0666505568069, 0.1150171215874, 0.2697590898075, 0.4350466344203]),
            [0.0172202465210, 0.0143887426206, 0.0410095041846, 0.1085414467528],
        ),
        (
            *(2, 0.4, [0.0480607613256, 0.0907698252422, 0.0684651696705, 0.2736383464687, 0.3776420902822]),
            [0.0333215586020, 0.0278851352396, 0.0687756524817, 0.1969968833250],
        ),
    ],
)
def test_loess(
    heart: tuple[NDArray[np.int64], NDArray[np.float64]],
    degree: int,
    span: float,
    curve: Sequence[float],
    errors: Sequence[float],
) -> None:
    smoother, counts = Loess(degree=degree, span=span), ScoreCounts.from_arrays(*heart)
    assert smooth_calibration(counts, smoother=smoother, at=AT).observed == pytest.approx(curve, abs=1e-6)
    found = calibration_errors(counts, smoother=smoother)
    assert [found.ici, found.e50, found.e90, found.emax] == pytest.approx(errors, abs=1e-6)


# q <- 0.05 + 0.9 * p^3 (or rounded); x <- qlogis(q)
# g <- gam(y ~ s(x, k = k, bs = "cr"), family = binomial, method = "REML",
#          control = gam.control(epsilon = 1e-13, newton = list(conv.tol = 1e-11)))
# f <- predict(g, data.frame(x = qlogis(at)), se = TRUE); plogis(f$fit); f$se.fit * dlogis(f$fit); errors as above
@pytest.mark.parametrize(
    ("digits", "knots", "curve", "standard_error", "errors"),
    [
        (
            *(9, 10, [0.00625392414952, 0.19231394002446, 0.40280051076009, 0.61839911147708, 0.77549366897585]),
            [0.006579850945, 0.029025589762, 0.054301463099, 0.057707920406, 0.058243337533],
            [0.1559937912308, 0.0988448949872, 0.3258049177420, 0.3920302785659],
        ),
        (
            *(2, 10, [0.0137701737058, 0.1822770016346, 0.4185402607978, 0.6945965481410, 0.7819371540199]),
            [0.007324448763, 0.022712347836, 0.056522694168, 0.074693577842, 0.087031944559],
            [0.155323191493, 0.122277001635, 0.333502305895, 0.444596548141],
        ),
        (
            *(2, 6, [0.0508800438157, 0.1629360282659, 0.4015423454883, 0.6295181002825, 0.7403856381915]),
            [0.01488954496, 0.01917063138, 0.04325075095, 0.05190886134, 0.05819469627],
            [0.155180000000, 0.102936028266, 0.362071594217, 0.380057268671],
        ),
    ],
)
def test_spline(
    heart: tuple[NDArray[np.int64], NDArray[np.float64]],
    digits: int,
    knots: int,
    curve: Sequence[float],
    standard_error: Sequence[float],
    errors: Sequence[float],
) -> None:
    labels, risks = heart
    scores = 0.05 + 0.9 * risks**3
    counts = ScoreCounts.from_arrays(labels, np.round(scores, digits) if digits < 9 else scores)
    found = smooth_calibration(counts, smoother=Spline(knots=knots), at=AT)
    assert found.observed == pytest.approx(curve, abs=1e-6)
    assert found.standard_error == pytest.approx(standard_error, abs=1e-6)
    error = calibration_errors(counts, smoother=Spline(knots=knots))
    assert [error.ici, error.e50, error.e90, error.emax] == pytest.approx(errors, abs=1e-6)


def test_spline_under_its_strongest_penalty_is_logistic_recalibration(
    heart: tuple[NDArray[np.int64], NDArray[np.float64]],
) -> None:
    """REML finds no curvature on these rows. rms::val.prob(p, y): Intercept -0.0777815284, Slope 0.8904435281."""
    counts = ScoreCounts.from_arrays(*heart)
    assert confide.metrics.joint_intercept(counts) == pytest.approx(-0.07778152842330, abs=1e-8)
    assert confide.metrics.calibration_slope(counts) == pytest.approx(0.89044352809910, abs=1e-8)
    expected = 1 / (1 + np.exp(0.07778152842330) * ((1 - np.array(AT)) / AT) ** 0.89044352809910)
    assert smooth_calibration(counts, at=AT).observed == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("bad", ["lowess", 3, None])
def test_unknown_smoothers_are_refused(bad: object) -> None:
    with pytest.raises(ParameterError, match="smoother must be"):
        smooth_calibration(ScoreCounts.from_arrays([0, 1], [0.2, 0.6]), smoother=bad)  # type: ignore[call-overload]


@pytest.mark.parametrize("make", [lambda: Loess(span=0.0), lambda: Loess(degree=3), lambda: Spline(knots=2)])
def test_settings_outside_their_range_are_refused(make: object) -> None:
    with pytest.raises(ParameterError, match="must"):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("at", [[], [0.5, 0.4], [-0.1], [np.nan]])
def test_points_that_are_not_ascending_probabilities_are_refused(at: list[float]) -> None:
    with pytest.raises(ParameterError, match="at must"):
        smooth_calibration(ScoreCounts.from_arrays([0, 1], [0.2, 0.6]), at=at)
