"""Smooth calibration curve: by a spline, or by loess as R computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray, ScoreCounts, equal_mass_starts, read_only
from confide.counts_or_arrays import accepts_predictions
from confide.curves.calibration_spline import Spline
from confide.curves.reliability import check_probabilities
from confide.errors import ParameterError

MOST_CELLS = 2_000
"""Distinct scores beyond which neighbours share a cell, at their mean: half as many cells of equal mass, cut further
where they would be wider than one of half as many equal parts of the scores' range."""

_PAIRS = 1 << 19  # of points and cells at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Loess:
    """Local polynomial of degree 1 or 2 with tricube weights on the nearest `span` share of the rows.

    Equals R's `loess(y ~ p, span = span, degree = degree, surface = "direct")`, cut to [0, 1]. (By default R fits at a
    few scores only and interpolates between them.) Where all neighbours have one score, the curve is their share.
    """

    span: float = 0.75
    degree: int = 2

    def __post_init__(self) -> None:
        if not 0.0 < self.span <= 1.0:
            raise ParameterError(f"span must lie in (0, 1], got {self.span!r}")
        if self.degree not in (1, 2):
            raise ParameterError(f"degree must be 1 or 2, got {self.degree!r}")

    def fit(self, counts: ScoreCounts) -> LoessCurve:
        """Prepare the rows; each point of the curve is fitted when it is evaluated."""
        few = _cells(counts)
        weight = (few.positives + few.negatives).astype(np.float64)
        needed = self.span * float(weight.sum())
        if np.all(weight == np.floor(weight)):  # of whole rows the span is a whole number, as in R
            needed = np.floor(needed + 1e-5)
        return LoessCurve(
            scores=few.scores, weight=weight, share=few.positives / weight, needed=needed, degree=self.degree,
            ends=(float(counts.scores[0]), float(counts.scores[-1])),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LoessCurve:
    """Local regression at any score; `needed` is the weight of a neighbourhood."""

    scores: FloatArray
    weight: FloatArray
    share: FloatArray
    needed: float
    degree: int
    ends: tuple[float, float]

    def observed(self, scores: FloatArray) -> FloatArray:
        """Share of positives at ascending scores; between cells it is interpolated where scores are very many."""
        return self._evaluate(scores)[0]

    def standard_error(self, scores: FloatArray) -> FloatArray:
        """Pointwise standard error of a weighted sum of independent labels."""
        return self._evaluate(scores)[1]

    def _evaluate(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        if scores.size > MOST_CELLS:
            nodes = np.union1d(self.scores, self.ends)
            fitted, error = self._fit_all(nodes)
            return np.interp(scores, nodes, fitted), np.interp(scores, nodes, error)
        return self._fit_all(scores)

    def _fit_all(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        step = max(1, _PAIRS // self.scores.size)
        parts = [self._fit(points[first : first + step]) for first in range(0, points.size, step)]
        return np.concatenate([fitted for fitted, _ in parts]), np.concatenate([error for _, error in parts])

    def _fit(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        influence = self._influence(points)
        fitted = np.clip(influence @ self.share, 0.0, 1.0)
        variance = (influence**2 @ (1.0 / self.weight)) * fitted * (1.0 - fitted)
        return fitted, np.sqrt(variance)

    def _influence(self, points: FloatArray) -> FloatArray:
        """Weight of each cell's share in the curve at each point: the first row of a least-squares inverse."""
        away = self.scores - points[:, None]
        width = self._widths(np.abs(away))
        narrow = width <= 0.0
        u = away / np.where(narrow, 1.0, width)[:, None]
        kernel = self.weight * np.clip(1.0 - np.abs(u) ** 3, 0.0, None) ** 3
        alone = narrow | (np.count_nonzero(kernel, axis=1) < 2)  # every neighbour but the point itself lies on the rim
        kernel[alone] = self.weight * (np.abs(away[alone]) <= width[alone, None])
        total = kernel.sum(axis=1)
        moments = [total, *(np.sum(kernel * u**power, axis=1) for power in range(1, 2 * self.degree + 1))]
        place = np.arange(self.degree + 1)
        matrix = np.stack(moments, axis=-1)[:, place[:, None] + place] / total[:, None, None]
        row = np.linalg.pinv(matrix, rcond=1e-12, hermitian=True)[:, 0, :] / total[:, None]
        polynomial = row[:, :1] + sum(row[:, power, None] * u**power for power in place[1:])
        influence: FloatArray = kernel * polynomial
        return influence

    def _widths(self, distance: FloatArray) -> FloatArray:
        """Return the distance within which each point has the needed weight."""
        nearest = np.argsort(distance, axis=1, kind="stable")
        through = np.cumsum(self.weight[nearest], axis=1)
        last = np.sum(through < self.needed * (1.0 - 1e-12), axis=1)
        chosen = nearest[np.arange(last.size), np.minimum(last, self.weight.size - 1)]
        widths: FloatArray = distance[np.arange(last.size), chosen]
        return widths


def _cells(counts: ScoreCounts) -> ScoreCounts:
    if len(counts) <= MOST_CELLS:
        return counts
    parts = MOST_CELLS // 2
    narrow = np.searchsorted(counts.scores, np.linspace(counts.scores[0], counts.scores[-1], parts + 1)[:-1])
    return counts.merged(np.union1d(equal_mass_starts(counts.positives + counts.negatives, parts), narrow))


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
