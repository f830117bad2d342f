"""Simulated releases: a mechanism on stand-in data, which nobody has to read.

Only the number of rows, the prevalence and one metric's value are guessed. The rest is filled in by
normal scores of equal variance, negatives around 0 and positives around the separation d, shown as
calibrated probabilities; the threshold lies half-way, where recall and specificity are equal.

The intervals are made by the functions that releases use, so a simulation shows what a user will get.
Noise is drawn by inversion from a Latin hypercube: every noise takes each of its equal steps of
probability once, so a few dozen releases give a steady mean, and one epsilon differs from the next by
its scale alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri, stdtrit

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.metrics.threshold import ConfusionMatrix, confusion_matrix
from confide.privacy.accounting import rho_for
from confide.privacy.mechanisms.auc_sensitivity import auc_smooth_bounds
from confide.privacy.mechanisms.class_sizes import class_sizes
from confide.privacy.mechanisms.local_auc import LocalParameters
from confide.privacy.mechanisms.private_counts import (
    Cells,
    cells_above,
    cells_on,
    concentrated_counts,
    private_counts,
)
from confide.privacy.mechanisms.rank_sum import rank_sum_scales
from confide.privacy.mechanisms.smooth_sensitivity import Calibration
from confide.privacy.mechanisms.squared_error import UNITS, squared_error
from confide.privacy.noisy_counts import NoisyCells, PlausibleCounts, count_intervals, plausible_counts
from confide.privacy.noisy_numbers import (
    ClassSizes,
    ScaleAtSizes,
    auc_spread,
    binomial_spread,
    limits,
    local_probability,
    plausible_pairs,
    plausible_sizes,
)
from confide.privacy.queries import IntegerQuery, Noise
from confide.releases.auc import (
    auc_of,
    followed_by,
    local_terms,
    plausible_after,
    rank_sum_limits,
    scale_of,
    sizes_epsilon,
)
from confide.releases.average_precision import (
    DEFAULT_GRID,
    average_precision_bounds,
    highest_average_precision,
    lowest_average_precision,
    middle_average_precision,
    precision_scale,
    precision_terms,
)
from confide.releases.brier import prepare_brier
from confide.releases.confusion import CONFUSION_METRICS, confusion_intervals, prepare_prevalence
from confide.releases.counting import noisy_cells
from confide.releases.release import PreparedRelease
from confide.releases.smooth_sensitivity import (
    PUBLISHED,
    Bounds,
    calibrate,
    noise_of,
    sizes_query,
    smooth_limits,
)
from confide.releases.terms import Terms

USUAL_AUC = 0.8
"""AUC of stand-in scores if no value was guessed."""

MOST_ROWS = 10_000_000
_FARTHEST = 12.0  # separations beyond this change no metric
_NODES = 2_000
_FLATTEST = 0.5  # scores that separate nothing still differ


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """Stand-in data: a metric's guessed value, and rows that would have it."""

    metric: str
    value: float
    positives: int
    negatives: int
    separation: float
    counts: ScoreCounts
    threshold: float

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.positives + self.negatives


def make_stand_in(metric: str, rows: int, prevalence: float, expected: float | None = None) -> StandIn:
    """Make stand-in data from guesses; without an expected value, it is that of scores with AUC 0.8.

    >>> round(make_stand_in("recall", 1000, 0.2).value, 3)
    0.724
    """
    positives, negatives = _class_sizes(rows, prevalence)
    if metric == "prevalence":
        separation, value = _separation_of_auc(USUAL_AUC), positives / rows
    else:
        value_at = _metric_at(metric, positives, negatives)
        least = 0.0 if metric == "brier" else -_FARTHEST
        separation = (
            _separation_of_auc(USUAL_AUC) if expected is None else _solve(value_at, expected, metric, prevalence, least)
        )
        value = value_at(separation) if expected is None else float(expected)
    counts, threshold = _stand_in(positives, negatives, separation)
    return StandIn(
        metric=metric,
        value=value,
        positives=positives,
        negatives=negatives,
        separation=separation,
        counts=counts,
        threshold=threshold,
    )


def planned_measure(metric: str) -> str:
    """Return the measure that stands for a metric: a whole confusion matrix is planned by its true positives."""
    return "true_positives" if metric == "confusion" else metric


