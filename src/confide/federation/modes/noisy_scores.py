"""Mode `noisy-scores`: a published method, for comparison only. It is not differentially private.

Sites send a noisy score of every row in round 1 and exact sums of placements in round 2. What both hold, and how they
are made and read, is here too: sites and the coordinator share it.

Round 1: each site adds Gaussian noise to the scores of its positives and of its negatives and sends them; pooled, they
give approximate survivor functions S1 and S0. Round 2: each site places its exact scores in these and sends how many
positives have `S0(score) <= t` at each threshold t, which the ROC-GLM is fitted to, and the sums and sums of squares of
all placements, from which the variance of the AUC follows (Schalk et al. 2024, "Distributed ROC-GLM"). `NOT_PRIVATE`
says why that is no guarantee; every message carries it.

Unlike in the packages that accompany the paper, noise comes from the operating system's generator: there is no seed to
guess, and no two sites have the same noise.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from confide.counts import CountArray, FloatArray, ScoreCounts, read_only
from confide.curves.roc_glm import RocGlm, equidistant_thresholds, fit_roc_glm
from confide.errors import DataError, FederationError, ParameterError
from confide.federation.modes.exact import ExactMode
from confide.intervals.delong import auc_interval
from confide.intervals.interval import Estimate
from confide.privacy.guarantee import checked_epsilon, exact_fraction, shown

if TYPE_CHECKING:
    from confide.federation.question import Question

_NUMBERS = ("epsilon", "delta", "sensitivity")


class NoisyScoresMode(ExactMode):
    """Noise on scores that promises nothing; `epsilon`, `delta` and `sensitivity` set its scale alone."""

    name = "noisy-scores"
    title = "noisy scores, NOT differentially private"
    summary = "noise on scores, as in a published method, for comparisons; it promises nothing proven"
    grid = "uniform:65536"
    minimum_cell = 5
    parameters = frozenset({"minimum_cell", *_NUMBERS})
    comparison_only = True
    free_reason = "its noise promises nothing"

    def complete(self, given: Mapping[str, Any], sites: int) -> dict[str, Any]:
        """Check the numbers that set the scale of the noise."""
        delta, sensitivity = (
            None if given[name] is None else str(exact_fraction(given[name], name)) for name in ("delta", "sensitivity")
        )
        epsilon = str(checked_epsilon(given["epsilon"]))
        return {**super().complete(given, sites), "epsilon": epsilon, "delta": delta, "sensitivity": sensitivity}

    def check_question(self, question: Question) -> None:
        """Refuse a question without `delta` and `sensitivity`, or with values that no noise has."""
        if question.delta is None or question.sensitivity is None:
            raise ParameterError(f"mode {self.name} needs `delta` and the model's `sensitivity`; give both")
        if not 0 < Fraction(question.delta) < 1 or Fraction(question.sensitivity) <= 0:
            raise ParameterError("`delta` must lie between 0 and 1, and `sensitivity` must be above 0")

    def fixed_terms(self, question: Question) -> dict[str, Any]:
        """Return the terms of every exact mode, and those of the noise."""
        return {**super().fixed_terms(question), **{name: getattr(question, name) for name in _NUMBERS}}

    def promise(self, question: Question) -> tuple[str, ...]:
        """Return why this mode is not private."""
        return (NOT_PRIVATE,)

    def released(self, question: Question) -> str:
        """Return that every row leaves a site."""
        return "a noisy score of every row, exact sums of placements"

    def no_site_results(self, question: Question) -> str:
        """Return that results exist for all sites together only."""
        return (
            "There is no forest plot: in this mode results are worked out for all sites together, so how much sites "
            "differ is not known."
        )

    def described_terms(self, question: Question) -> Iterator[tuple[str, str]]:
        """Yield the numbers that set the noise."""
        for name in _NUMBERS:
            value = getattr(question, name)
            if value is not None:
                yield name, f"{shown(exact_fraction(value, name))}, of the noise alone: no guarantee follows"


NOT_PRIVATE = (
    "not differentially private: the noise is calibrated to how far one changed feature moves a score, as estimated "
    "from data, not to another person in a row, whose score can be any; the noisy score of every row leaves the site, "
    "so epsilon is spent anew for each row of a person and the number of rows of each class is exact; and the sums of "
    "the second round carry no noise"
)

Normals: TypeAlias = Callable[[int], FloatArray]
"""Function that returns a number of independent standard normal numbers."""

_DIGITS = 53
_MOST_SCORES = 10_000_000
_CANNOT_READ = "install the same version of confide at the coordinator and at every site"


def analytic_gaussian_scale(epsilon: float, delta: float, sensitivity: float) -> float:
    """Return the least standard deviation of Gaussian noise that is (epsilon, delta)-private for an l2 sensitivity.

    With `u = scale / sensitivity`, the least u for which `Phi(1/(2u) - epsilon u) - e^epsilon Phi(-1/(2u) - epsilon u)`
    is at most delta (Balle & Wang 2018, theorem 8). What that guarantees depends on what the sensitivity bounds.

    >>> round(analytic_gaussian_scale(5.0, 0.01, 0.177211), 7)
    0.1009003
    """
    if not (math.isfinite(epsilon) and 0.0 < epsilon <= 500.0):
        raise ParameterError(f"epsilon must be a number above 0 and at most 500; got {epsilon!r}")
    if not 1e-15 <= delta < 1.0:
        raise ParameterError(f"delta must be at least 1e-15 and below 1; got {delta!r}")
    if not (math.isfinite(sensitivity) and sensitivity > 0.0):
        raise ParameterError(f"sensitivity must be a number above 0: how far a score can move; got {sensitivity!r}")
    low, high = 0.0, 1.0
    while _delta(high, epsilon) > delta:
        low, high = high, 2.0 * high
    while True:
        middle = low + (high - low) / 2.0
        if middle in (low, high):
            return sensitivity * high
        low, high = (middle, high) if _delta(middle, epsilon) > delta else (low, middle)


def _delta(scale: float, epsilon: float) -> float:
    """Return the delta of Gaussian noise of this scale at sensitivity 1; it falls as the scale rises."""
    from scipy.special import log_ndtr, ndtr

    half, shift = 0.5 / scale, epsilon * scale
    return float(ndtr(half - shift) - np.exp(epsilon + log_ndtr(-half - shift)))


def system_normals(count: int) -> FloatArray:
    """Draw standard normal numbers from the operating system's generator, by inverting uniform ones of 53 digits."""
    from scipy.special import ndtri

    words = np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64) >> np.uint64(64 - _DIGITS)
    drawn: FloatArray = ndtri((words.astype(np.float64) + 0.5) / 2.0**_DIGITS)
    return drawn


