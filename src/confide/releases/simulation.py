"""Simulated releases: a mechanism on stand-in data, with noise from a seeded generator that is not private.

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
from scipy.special import ndtri, stdtrit

from confide.counts import FloatArray
from confide.intervals.auc_spread import auc_spread
from confide.intervals.private import ClassSizes, binomial_spread, limits, plausible_pairs, plausible_sizes
from confide.intervals.private_counts import NoisyCells, PlausibleCounts, count_intervals, plausible_counts
from confide.intervals.private_local import ScaleAtSizes, local_probability
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
from confide.privacy.queries import IntegerQuery, Noise
from confide.releases.auc import auc_of, rank_sum_limits
from confide.releases.average_precision import (
    DEFAULT_GRID,
    average_precision_bounds,
    highest_average_precision,
    lowest_average_precision,
    middle_average_precision,
)
from confide.releases.brier import prepare_brier
from confide.releases.confusion import confusion_intervals, prepare_prevalence
from confide.releases.counting import noisy_cells
from confide.releases.local_auc import followed_by, local_terms, plausible_after, scale_of, sizes_epsilon
from confide.releases.local_average_precision import precision_scale, precision_terms
from confide.releases.release import PreparedRelease
from confide.releases.smooth_sensitivity import (
    PUBLISHED,
    Bounds,
    calibrate,
    noise_of,
    sizes_query,
    smooth_limits,
)
from confide.releases.stand_in import StandIn, planned_measure
from confide.releases.terms import Terms

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