def _class_sizes(rows: int, prevalence: float) -> tuple[int, int]:
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 2:
        raise ParameterError(f"rows must be a whole number of at least 2; got {rows!r}")
    if rows > MOST_ROWS:
        raise ParameterError(
            f"a plan takes at most {MOST_ROWS:,} rows; with more, noise matters less still: plan with that many"
        )
    if isinstance(prevalence, bool) or not (isinstance(prevalence, int | float) and 0.0 < prevalence < 1.0):
        raise ParameterError(f"prevalence must lie strictly between 0 and 1, for example 0.2; got {prevalence!r}")
    positives = min(max(round(rows * prevalence), 1), int(rows) - 1)
    return positives, int(rows) - positives


def _separation_of_auc(area: float) -> float:
    return math.sqrt(2.0) * float(ndtri(area))


def _metric_at(metric: str, positives: int, negatives: int) -> Callable[[float], float]:
    """Return the metric as a function of the separation; the function is monotone."""
    if metric == "auc":
        return lambda separation: float(ndtr(separation / math.sqrt(2.0)))
    if metric == "average_precision":
        return lambda separation: _average_precision(separation, positives, negatives)
    if metric == "brier":
        return lambda separation: _brier(separation, positives, negatives)
    measure = planned_measure(metric)
    if measure not in CONFUSION_METRICS:
        raise ParameterError(f"unknown metric {metric!r}")
    return lambda separation: float(getattr(_confusion(separation, positives, negatives), measure))


def _solve(value_at: Callable[[float], float], expected: float, metric: str, prevalence: float, least: float) -> float:
    """Find the separation at which the metric has its expected value, by halving."""
    ends = value_at(least), value_at(_FARTHEST)
    low, high = min(ends), max(ends)
    slack = 1e-6 * max(abs(high - low), 1.0) if math.isfinite(high) else 0.0
    known = isinstance(expected, int | float) and not isinstance(expected, bool)
    if not known or not low - slack <= expected <= high + slack:
        raise ParameterError(
            f"expected must be a value that {metric} can have: at prevalence {prevalence:g} between "
            f"{low:.3g} and {high:.3g}; got {expected!r}"
        )
    rising = ends[1] > ends[0]
    left, right = least, _FARTHEST
    for _ in range(40):
        middle = (left + right) / 2.0
        if (value_at(middle) < expected) == rising:
            left = middle
        else:
            right = middle
    return (left + right) / 2.0


def _average_precision(separation: float, positives: int, negatives: int) -> float:
    """`(1/n) sum i/(i + s_i)` for scores at the middle of equal steps of probability."""
    nodes = min(positives, _NODES)
    share = (np.arange(nodes) + 0.5) / nodes
    above = negatives * ndtr(-(separation - ndtri(share)))
    rank = positives * share + 0.5
    return float((rank / (rank + above)).mean())


def _brier(separation: float, positives: int, negatives: int) -> float:
    """Return the Brier score of calibrated scores."""
    share = (np.arange(_NODES) + 0.5) / _NODES
    weight = positives / (positives + negatives)
    missed, false = (_calibrated(ndtri(share) + centre, separation, separation, weight) for centre in (separation, 0.0))
    return float(weight * ((1.0 - missed) ** 2).mean() + (1.0 - weight) * (false**2).mean())


def _calibrated(x: FloatArray, separation: float, slope: float, prevalence: float) -> FloatArray:
    """Return the chance of being positive at x, `logit(pi) + d (x - d/2)` in log-odds."""
    chance: FloatArray = expit(logit(prevalence) + slope * (x - separation / 2.0))
    return chance


def _confusion(separation: float, positives: int, negatives: int) -> ConfusionMatrix:
    right, wrong = float(ndtr(separation / 2.0)), float(ndtr(-separation / 2.0))
    return ConfusionMatrix(
        true_positives=positives * right,
        false_negatives=positives * wrong,
        true_negatives=negatives * right,
        false_positives=negatives * wrong,
    )