def noisy_scores(scores: FloatArray, scale: float, *, normals: Normals = system_normals) -> FloatArray:
    """Add independent Gaussian noise to every score, and sort so that the order of rows does not leave. Not private."""
    return np.sort(np.asarray(scores, dtype=np.float64) + scale * normals(len(scores)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyScores:
    """Noisy scores of each class, ascending: what a site sends first, or all of them pooled. Not private."""

    positives: FloatArray = field(repr=False)
    negatives: FloatArray = field(repr=False)
    scale: float

    def __post_init__(self) -> None:
        for name in ("positives", "negatives"):
            object.__setattr__(self, name, read_only(np.asarray(getattr(self, name), dtype=np.float64)))

    @classmethod
    def of(cls, counts: ScoreCounts, scale: float, *, normals: Normals = system_normals) -> NoisyScores:
        """Return a site's scores, each with independent noise (round 1)."""
        positives, negatives = (
            noisy_scores(rows, scale, normals=normals) for rows in (_rows(counts, True), _rows(counts, False))
        )
        return cls(positives=positives, negatives=negatives, scale=scale)

    @classmethod
    def pooled(cls, sent: Sequence[NoisyScores]) -> NoisyScores:
        """Return the noisy scores of all sites together (round 1); their noise must have one scale."""
        if not sent or len({one.scale for one in sent}) > 1:
            raise FederationError(f"sites sent noisy scores with noise of different scales, or none; {_CANNOT_READ}")
        return cls(
            positives=np.sort(np.concatenate([one.positives for one in sent])),
            negatives=np.sort(np.concatenate([one.negatives for one in sent])),
            scale=sent[0].scale,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "positives": self.positives.tolist(),
            "negatives": self.negatives.tolist(),
            "scale": self.scale,
            "promise": NOT_PRIVATE,
        }

    @classmethod
    def from_dict(cls, plain: object) -> NoisyScores:
        """Read noisy scores that came from elsewhere."""
        if not isinstance(plain, Mapping):
            raise FederationError(f"noisy scores are missing; {_CANNOT_READ}")
        positives, negatives = (_read_numbers(plain.get(name), _MOST_SCORES) for name in ("positives", "negatives"))
        scale = _read_numbers([plain.get("scale")], 1)
        if not (positives.size and negatives.size and scale[0] > 0.0):
            raise FederationError(f"noisy scores must be of both classes, with their scale; {_CANNOT_READ}")
        return cls(positives=np.sort(positives), negatives=np.sort(negatives), scale=float(scale[0]))


def share_above(ascending: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the survivor function of ascending scores at other scores: the share that is higher than each."""
    above: FloatArray = (ascending.size - np.searchsorted(ascending, scores, side="right")) / ascending.size
    return above


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Moments:
    """Number of placements, their sum and the sum of their squares."""

    rows: int
    total: float
    squares: float

    @classmethod
    def of(cls, placements: FloatArray) -> Moments:
        """Return the moments of placements."""
        return cls(rows=placements.size, total=float(placements.sum()), squares=float(np.dot(placements, placements)))

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            rows=self.rows + other.rows, total=self.total + other.total, squares=self.squares + other.squares
        )

    @property
    def variance(self) -> float:
        """Variance of a placement, estimated from all."""
        if self.rows < 2:
            raise DataError("a variance needs at least two rows of each class; ask more sites, or sites with more rows")
        return max(self.squares - self.total * self.total / self.rows, 0.0) / (self.rows - 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PlacementSums:
    """Exact sums over placements in noisy survivor functions: of a site in round 2, or of all sites.

    `below` counts the positives whose placement is at most each of the ROC-GLM's thresholds. Not private.
    """

    below: CountArray
    positives: Moments
    negatives: Moments

    @classmethod
    def of(cls, counts: ScoreCounts, pooled: NoisyScores, thresholds: FloatArray) -> PlacementSums:
        """Return the sums over the placements of a site's exact scores (round 2)."""
        placed = share_above(pooled.negatives, _rows(counts, True))
        below = np.searchsorted(np.sort(placed), thresholds, side="right")
        return cls(
            below=below,
            positives=Moments.of(placed),
            negatives=Moments.of(share_above(pooled.positives, _rows(counts, False))),
        )

    def __add__(self, other: PlacementSums) -> PlacementSums:
        return PlacementSums(
            below=self.below + other.below,
            positives=self.positives + other.positives,
            negatives=self.negatives + other.negatives,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        moments = {
            name: {"rows": one.rows, "sum": one.total, "squares": one.squares}
            for name, one in (("positives", self.positives), ("negatives", self.negatives))
        }
        return {"below": self.below.tolist(), **moments, "promise": NOT_PRIVATE}

    @classmethod
    def from_dict(cls, plain: object) -> PlacementSums:
        """Read sums at the default thresholds that came from elsewhere."""
        if not isinstance(plain, Mapping):
            raise FederationError(f"sums of placements are missing; {_CANNOT_READ}")
        below = _read_numbers(plain.get("below"), 10_000)
        positives, negatives = (_read_moments(plain.get(name)) for name in ("positives", "negatives"))
        rising = bool((np.diff(below) >= 0.0).all()) and bool((below == np.rint(below)).all())
        if (
            below.size != equidistant_thresholds().size
            or not rising
            or not ((below >= 0.0) & (below <= positives.rows)).all()
        ):
            raise FederationError(f"numbers of positives below all thresholds must rise; {_CANNOT_READ}")
        return cls(below=below.astype(np.int64), positives=positives, negatives=negatives)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyValidation:
    """Results at the coordinator: the ROC-GLM, its AUC with an interval, and that they are not private."""

    curve: RocGlm
    auc: Estimate
    promise: str = NOT_PRIVATE

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"roc_glm": self.curve.to_dict(), "auc": self.auc.to_dict(), "promise": self.promise}


def validated(sums: PlacementSums, *, level: float = 0.95, thresholds: FloatArray | None = None) -> NoisyValidation:
    """Fit the ROC-GLM to the sums over all sites, with the paper's interval (its equations 2 and 3)."""
    at = equidistant_thresholds() if thresholds is None else thresholds
    curve = fit_roc_glm(at, sums.below, sums.positives.rows)
    variance = sums.positives.variance / sums.positives.rows + sums.negatives.variance / sums.negatives.rows
    interval = auc_interval(
        curve.auc, variance, sums.positives.rows, sums.negatives.rows, level=level, name="noisy placements"
    )
    return NoisyValidation(
        curve=curve, auc=Estimate(value=curve.auc, standard_error=math.sqrt(variance), interval=interval)
    )


def site_noisy_scores(counts: ScoreCounts, question: Question, *, normals: Normals = system_normals) -> dict[str, Any]:
    """Return a site's noisy scores, for its first reply."""
    return NoisyScores.of(_enough(counts, question), noise_scale(question), normals=normals).to_dict()


def pooled_noisy_scores(sent: Sequence[object]) -> dict[str, Any]:
    """Return all noisy scores, sorted, so that no site's can be told apart: the coordinator's second request."""
    return NoisyScores.pooled([NoisyScores.from_dict(one) for one in sent]).to_dict()


def site_sums(counts: ScoreCounts, question: Question, pooled: object) -> dict[str, Any]:
    """Return the sums of a site's placements, for its second reply."""
    return PlacementSums.of(
        _enough(counts, question), NoisyScores.from_dict(pooled), equidistant_thresholds()
    ).to_dict()


def noise_scale(question: Question) -> float:
    """Return the standard deviation of the noise of a question."""
    if question.epsilon is None or question.delta is None or question.sensitivity is None:
        raise ParameterError("noisy-scores needs epsilon, delta and the model's sensitivity; give them")
    asked = (question.epsilon, question.delta, question.sensitivity)
    return analytic_gaussian_scale(*(float(Fraction(text)) for text in asked))


def _enough(counts: ScoreCounts, question: Question) -> ScoreCounts:
    """Refuse rows that are weighted, or fewer of a class than the minimum (the paper's principle A1)."""
    if counts.weighted:
        raise DataError("noisy scores are of rows, and these have weights that are not whole; give one row each")
    if min(counts.total_positives, counts.total_negatives) < max(question.minimum_cell or 1, 1):
        raise DataError("this site has too few rows of a class to take part without a guarantee")
    return counts


def _rows(counts: ScoreCounts, positive: bool) -> FloatArray:
    """Return the scores of a class, one for each row, ascending."""
    return np.repeat(counts.scores, counts.positives if positive else counts.negatives)


def _read_numbers(values: object, most: int) -> FloatArray:
    numbers = isinstance(values, list) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )
    if not numbers or not isinstance(values, list) or len(values) > most:
        raise FederationError(f"a list of numbers is missing or too long; {_CANNOT_READ}")
    try:
        read = np.array(values, dtype=np.float64)
    except OverflowError:
        raise FederationError(f"a number is too large; {_CANNOT_READ}") from None
    if not np.isfinite(read).all():
        raise FederationError(f"numbers must be finite; {_CANNOT_READ}")
    return read


def _read_moments(plain: object) -> Moments:
    if not isinstance(plain, Mapping):
        raise FederationError(f"moments of placements are missing; {_CANNOT_READ}")
    rows, total, squares = _read_numbers([plain.get(name) for name in ("rows", "sum", "squares")], 3)
    if rows != int(rows) or not 0.0 <= squares <= total * (1.0 + 1e-12) + 1e-12 or not total <= rows:
        raise FederationError(f"moments of placements, which lie in [0, 1], do not fit; {_CANNOT_READ}")
    return Moments(rows=int(rows), total=float(total), squares=float(squares))
