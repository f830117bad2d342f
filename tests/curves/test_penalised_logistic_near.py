"""Fits that start near another one end where fits from scratch end."""

from __future__ import annotations

import numpy as np
import pytest

from confide import ScoreCounts
from confide.curves.penalised_logistic import logistic, penalised_fit, penalised_fit_near
from confide.intervals.replicates import draw_replicates
from confide.metrics.calibration_samples import SAMPLED_ERRORS, SampledCurves

KINDS = {
    "calibrated": lambda z: z - 1.35,
    "shifted": lambda z: z - 1.0,
    "curved": lambda z: 1.8 * np.sinh(z - 1.0),
}


def drawn(kind: str, rows: int, replicates: int) -> tuple[SampledCurves, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    labels = rng.random(rows) < 0.3
    scores = 1.0 / (1.0 + np.exp(-KINDS[kind](rng.standard_normal(rows) + labels)))
    curves = SampledCurves.of(ScoreCounts.from_arrays(labels, scores))
    sample = draw_replicates(curves.cells, replicates, rng, "rows")
    return curves, sample.positives, sample.negatives


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [20_000, 200_000])
def test_curves_are_those_of_fits_from_scratch(kind: str, rows: int) -> None:
    curves, positives, negatives = drawn(kind, rows, 150)
    assert curves.basis is not None
    design, ours = curves.basis.design, positives.astype(np.float64)
    every = curves.cells.positives[None, :].astype(np.float64)
    near = penalised_fit(design, every, every + curves.cells.negatives)
    fast = penalised_fit_near(design, ours, ours + negatives, near, tolerance=1e-6)
    slow = penalised_fit(design, ours, ours + negatives, tolerance=1e-6)
    gap = np.abs(logistic(fast.coefficients @ design.T) - logistic(slow.coefficients @ design.T)).max(axis=1)
    # A criterion with two minima of the same depth may be decided either way.
    assert np.mean(gap > 1e-5) <= 0.02
    assert np.quantile(gap, 0.9) < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_calibration_errors_stay(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    curves, positives, negatives = drawn(kind, 50_000, 200)
    fast = curves.errors(positives, negatives)
    monkeypatch.setattr("confide.metrics.calibration_samples._NEAR_FROM_ROWS", 10**9)
    slow = curves.errors(positives, negatives)
    for name in SAMPLED_ERRORS.values():
        ends = [np.quantile(getattr(each, name), (0.025, 0.975)) for each in (fast, slow)]
        np.testing.assert_allclose(ends[0], ends[1], rtol=1e-3)


def test_few_rows_are_fitted_from_scratch() -> None:
    curves, _, _ = drawn("shifted", 2_000, 1)
    assert curves._fit_of_all() is None