def _stand_in(positives: int, negatives: int, separation: float) -> tuple[ScoreCounts, float]:
    """Rows on a fine grid of calibrated scores that the cells of the public grid and the threshold split exactly."""
    prevalence = positives / (positives + negatives)
    slope = max(abs(separation), _FLATTEST)
    shown = DEFAULT_GRID.edges[1:-1]
    inner = separation / 2.0 + (logit(shown) - logit(prevalence)) / slope
    even = np.linspace(min(0.0, separation) - 5.0, max(0.0, separation) + 5.0, 301)
    edges = np.unique(np.concatenate((even, inner, [separation / 2.0])))
    ours = _counted(positives, ndtr(edges - separation))
    theirs = _counted(negatives, ndtr(edges))
    middles = np.concatenate(([edges[0] - 0.5], (edges[1:] + edges[:-1]) / 2.0, [edges[-1] + 0.5]))
    scores = _calibrated(middles, separation, slope, prevalence)
    kept = ours + theirs > 0
    scores, first = np.unique(scores[kept], return_index=True)
    together = [np.add.reduceat(column[kept], first) for column in (ours, theirs)]
    return ScoreCounts(scores, *together), prevalence


def _counted(rows: int, below: FloatArray) -> FloatArray:
    """Whole rows in each cell, given the shares below the cells' edges."""
    cumulative = np.concatenate(([0.0], np.rint(rows * below), [float(rows)]))
    cells: FloatArray = np.diff(cumulative).astype(np.int64)
    return cells


_SEED = 0  # the same plan must give the same numbers
_THINNED = 8  # of the tables that an interval on counts is made from, every so many-th


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Number of releases that the error and the widths are averaged over."""

    errors: int
    widths: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationResult:
    """Means over simulated releases: how far the value is off, and how wide both intervals are."""

    mean_absolute_error: float
    sample_width: float
    population_width: float


def simulate(mechanism: str, stand_in: StandIn, terms: Terms, effort: Effort) -> SimulationResult:
    """Release the guess's metric many times by a mechanism that can."""
    if mechanism == "rank-sum":
        return _by_rank_sum(stand_in, terms, effort)
    if mechanism == "local":
        return _by_local_scale(stand_in, terms, effort)
    if stand_in.metric in ("auc", "average_precision"):
        by = _by_counts if mechanism == "private-counts" else _by_smooth_sensitivity
        return by(mechanism, stand_in, terms, effort)
    if stand_in.metric in ("brier", "prevalence"):
        return _by_release(stand_in, terms, effort)
    return _by_confusion(mechanism, stand_in, terms, effort)


def _by_rank_sum(stand_in: StandIn, terms: Terms, effort: Effort) -> SimulationResult:
    scales = rank_sum_scales(stand_in.rows, terms.epsilon, terms.neighbours)
    centred = 2.0 * (stand_in.value - 0.5) * stand_in.positives * stand_in.negatives

    def drawn(releases: int) -> tuple[FloatArray, FloatArray]:
        first, second = _uniforms(releases, 2)
        return centred + discrete_laplace(first, scales[0]), stand_in.positives + discrete_laplace(second, scales[1])

    errors = np.abs(auc_of(*drawn(effort.errors), stand_in.rows) - stand_in.value)
    sample, population = (
        rank_sum_limits(*drawn(effort.widths), stand_in.rows, scales, terms.level, population=which)
        for which in (False, True)
    )
    return _outcome(errors, _width(sample), _width(population))


