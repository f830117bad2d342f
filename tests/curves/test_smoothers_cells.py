"""Cells of neighbouring scores, which make smooth curves fast, move curves and errors by less than 1e-4."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

import confide.curves.smoothing
from confide import ScoreCounts
from confide.curves import Loess, Spline, smooth_calibration
from confide.curves.calibration_spline import MOST_CELLS, SplineBasis, SplineCurve
from confide.curves.penalised_logistic import penalised_fit
from confide.metrics import CalibrationErrors, calibration_errors

LIMIT = 1e-4


def rows(kind: str, size: int) -> ScoreCounts:
    rng = np.random.default_rng(len(kind))
    if kind == "rare":  # most risks are below 0.05, and few are far above
        scores = 1 / (1 + np.exp(3 - 1.2 * rng.normal(size=size)))
        rates = 1 / (1 + np.exp(2) * ((1 - scores) / scores) ** (1 / 3))
    else:
        scores = rng.random(size)
        rates = np.clip(scores + 0.17 * np.sin(2 * np.pi * scores), 0, 1)
    return ScoreCounts.from_arrays(rng.random(size) < rates, scores)


class WithoutCells:
    """The spline, fitted to every distinct score."""

    def fit(self, counts: ScoreCounts) -> SplineCurve:
        basis = SplineBasis.of(counts, Spline().knots, cells=len(counts))
        assert basis is not None
        assert len(basis.design) == len(counts)
        positives = counts.positives[None].astype(np.float64)
        fit = penalised_fit(basis.design, positives, positives + counts.negatives)
        return SplineCurve(basis=basis, coefficients=fit.coefficients[0], covariance=np.linalg.inv(fit.information[0]))


def apart(first: CalibrationErrors, second: CalibrationErrors) -> float:
    return float(np.abs(np.subtract(astuple(first), astuple(second))).max())


@pytest.mark.parametrize("kind", ["S", "rare"])
def test_spline(kind: str) -> None:
    counts = rows(kind, 20_000)
    assert len(counts) > 4 * MOST_CELLS
    found, exact = (smooth_calibration(counts, smoother=smoother) for smoother in (Spline(), WithoutCells()))
    np.testing.assert_allclose(found.observed, exact.observed, atol=LIMIT)
    np.testing.assert_allclose(found.standard_error, exact.standard_error, atol=LIMIT)
    assert apart(calibration_errors(counts), calibration_errors(counts, smoother=WithoutCells())) < LIMIT


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["S", "rare"])
def test_loess(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = rows(kind, 2_600)
    found = smooth_calibration(counts, smoother=Loess()), calibration_errors(counts, smoother=Loess())
    monkeypatch.setattr(confide.curves.smoothing, "MOST_CELLS", 5_000)
    exact = smooth_calibration(counts, smoother=Loess()), calibration_errors(counts, smoother=Loess())
    np.testing.assert_allclose(found[0].observed, exact[0].observed, atol=LIMIT)
    assert apart(found[1], exact[1]) < LIMIT


def test_scores_of_zero_and_one_have_a_place() -> None:
    """Three rows of four at score 0 are negative; the curve neither fails nor reaches 0 or 1 there."""
    scores = np.repeat([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], 40)
    labels = np.tile(np.arange(40), 6) < np.repeat([10, 12, 16, 24, 28, 30], 40)
    curve = smooth_calibration(ScoreCounts.from_arrays(labels, scores))
    np.testing.assert_allclose(curve.observed, [0.25, 0.3, 0.4, 0.6, 0.7, 0.75], atol=0.05)
    np.testing.assert_allclose(curve.observed, 1 - curve.observed[::-1], atol=1e-8)


@pytest.mark.parametrize("smoother", [Spline(), Loess()])
def test_one_score_has_the_share_of_its_rows(smoother: Spline | Loess) -> None:
    curve = smooth_calibration(ScoreCounts.from_arrays([0, 1, 1, 1], [0.5] * 4), smoother=smoother)
    assert curve.observed.tolist() == pytest.approx([0.75], abs=1e-12)
    assert curve.standard_error.tolist() == pytest.approx([np.sqrt(0.75 * 0.25 / 4)], abs=1e-12)


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_has_a_constant_curve(label: int) -> None:
    counts = ScoreCounts.from_arrays([label] * 5, [0.1, 0.2, 0.3, 0.5, 0.9], one_class=True)
    curve = smooth_calibration(counts)
    assert curve.observed.tolist() == [float(label)] * 5
    lower, upper = curve.band()
    np.testing.assert_array_equal(lower, upper)


@pytest.mark.parametrize("labels", [[0] * 10 + [1] * 10, [0] * 7 + [1] * 6 + [0] * 7, [0] * 9 + [1, 0] + [1] * 9])
def test_separated_classes_have_a_curve(labels: list[int]) -> None:
    """The likelihood has no maximum; the curve still lies in [0, 1] and follows the labels."""
    counts = ScoreCounts.from_arrays(labels, np.linspace(0.03, 0.97, 20))
    curve = smooth_calibration(counts)
    assert ((curve.observed >= 0) & (curve.observed <= 1)).all()
    assert np.corrcoef(curve.observed, labels)[0, 1] > 0.8
