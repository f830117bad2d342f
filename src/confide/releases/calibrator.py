"""Recalibrating a model from private counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray, ScoreCounts, read_only
from confide.errors import ParameterError
from confide.grid import Grid
from confide.metrics.logistic_fit import logistic_fit, rates
from confide.privacy.guarantee import Guarantee

METHODS = ("isotonic", "logistic")
SCHEMA = "confide.calibrator/1"

_INSIDE = 1e-6
_STEEPEST = 50.0  # slope, in standard deviations, at which a fit of separated classes stops


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Calibrator:
    """A rising function from scores to probabilities, by lines between points: everything in it may be published.

    `calibrator(scores)` gives the probabilities; below the first point and above the last it is constant.
    """

    scores: FloatArray
    probabilities: FloatArray
    method: str
    guarantee: Guarantee

    def __post_init__(self) -> None:
        for name in ("scores", "probabilities"):
            object.__setattr__(self, name, read_only(np.asarray(getattr(self, name), dtype=np.float64)))

    def __call__(self, scores: ArrayLike) -> FloatArray:
        """Probabilities for scores."""
        given = np.asarray(scores, dtype=np.float64)
        if not np.isfinite(given).all():
            raise ParameterError("scores must be finite; remove or replace NaN and infinite scores first")
        result: FloatArray = np.interp(given, self.scores, self.probabilities)
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "schema": SCHEMA,
            "method": self.method,
            "scores": self.scores.tolist(),
            "probabilities": self.probabilities.tolist(),
            "guarantee": self.guarantee.to_dict(),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], guarantee: Guarantee) -> Calibrator:
        """Rebuild it; the guarantee is given, as plain data does not hold exact fractions."""
        return cls(
            scores=np.array(plain["scores"]),
            probabilities=np.array(plain["probabilities"]),
            method=plain["method"],
            guarantee=guarantee,
        )


def fit_calibrator(counts: ScoreCounts, grid: Grid, guarantee: Guarantee, method: str = "isotonic") -> Calibrator:
    """Fit a calibrator to counts on a grid."""
    if method not in METHODS:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    fit = _isotonic if method == "isotonic" else _logistic
    scores, probabilities = fit(counts, grid)
    return Calibrator(scores=scores, probabilities=probabilities, method=method, guarantee=guarantee)


def _isotonic(counts: ScoreCounts, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Compute the share of positives in each cell with rows, plus half a row of each class, rising with the score.

    So no risk becomes exactly 0 or 1, which no finite number of rows could show.
    """
    from scipy.optimize import isotonic_regression

    rows = counts.positives + counts.negatives + 1.0
    return counts.scores, isotonic_regression((counts.positives + 0.5) / rows, weights=rows).x


def _logistic(counts: ScoreCounts, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Log-odds as a line in those of the score, for probabilities, or in the score itself; the slope is not below 0."""
    rows = (counts.positives + counts.negatives).astype(np.float64)

    def feature(scores: FloatArray) -> FloatArray:
        if not counts.probabilities:
            return scores
        inside = np.clip(scores, _INSIDE, 1.0 - _INSIDE)
        odds: FloatArray = np.log(inside / (1.0 - inside))
        return odds

    x = feature(counts.scores)
    centre, spread = np.average(x, weights=rows), max(float(np.std(x)), 1e-9)

    design = np.column_stack((np.ones_like(x), (x - centre) / spread))
    intercept, slope = logistic_fit(design, counts.positives.astype(np.float64), rows, largest=_STEEPEST)
    if slope < 0.0:  # the best line that does not fall is flat
        intercept, slope = np.log(counts.prevalence / (1.0 - counts.prevalence)), 0.0
    at = np.union1d(grid.edges, grid.representatives)
    return at, rates(intercept + slope * (feature(at) - centre) / spread)