def _by_local_scale(stand_in: StandIn, terms: Terms, effort: Effort) -> SimulationResult:
    rows = stand_in.rows if terms.rows_are_public else None
    local: ScaleAtSizes
    parameters = local_terms(terms, rows) if stand_in.metric == "auc" else None
    if stand_in.metric == "average_precision":
        local, spread = precision_scale(precision_terms(terms, rows)), binomial_spread
    else:
        if parameters is None:  # below the least epsilon that the mechanism takes: no better than no answer
            return SimulationResult(mean_absolute_error=0.5, sample_width=1.0, population_width=1.0)
        local, spread = scale_of(parameters), auc_spread
    ours, theirs = (np.array([float(size)]) for size in (stand_in.positives, stand_in.negatives))
    share, scale = (float(part[0]) for part in local.at(ClassSizes(positives=ours, negatives=theirs)))

    def released(uniforms: FloatArray) -> FloatArray:
        shrunk = local.centre + share * (stand_in.value - local.centre)
        return np.clip(shrunk + scale * local.noise.quantile(uniforms), 0.0, 1.0)

    errors = np.abs(released(_uniforms(effort.errors, 1)[0]) - stand_in.value)
    uniforms = _uniforms(effort.widths, 4)
    values = released(uniforms[0])
    if parameters is None:
        sizes = _plausible(stand_in, sizes_query(stand_in.counts, terms).scales[0], uniforms[2:], rows)
    else:
        scale_of_sizes = 1 / sizes_epsilon(terms, rows)
        noisy = _noisy_sizes(stand_in, scale_of_sizes, uniforms[2:])
        integers = _followed(stand_in, values, uniforms[1], parameters)
        sizes = _thinned(plausible_after(values, noisy, integers, parameters, float(scale_of_sizes)), stand_in, rows)
    sample, population = (
        limits(local_probability(values, sizes, local, which), values.size, terms.level) for which in (None, spread)
    )
    return _outcome(errors, _width(sample), _width(population))


def _followed(stand_in: StandIn, values: FloatArray, uniforms: FloatArray, parameters: LocalParameters) -> FloatArray:
    """Draw the integer that follows each released AUC; 0 where none does."""
    integers = np.zeros(values.size)
    for k, free in enumerate(followed_by(values, parameters)):
        if free is not None:
            exact = free.value(stand_in.positives, stand_in.negatives)
            integers[k] = exact + discrete_laplace(uniforms[k : k + 1], free.scale)[0]
    return integers


def _by_smooth_sensitivity(mechanism: str, stand_in: StandIn, terms: Terms, effort: Effort) -> SimulationResult:
    rows = stand_in.rows if terms.rows_are_public else None
    bounds: Bounds = (
        auc_smooth_bounds
        if stand_in.metric == "auc"
        else average_precision_bounds(terms, rows, published=mechanism in PUBLISHED)
    )
    calibration = calibrate(mechanism, terms, bounds, rows)
    ours, theirs = (np.array([float(size)]) for size in (stand_in.positives, stand_in.negatives))
    scale = float(calibration.multiplier) * float(bounds(ours, theirs, float(calibration.beta))[0])
    values = stand_in.value + scale * _heavy_tailed(_uniforms(effort.errors, 1)[0], calibration)
    errors = np.abs(np.clip(values, 0.0, 1.0) - stand_in.value)

    uniforms = _uniforms(effort.widths, 3)
    values = stand_in.value + scale * _heavy_tailed(uniforms[0], calibration)
    sizes = _plausible(stand_in, sizes_query(stand_in.counts, terms).scales[0], uniforms[1:], rows)
    spread = auc_spread if stand_in.metric == "auc" else binomial_spread
    sample, population = (
        smooth_limits(values, sizes, calibration, bounds, which, terms.level) for which in (None, spread)
    )
    return _outcome(errors, _width(sample), _width(population))


def _plausible(stand_in: StandIn, scale: Fraction, uniforms: Sequence[FloatArray], rows: int | None) -> ClassSizes:
    """Class sizes that are plausible after each release."""
    ours, theirs = _noisy_sizes(stand_in, scale, uniforms)
    if rows is not None:
        return _thinned(plausible_sizes(ours, float(scale), rows=rows), stand_in, rows)
    return _thinned(plausible_pairs(ours, theirs, float(scale)), stand_in, rows)


def _noisy_sizes(stand_in: StandIn, scale: Fraction, uniforms: Sequence[FloatArray]) -> list[FloatArray]:
    return [
        size + discrete_laplace(uniform, scale)
        for size, uniform in zip((stand_in.positives, stand_in.negatives), uniforms, strict=True)
    ]


def _thinned(sizes: ClassSizes, stand_in: StandIn, rows: int | None) -> ClassSizes:
    """Keep a third of the class sizes that an interval is made from: enough for a mean of widths."""
    columns = np.arange(sizes.positives.shape[1])
    if rows is not None:
        kept = columns % 3 == 1
    else:
        steps = math.isqrt(columns.size)
        larger = columns % steps if stand_in.positives <= stand_in.negatives else columns // steps
        kept = larger % 4 == 1  # the sizes of the smaller class matter more
    weights = None if sizes.weights is None else sizes.weights[kept] / sizes.weights[kept].sum()
    return ClassSizes(positives=sizes.positives[:, kept], negatives=sizes.negatives[:, kept], weights=weights)


