"""Smooth calibration curve: the positives' share as a function of the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray, ScoreCounts, read_only
from confide.curves.calibration_spline import Spline
from confide.curves.loess import Loess
from confide.curves.reliability import check_probabilities
from confide.errors import ParameterError
from confide.predictions import accepts_predictions

_POINTS = 1_000


class FittedCurve(Protocol):
    """A curve that was fitted to rows."""

    def observed(self, scores: FloatArray) -> FloatArray:
        """Share of positives at ascending scores."""

    def standard_error(self, scores: FloatArray) -> FloatArray:
        """Pointwise standard error of the share at ascending scores."""


class Smoother(Protocol):
    """A way to smooth labels on scores: `Spline` or `Loess`."""

    def fit(self, counts: ScoreCounts) -> FittedCurve:
        """Fit the curve."""


SmootherChoice = Smoother | Literal["spline", "loess"]


@dataclass(frozen=True, slots=True, eq=False)
class SmoothCalibration:
    """A smooth curve of the positives' share against the score, with its pointwise standard error."""

    score: FloatArray
    observed: FloatArray
    standard_error: FloatArray

    def __post_init__(self) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def band(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return pointwise limits, symmetric about the curve in log-odds and so within [0, 1].

        Where the curve is 0 or 1 the limits are the curve itself.
        """
        from scipy.special import ndtri

        if not 0.0 < level < 1.0:
            raise ParameterError(f"level must lie between 0 and 1, got {level!r}")
        spread = self.observed * (1.0 - self.observed)
        inside = spread > 0.0
        p = np.where(inside, self.observed, 0.5)
        reach = np.divide(self.standard_error, spread, out=np.zeros_like(spread), where=inside)
        odds = p / (1.0 - p) * np.exp(np.outer((-1.0, 1.0), np.minimum(float(ndtri(0.5 + level / 2.0)) * reach, 300.0)))
        lower, upper = np.where(inside, odds / (1.0 + odds), self.observed)
        return lower, upper


@accepts_predictions
def smooth_calibration(
    counts: ScoreCounts, *, smoother: SmootherChoice = "spline", at: ArrayLike | None = None
) -> SmoothCalibration:
    """Smooth the label on the score.

    `smoother` is "spline" (`Spline()`: penalised logistic spline), "loess" (`Loess()`: local regression with R's
    defaults), or an object with other settings. The curve is computed at the ascending scores `at`; by default at every
    distinct score, or at a thousand of them if there are more. The standard error is pointwise, for independent rows.
    """
    curve = fitted_curve(counts, smoother)
    points = _evaluation_scores(counts.scores) if at is None else _checked_points(at)
    return SmoothCalibration(points, curve.observed(points), curve.standard_error(points))


def fitted_curve(counts: ScoreCounts, smoother: SmootherChoice) -> FittedCurve:
    """Fit a calibration curve, refusing scores that are not probabilities."""
    check_probabilities(counts)
    return chosen_smoother(smoother).fit(counts)


def chosen_smoother(smoother: SmootherChoice) -> Smoother:
    """Return the smoother of a name; a smoother stays as it is."""
    named: dict[str, Smoother] = {"spline": Spline(), "loess": Loess()}
    if isinstance(smoother, str):
        if smoother in named:
            return named[smoother]
    elif hasattr(smoother, "fit"):
        return smoother
    raise ParameterError(
        f"smoother must be 'spline', 'loess', Spline(knots=...) or Loess(span=..., degree=...), got {smoother!r}"
    )


def _checked_points(at: ArrayLike) -> FloatArray:
    points = np.atleast_1d(np.asarray(at, dtype=np.float64))
    if points.ndim != 1 or not points.size or not ((points >= 0.0) & (points <= 1.0)).all():
        raise ParameterError("at must hold scores in [0, 1], one at least")
    if (np.diff(points) < 0.0).any():
        raise ParameterError("at must be ascending; sort it")
    return points


def _evaluation_scores(score: FloatArray) -> FloatArray:
    """Return every score, or of many scores some at equal ranks and some at equal distances."""
    if score.size <= _POINTS:
        return score
    chosen = np.linspace(0, score.size - 1, _POINTS // 2).round().astype(np.int64)
    even = np.linspace(score[0], score[-1], _POINTS // 2)
    return np.union1d(score[chosen], even)
