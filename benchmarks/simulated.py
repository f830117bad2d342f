"""Rows drawn many times from distributions whose AUC is known, and noise from NumPy: fast, and not private.

Each repetition draws its number of positives (binomial) and its scores anew; all repetitions are
sorted together, and what depends on ranks is computed from the sorted labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, logit, ndtr, ndtri

from confide.counts import FloatArray, ScoreCounts
from confide.intervals.interval import all_or_nothing_ends, normal_quantile
from confide.privacy.queries import Noise

_ELEMENTS = 1_000_000  # rows that are sorted at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Normal scores, positives spread `ratio` times as much as negatives; or exponential ones (Hanley and McNeil).

    Tied ones are normal scores of equal spread, shown at five levels, a deviation wide but for the outer two.
    """

    auc: float
    ratio: float = 1.0
    exponential: bool = False
    tied: bool = False

    @property
    def shift(self) -> float:
        """How far apart the means of normal scores are."""
        if self.tied:
            return float(brentq(lambda shift: _area(*_levels(shift)) - self.auc, -12.0, 12.0))
        return float(ndtri(self.auc)) * math.sqrt(1.0 + self.ratio**2)

    @property
    def name(self) -> str:
        if self.exponential:
            return "exponential"
        if self.tied:
            return "tied at five levels"
        return "binormal" if self.ratio == 1.0 else f"binormal, positives' spread x {self.ratio:g}"

    def draw(self, positive: np.ndarray, rng: np.random.Generator) -> FloatArray:
        """A score for each row, without ties."""
        if self.exponential:
            return rng.standard_exponential(positive.shape) * np.where(positive, self.auc / (1.0 - self.auc), 1.0)
        scores = rng.standard_normal(positive.shape)
        return np.where(positive, self.ratio * scores + self.shift, scores)

    def average_precision(self, prevalence: float) -> float:
        """The population's average precision, for normal scores: the mean precision over equal steps of recall."""
        recall = (np.arange(200_000) + 0.5) / 200_000
        threshold = self.shift - self.ratio * ndtri(recall)
        caught = math.log(prevalence) + np.log(recall)
        return float(expit(caught - math.log1p(-prevalence) - log_ndtr(-threshold)).mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """What each repetition's rows give exactly; `twice` is 2U - nm, both classes' sizes are whole numbers."""

    positives: FloatArray
    negatives: FloatArray
    twice: FloatArray
    auc: FloatArray
    auc_variance: FloatArray
    average_precision: FloatArray

    def delong_width(self, level: float) -> FloatArray:
        """How wide the interval of somebody with the rows is (DeLong, logit); 1 with fewer than two rows of a class."""
        z = normal_quantile(level)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = z * np.sqrt(self.auc_variance) / (self.auc * (1.0 - self.auc))
            width = expit(logit(self.auc) + reach) - expit(logit(self.auc) - reach)
        smaller = np.minimum(self.positives, self.negatives)
        for i in np.flatnonzero((self.auc <= 0.0) | (self.auc >= 1.0)):
            lower, upper = all_or_nothing_ends(float(self.auc[i]), float(smaller[i]), level)
            width[i] = upper - lower
        return np.where(smaller < 2.0, 1.0, width)

    def logit_width(self, level: float) -> FloatArray:
        """The same for average precision, as a proportion of the positives on the log-odds scale."""
        area = np.clip(self.average_precision, 1e-12, 1.0 - 1e-12)
        reach = normal_quantile(level) / np.sqrt(np.maximum(self.positives, 1.0) * area * (1.0 - area))
        return expit(logit(area) + reach) - expit(logit(area) - reach)


def draw_samples(scores: Scores, rows: int, prevalence: float, repetitions: int, rng: np.random.Generator) -> Samples:
    """Draw repetitions of a data set."""
    if scores.tied:
        return _tied(scores, rows, rng.binomial(rows, prevalence, repetitions), rng)
    most = max(_ELEMENTS // rows, 1)
    sizes = [min(most, repetitions - start) for start in range(0, repetitions, most)]
    parts = [_ranked(scores, rows, rng.binomial(rows, prevalence, size), rng) for size in sizes]
    return Samples(
        positives=np.concatenate([part[0] for part in parts]),
        negatives=np.concatenate([part[1] for part in parts]),
        twice=np.concatenate([part[2] for part in parts]),
        auc=np.concatenate([part[3] for part in parts]),
        auc_variance=np.concatenate([part[4] for part in parts]),
        average_precision=np.concatenate([part[5] for part in parts]),
    )


def _levels(shift: float) -> tuple[FloatArray, FloatArray]:
    """The chances of the five levels for positives and negatives whose means are so far apart."""
    cuts = np.array([-1.5, -0.5, 0.5, 1.5]) + shift / 2.0
    ours, theirs = (np.diff(ndtr(cuts - mean), prepend=0.0, append=1.0) for mean in (shift, 0.0))
    return ours, theirs


def _area(ours: FloatArray, theirs: FloatArray) -> float:
    return float((ours * (np.cumsum(theirs) - theirs / 2.0)).sum())


def _tied(scores: Scores, rows: int, positives: np.ndarray, rng: np.random.Generator) -> Samples:
    """Repetitions of tied scores, by the numbers of rows at each level; average precision is not computed."""
    chances = _levels(scores.shift)
    ours, theirs = (
        rng.multinomial(size, p).astype(float) for size, p in zip((positives, rows - positives), chances, strict=True)
    )
    n, m = ours.sum(axis=1), theirs.sum(axis=1)
    below = np.cumsum(theirs, axis=1) - theirs / 2.0
    above = n[:, None] - np.cumsum(ours, axis=1) + ours / 2.0
    wins, pairs = (ours * below).sum(axis=1), n * m
    auc = np.divide(wins, pairs, out=np.full_like(n, 0.5), where=pairs > 0.0)
    squares = (ours * below**2).sum(axis=1), (theirs * above**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (squares[0] / m**2 - n * auc**2) / (n - 1.0) / n + (squares[1] / n**2 - m * auc**2) / (m - 1.0) / m
    return Samples(
        positives=n,
        negatives=m,
        twice=2.0 * wins - pairs,
        auc=auc,
        auc_variance=np.maximum(variance, 0.0),
        average_precision=np.full_like(n, np.nan),
    )


def _ranked(scores: Scores, rows: int, positives: np.ndarray, rng: np.random.Generator) -> tuple[FloatArray, ...]:
    drawn = scores.draw(np.arange(rows) < positives[:, None], rng)
    # The last bit of a score says its class, so that sorting scores sorts labels as well.
    bits = drawn.view(np.int64)
    bits &= ~np.int64(1)
    bits |= np.arange(rows) < positives[:, None]
    drawn.sort(axis=1)
    ours = (bits & 1).astype(np.float64)
    n = positives.astype(np.float64)
    m = rows - n
    up_to, below = np.cumsum(ours, axis=1), np.cumsum(1.0 - ours, axis=1)
    above = n[:, None] - up_to
    wins = np.einsum("ij,ij->i", ours, below)
    pairs = n * m
    auc = np.divide(wins, pairs, out=np.full_like(n, 0.5), where=pairs > 0.0)
    squares = np.einsum("ij,ij,ij->i", ours, below, below), np.einsum("ij,ij,ij->i", 1.0 - ours, above, above)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (squares[0] / m**2 - n * auc**2) / (n - 1.0) / n + (squares[1] / n**2 - m * auc**2) / (m - 1.0) / m
    rank = above + 1.0
    precise = np.einsum("ij,ij->i", ours, rank / (rank + m[:, None] - below))
    area = np.divide(precise, n, out=np.zeros_like(n), where=n > 0.0)
    return n, m, 2.0 * wins - pairs, auc, np.maximum(variance, 0.0), area


def draw_counts(
    scores: Scores, rows: int, prevalence: float, rng: np.random.Generator, *, positives: int | None = None
) -> ScoreCounts:
    """Draw one data set whose normal scores are shown as calibrated probabilities."""
    ours = np.arange(rows) < (rng.binomial(rows, prevalence) if positives is None else positives)
    shift = scores.shift
    shown = expit(logit(prevalence) + shift * (scores.draw(ours, rng) - shift / 2.0))
    return ScoreCounts.from_arrays(ours, shown)


def brier_of(scores: Scores, prevalence: float) -> float:
    """The Brier score of the population that `draw_counts` draws from."""
    normal, shift = ndtri((np.arange(200_000) + 0.5) / 200_000), scores.shift
    missed, false = (expit(logit(prevalence) + shift * (normal + at - shift / 2.0)) for at in (shift, 0.0))
    return float(prevalence * ((1.0 - missed) ** 2).mean() + (1.0 - prevalence) * (false**2).mean())


def halfway(scores: Scores, prevalence: float) -> tuple[float, float]:
    """Recall and precision of the same population at a threshold equal to the prevalence."""
    right, wrong = float(ndtr(scores.shift / 2.0)), float(ndtr(-scores.shift / 2.0))
    return right, prevalence * right / (prevalence * right + (1.0 - prevalence) * wrong)


def laplace_integers(scale: Fraction, size: int | tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Discrete Laplace noise: the difference of two geometric variables."""
    stop = -math.expm1(-1.0 / float(scale))
    noise: FloatArray = (rng.geometric(stop, size) - rng.geometric(stop, size)).astype(np.float64)
    return noise


def numpy_noise(rng: np.random.Generator) -> Noise:
    """Noise for a release that must be fast and need not be private."""

    def add(values: Sequence[int], scale: Fraction) -> list[int]:
        noise = laplace_integers(scale, len(values), rng)
        return [value + int(extra) for value, extra in zip(values, noise, strict=True)]

    return Noise(discrete_laplace=add)