Widths: TypeAlias = Callable[[PlausibleCounts], tuple[float, float]]
"""The widths of the sample's and the population's interval."""


def _by_counts(mechanism: str, stand_in: StandIn, terms: Terms, effort: Effort) -> SimulationResult:
    cells = cells_on(stand_in.counts, DEFAULT_GRID)
    query = private_counts(cells, terms.epsilon, terms.neighbours)

    def widths(plausible: PlausibleCounts) -> tuple[float, float]:
        sample, population = count_intervals(
            plausible,
            lowest_average_precision,
            highest_average_precision,
            possible=(0.0, 1.0),
            level=terms.level,
        )
        return sample.width, population.width

    return _from_cells(query, cells, stand_in.value, middle_average_precision, widths, terms, effort)


def _by_confusion(mechanism: str, stand_in: StandIn, terms: Terms, effort: Effort) -> SimulationResult:
    cells = cells_above(stand_in.counts, stand_in.threshold)
    query = (
        private_counts(cells, terms.epsilon, terms.neighbours)
        if mechanism == "laplace"
        else concentrated_counts(cells, rho_for(terms.epsilon, terms.delta), terms.neighbours)
    )
    measure = planned_measure(stand_in.metric)
    truth = float(getattr(confusion_matrix(stand_in.counts, stand_in.threshold), measure))

    def measured(tables: FloatArray) -> FloatArray:
        return np.array([_measure(table, measure) for table in tables])

    def widths(plausible: PlausibleCounts) -> tuple[float, float]:
        both = confusion_intervals(plausible, measure, terms.level)
        return both.sample.width, both.population.width

    return _from_cells(query, cells, truth, measured, widths, terms, effort)


def _measure(table: FloatArray, measure: str) -> float:
    (fn, tp), (tn, fp) = table.tolist()
    matrix = ConfusionMatrix(true_positives=tp, false_positives=fp, false_negatives=fn, true_negatives=tn)
    return float(getattr(matrix, measure))


