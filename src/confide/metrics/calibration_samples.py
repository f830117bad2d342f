"""Calibration errors of many samples of the same scores at once, for the bootstrap and the jackknife."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.counts import CountArray, FloatArray, ScoreCounts
from confide.curves.calibration_spline import Spline, SplineBasis
from confide.curves.penalised_logistic import (
    PenalisedFit,
    logistic,
    penalised_fit,
    penalised_fit_near,
    small_products,
)
from confide.curves.reliability import check_probabilities

SAMPLED_ERRORS = {
    "integrated_calibration_index": "ici",
    "calibration_e50": "e50",
    "calibration_e90": "e90",
    "calibration_emax": "emax",
}
"""Metrics that `SampledCurves` computes, and what they are called there."""

_MOST_CELLS = 512
_AT_A_TIME = 1 << 17  # samples times cells
_NEAR_FROM_ROWS = 20_000  # samples of fewer rows differ too much from all rows to start from their fit
_TOLERANCE = 1e-6  # of the penalty's logarithm


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampledErrors:
    """Calibration errors of each sample."""

    ici: FloatArray
    e50: FloatArray
    e90: FloatArray
    emax: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampledCurves:
    """Default calibration curve for samples that share scores and knots.

    A sample keeps the knots of the counts it was drawn from and chooses its own penalty. Of more than 512 distinct
    scores, neighbours share a cell of equal width in log-odds. Samples are drawn from `cells`, the counts of all cells.
    """

    cells: ScoreCounts
    basis: SplineBasis | None

    @classmethod
    def of(cls, counts: ScoreCounts) -> SampledCurves:
        """Prepare knots and cells."""
        check_probabilities(counts)
        basis = SplineBasis.of(counts, Spline().knots, _MOST_CELLS)
        return cls(cells=counts if basis is None else basis.cells, basis=basis)

    def errors(self, positives: CountArray, negatives: CountArray) -> SampledErrors:
        """Fit each sample, a line of counts of each class in the cells, and summarise its errors.

        Numbers are NaN for a sample without both classes.
        """
        step = max(1, _AT_A_TIME // len(self.cells))
        near = self._fit_of_all()

        def part(first: int) -> FloatArray:
            ours, theirs = positives[first : first + step].astype(np.float64), negatives[first : first + step]
            return self._errors(ours, theirs, near)

        # Threads would wait for those of the linear algebra library, and for each other.
        parts = [part(first) for first in range(0, len(positives), step)]
        ici, e50, e90, emax = np.concatenate(parts, axis=1)
        return SampledErrors(ici=ici, e50=e50, e90=e90, emax=emax)

    def _fit_of_all(self) -> PenalisedFit | None:
        """Fit the counts that samples are drawn from; None where these are too few for samples to start from it."""
        if self.basis is None or self.cells.total_positives + self.cells.total_negatives < _NEAR_FROM_ROWS:
            return None
        positives = self.cells.positives[None, :].astype(np.float64)
        return penalised_fit(self.basis.design, positives, positives + self.cells.negatives)

    def _errors(self, positives: FloatArray, negatives: CountArray, near: PenalisedFit | None) -> FloatArray:
        rows = positives + negatives
        gap = np.abs(self._shares(positives, rows, near) - self.cells.scores)
        gap[rows <= 0.0] = 0.0  # scores that a sample does not have
        order = np.argsort(gap, axis=1)
        ascending, through = np.take_along_axis(gap, order, 1), np.cumsum(np.take_along_axis(rows, order, 1), axis=1)
        mean = np.sum(gap * rows, axis=1) / through[:, -1]
        percentiles = (_percentiles(ascending, through, share) for share in (0.5, 0.9))
        found = np.stack((mean, *percentiles, ascending[:, -1]))
        found[:, (positives.sum(axis=1) <= 0.0) | (positives.sum(axis=1) >= through[:, -1])] = np.nan
        return found

    def _shares(self, positives: FloatArray, rows: FloatArray, near: PenalisedFit | None) -> FloatArray:
        if self.basis is None:
            return np.repeat(positives.sum(axis=1, keepdims=True) / rows.sum(axis=1, keepdims=True), rows.shape[1], 1)
        if near is None:
            fit = penalised_fit(self.basis.design, positives, rows, tolerance=_TOLERANCE)
        else:
            fit = penalised_fit_near(self.basis.design, positives, rows, near, tolerance=_TOLERANCE)
        return logistic(small_products(fit.coefficients, self.basis.design.T))


def _percentiles(ascending: FloatArray, through: FloatArray, share: float) -> FloatArray:
    """Return for each line the value at which the weight passes a share; midway if it is reached exactly."""
    target, slack = share * through[:, -1:], 1e-12 * through[:, -1:]
    last = ascending.shape[1] - 1
    ends = [np.minimum(np.sum(through < target + sign * slack, axis=1), last)[:, None] for sign in (-1.0, 1.0)]
    first, second = (np.take_along_axis(ascending, end, 1)[:, 0] for end in ends)
    middle: FloatArray = (first + second) / 2.0
    return middle