def _from_cells(
    query: IntegerQuery,
    cells: Cells,
    truth: float,
    measured: Callable[[FloatArray], FloatArray],
    widths: Widths,
    terms: Terms,
    effort: Effort,
) -> SimulationResult:
    rows = int(cells.sum()) if terms.rows_are_public else None

    def released(releases: int) -> list[NoisyCells]:
        add = discrete_laplace if query.family == "laplace" else discrete_gaussian
        noise = add(np.stack(_uniforms(releases, len(query.values)), axis=1), query.scales[0])
        drawn = (np.array(query.values) + noise).astype(np.int64)
        return [noisy_cells(tuple(row), query, cells, terms.neighbours, rows) for row in drawn.tolist()]

    errors = np.abs(measured(np.stack([noisy.adjusted() for noisy in released(effort.errors)])) - truth)
    few = released(effort.widths if cells.size <= 4 else max(effort.widths // 2, 2))  # large tables are slow
    result = [widths(_some(plausible_counts(noisy), k)) for k, noisy in enumerate(few)]
    sample, population = np.array(result).T
    return _outcome(errors, sample, population)


def _some(plausible: PlausibleCounts, release: int) -> PlausibleCounts:
    """Select some plausible tables, different for each release: enough for a mean of widths."""
    taken = slice(release % _THINNED, None, _THINNED)
    return PlausibleCounts(sample=plausible.sample[taken], population=plausible.population[taken])


def _by_release(stand_in: StandIn, terms: Terms, effort: Effort) -> SimulationResult:
    """Draw the releases themselves, where they are quick."""
    prepare: Callable[..., PreparedRelease] = prepare_brier if stand_in.metric == "brier" else prepare_prevalence
    uniforms = np.stack(_uniforms(effort.widths, 3), axis=1)
    result = []
    for row in uniforms:
        prepared = prepare(
            stand_in.counts,
            epsilon=terms.epsilon,
            neighbours=terms.neighbours,
            level=terms.level,
            noise=_replayed(iter(row.tolist())),
        )
        result.append(prepared.draw()[0])
    errors = np.abs(_values(stand_in, terms, effort.errors) - _exact(stand_in))
    sample, population = (
        np.array([getattr(release.intervals, which).width for release in result]) for which in ("sample", "population")
    )
    return _outcome(errors, sample, population)


def _values(stand_in: StandIn, terms: Terms, releases: int) -> FloatArray:
    """Released values alone, of the Brier score or the prevalence."""
    ask = squared_error if stand_in.metric == "brier" else class_sizes
    query = ask(stand_in.counts, terms.epsilon, terms.neighbours)
    uniforms = _uniforms(releases, len(query.values))
    drawn = [
        value + discrete_laplace(uniform, scale)
        for value, uniform, scale in zip(query.values, uniforms, query.scales, strict=True)
    ]
    if stand_in.metric == "brier":
        size = stand_in.rows if terms.rows_are_public else np.maximum(drawn[2], 1.0)
        return np.clip(drawn[0] / UNITS / size, 0.0, 1.0)
    if terms.rows_are_public:
        return np.clip(drawn[0], 0.0, stand_in.rows) / stand_in.rows
    ours, theirs = np.maximum(drawn, 0.0)
    share: FloatArray = ours / np.where(ours + theirs > 0.0, ours + theirs, np.nan)
    return share


def _replayed(uniforms: Iterator[float]) -> Noise:
    """Noise for one release from uniform numbers, in the order in which it is asked for."""

    def add(values: Sequence[int], scale: Fraction) -> list[int]:
        noise = discrete_laplace(np.array([next(uniforms) for _ in values]), scale)
        return [value + int(extra) for value, extra in zip(values, noise, strict=True)]

    return Noise(discrete_laplace=add)


def _exact(stand_in: StandIn) -> float:
    from confide.metrics.calibration import brier_score

    return brier_score(stand_in.counts) if stand_in.metric == "brier" else stand_in.value


def _outcome(errors: FloatArray, sample: FloatArray, population: FloatArray) -> SimulationResult:
    known = errors[~np.isnan(errors)]
    return SimulationResult(
        mean_absolute_error=float(known.mean()) if known.size else math.nan,
        sample_width=float(sample.mean()),
        population_width=float(population.mean()),
    )


def _width(ends: tuple[FloatArray, FloatArray]) -> FloatArray:
    return ends[1] - ends[0]


def _uniforms(releases: int, noises: int) -> list[FloatArray]:
    """A Latin hypercube: for each noise the middles of equal steps of (0, 1), shuffled on their own."""
    generator = np.random.default_rng(_SEED)
    middles = (np.arange(releases) + 0.5) / releases
    return [generator.permutation(middles) for _ in range(noises)]


def discrete_laplace(uniforms: FloatArray, scale: Fraction) -> FloatArray:
    """Discrete Laplace noise by inversion: `P(|X| >= k) = 2 q^k / (1 + q)` for k >= 1, with `q = exp(-1/scale)`."""
    step = 1.0 / float(scale)
    both_tails = 1.0 - np.abs(2.0 * uniforms - 1.0)
    size = np.floor((math.log(2.0) - math.log1p(math.exp(-step)) - np.log(both_tails)) / step)
    noise: FloatArray = np.sign(uniforms - 0.5) * np.maximum(size, 0.0)
    return noise


def discrete_gaussian(uniforms: FloatArray, scale: Fraction) -> FloatArray:
    """Gaussian noise rounded to whole numbers, which is near enough to discrete Gaussian noise."""
    noise: FloatArray = np.rint(float(scale) * ndtri(uniforms))
    return noise


def _heavy_tailed(uniforms: FloatArray, calibration: Calibration) -> FloatArray:
    if calibration.shape is not None:
        return noise_of(calibration.shape).quantile(uniforms)
    if calibration.family == "laplace":
        noise: FloatArray = -np.sign(uniforms - 0.5) * np.log(1.0 - np.abs(2.0 * uniforms - 1.0))
    elif calibration.family == "cauchy":
        noise = np.tan(math.pi * (uniforms - 0.5))
    else:
        noise = stdtrit(calibration.degrees_of_freedom, uniforms)
    return noise
