"""Intervals on private numbers, judged by simulation: do they cover, and how wide are they?

Data are drawn anew in each repetition, noise from NumPy with the mechanisms' distributions, and both
are fed to the functions that make a release's intervals. Whether a value is in an interval is
asked of the test that the interval inverts (one evaluation instead of the ninety that find both
ends), for every repetition; the ends themselves are found for some of the repetitions, give the
widths, and must agree with the test there.

The ideal width for the sample is that between the 2.5 % and 97.5 % quantiles of the same noise if class
sizes were known; for the population it is the root of the sum of squares of that and of the interval
that somebody with the rows would make (AUC: DeLong; average precision: binomial; both logit).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtrit

from benchmarks.simulated import Samples, Scores, draw_samples, laplace_integers
from confide.counts import FloatArray
from confide.privacy.mechanisms.auc_sensitivity import auc_smooth_bounds
from confide.privacy.mechanisms.rank_sum import rank_sum_scales
from confide.privacy.neighbours import Neighbours
from confide.privacy.noisy_numbers import (
    ClassSizes,
    Probability,
    auc_spread,
    binomial_spread,
    local_probability,
    plausible_pairs,
    plausible_sizes,
    rank_sum_probability,
    smooth_probability,
)
from confide.releases.auc import (
    auc_of,
    followed_by,
    local_limits,
    local_terms,
    plausible_after,
    rank_sum_limits,
    scale_of,
    sizes_epsilon,
)
from confide.releases.average_precision import average_precision_bounds
from confide.releases.smooth_sensitivity import SIZES_SHARE, Bounds, calibrate, smooth_limits
from confide.releases.terms import Terms

LEVEL = 0.95
LOWEST, WIDEST, ENOUGH = 0.94, 1.3, 50.0
"""Coverage below the first is marked, and widths above the second where epsilon min(n, m) is at least the third."""

_TAIL = (1.0 - LEVEL) / 2.0
_AT_ONCE = 250  # repetitions of Student-t noise that are judged together, for the sake of memory


def standard_error(repetitions: int) -> float:
    """That of coverage at the level."""
    return math.sqrt(LEVEL * (1.0 - LEVEL) / repetitions)


def is_low(coverage: float, repetitions: int) -> bool:
    """Whether coverage is to be marked; fewer than 4,000 repetitions are granted twice what they add in error."""
    return coverage < LOWEST - 2.0 * max(standard_error(repetitions) - standard_error(4_000), 0.0)


Kind = Literal[
    "rank-sum",
    "label-only",
    "student-t",
    "average precision",
    "local",
    "local, add-remove-one",
    "local, label-only",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
LOCAL: tuple[Kind, ...] = ("local", "local, add-remove-one", "local, label-only")


@dataclass(frozen=True, slots=True)
class Task:
    """One data set and mechanism, at several epsilons; the repetitions share the data, not the noise."""

    kind: Kind
    scores: Scores
    rows: int
    prevalence: float
    epsilons: tuple[str, ...]
    repetitions: int
    widths: int
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Coverage and width of both intervals in one setting; `left_out` is the share that excludes the released value."""

    task: Task
    epsilon: float
    sample_coverage: float
    population_coverage: float
    sample_width: float
    population_width: float
    sample_ratio: float
    population_ratio: float
    left_out: float

    @property
    def lowest(self) -> float:
        return min(self.sample_coverage, self.population_coverage)

    @property
    def low(self) -> bool:
        return is_low(self.lowest, self.task.repetitions)

    @property
    def widest(self) -> float:
        return max(self.sample_ratio, self.population_ratio)

    @property
    def enough(self) -> bool:
        """Whether there are rows enough for the widths to be held against the ideal ones."""
        smaller = self.task.rows * min(self.task.prevalence, 1.0 - self.task.prevalence)
        return self.epsilon * smaller >= ENOUGH

    @property
    def too_wide(self) -> bool:
        return self.enough and self.widest > WIDEST

    @property
    def mark(self) -> str:
        return " ".join(["LOW"] * self.low + ["WIDE"] * self.too_wide)


def measure(task: Task) -> list[Found]:
    scores = task.scores
    numbers = 1_000 * np.array([task.prevalence, scores.auc, scores.ratio, scores.exponential, scores.tied])
    rng = np.random.default_rng([task.seed, KINDS.index(task.kind), task.rows, *np.rint(numbers).astype(int)])
    samples = draw_samples(task.scores, task.rows, task.prevalence, task.repetitions, rng)
    by_kind = {"rank-sum": _judge_rank_sum, "label-only": _judge_rank_sum} | dict.fromkeys(LOCAL, _judge_local)
    judge = by_kind.get(task.kind, _judge_smooth)
    return [judge(task, samples, Fraction(epsilon), rng) for epsilon in task.epsilons]


def _judge_rank_sum(task: Task, samples: Samples, epsilon: Fraction, rng: np.random.Generator) -> Found:
    neighbours = Neighbours.LABEL_ONLY if "label-only" in task.kind else Neighbours.REPLACE_ONE
    scales = rank_sum_scales(task.rows, epsilon, neighbours)
    twice = samples.twice + laplace_integers(scales[0], task.repetitions, rng)
    positives = samples.positives + laplace_integers(scales[1], task.repetitions, rng)
    sizes = plausible_sizes(positives, float(scales[1]), rows=task.rows)
    some = slice(0, task.widths)
    probabilities = [
        rank_sum_probability(twice / 2.0, float(scales[0]) / 2.0, sizes, spread) for spread in (None, auc_spread)
    ]
    truths = samples.auc, np.full(task.repetitions, task.scores.auc)
    pairs = np.maximum(samples.positives, 1.0) * np.maximum(samples.negatives, 1.0)
    noise_width = 2.0 * math.log(1.0 / (1.0 - LEVEL)) * float(scales[0]) / 2.0 / pairs
    return _found(
        task,
        epsilon,
        kept=[_kept(probability, truth) for probability, truth in zip(probabilities, truths, strict=True)],
        ends=[
            rank_sum_limits(twice[some], positives[some], task.rows, scales, LEVEL, population=population)
            for population in (False, True)
        ],
        truths=truths,
        released=auc_of(twice, positives, task.rows),
        noise_width=noise_width,
        sampling_width=samples.delong_width(LEVEL),
    )


def _judge_local(task: Task, samples: Samples, epsilon: Fraction, rng: np.random.Generator) -> Found:
    """Judge AUC at the local scale; ideal is Laplace noise at the local sensitivity, with all of epsilon."""
    terms = Terms.checked(epsilon=epsilon, neighbours=task.kind.removeprefix("local, ").replace("local", "replace-one"))
    parameters = local_terms(terms, task.rows if terms.rows_are_public else None)
    if parameters is None:
        return replace(_judge_rank_sum(task, samples, epsilon, rng), left_out=math.nan)
    local = scale_of(parameters)
    column = ClassSizes(positives=samples.positives, negatives=samples.negatives)
    shares, scales = local.at(column)
    shrunk = local.centre + shares * (samples.auc - local.centre)
    values = np.clip(shrunk + scales * local.noise.quantile(rng.random(task.repetitions)), 0.0, 1.0)
    of_sizes = 1 / sizes_epsilon(terms, task.rows if terms.rows_are_public else None)
    noisy = [
        size + laplace_integers(of_sizes, task.repetitions, rng) for size in (samples.positives, samples.negatives)
    ]
    integers = np.zeros(task.repetitions)
    for k, free in enumerate(followed_by(values, parameters)):
        if free is not None:
            exact = free.value(int(samples.positives[k]), int(samples.negatives[k]))
            integers[k] = exact + laplace_integers(free.scale, 1, rng)[0]

    def sizes(which: slice) -> ClassSizes:
        some = [size[which] for size in noisy]
        return plausible_after(values[which], some, integers[which], parameters, float(of_sizes))

    truths = samples.auc, np.full(task.repetitions, task.scores.auc)
    kept: list[list[FloatArray]] = [[], []]
    for start in range(0, task.repetitions, _AT_ONCE):
        which = slice(start, start + _AT_ONCE)
        plausible = sizes(which)
        for population in (False, True):
            spread = auc_spread if population else None
            probability = local_probability(values[which], plausible, local, spread)
            kept[population].append(_kept(probability, truths[population][which]))
    some = slice(0, task.widths)
    plausible = sizes(some)
    return _found(
        task,
        epsilon,
        kept=[np.concatenate(parts) for parts in kept],
        ends=[
            local_limits(values[some], plausible, parameters, LEVEL, population=population)
            for population in (False, True)
        ],
        truths=truths,
        released=values,
        noise_width=2.0
        * math.log(1.0 / (1.0 - LEVEL))
        / (float(epsilon) * np.maximum(np.minimum(samples.positives, samples.negatives), 1.0)),
        sampling_width=samples.delong_width(LEVEL),
    )


def _judge_smooth(task: Task, samples: Samples, epsilon: Fraction, rng: np.random.Generator) -> Found:
    of_auc = task.kind == "student-t"
    terms = Terms.checked(epsilon=epsilon, neighbours="add-remove-one" if of_auc else "replace-one")
    rows = None if of_auc else task.rows
    bounds: Bounds = auc_smooth_bounds if of_auc else average_precision_bounds(terms, rows, published=False)
    spread = auc_spread if of_auc else binomial_spread
    calibration = calibrate("student-t", terms, bounds, rows)
    degrees = calibration.degrees_of_freedom
    exact = samples.auc if of_auc else samples.average_precision
    truth = task.scores.auc if of_auc else task.scores.average_precision(task.prevalence)
    scale = float(calibration.multiplier) * bounds(samples.positives, samples.negatives, float(calibration.beta))
    values = exact + scale * rng.standard_t(degrees, task.repetitions)
    of_sizes = 1 / (terms.epsilon * SIZES_SHARE)
    noisy = [
        size + laplace_integers(of_sizes, task.repetitions, rng) for size in (samples.positives, samples.negatives)
    ]

    def sizes(which: slice) -> ClassSizes:
        if rows is None:
            return plausible_pairs(noisy[0][which], noisy[1][which], float(of_sizes))
        return plausible_sizes(noisy[0][which], float(of_sizes), rows=rows)

    def kept(population: bool, truths: FloatArray) -> FloatArray:
        parts = []
        for start in range(0, task.repetitions, _AT_ONCE):
            which = slice(start, start + _AT_ONCE)
            plausible = sizes(which)
            scales = float(calibration.multiplier) * bounds(
                plausible.positives, plausible.negatives, float(calibration.beta)
            )
            probability = smooth_probability(values[which], scales, plausible, degrees, spread if population else None)
            parts.append(_kept(probability, truths[which]))
        return np.concatenate(parts)

    truths = exact, np.full(task.repetitions, truth)
    some = slice(0, task.widths)
    return _found(
        task,
        epsilon,
        kept=[kept(population, truths[population]) for population in (False, True)],
        ends=[smooth_limits(values[some], sizes(some), calibration, bounds, which, LEVEL) for which in (None, spread)],
        truths=truths,
        released=np.clip(values, 0.0, 1.0),
        noise_width=2.0 * float(stdtrit(degrees, 1.0 - _TAIL)) * scale,
        sampling_width=samples.delong_width(LEVEL) if of_auc else samples.logit_width(LEVEL),
    )


def _kept(probability: Probability, truths: FloatArray) -> FloatArray:
    """Whether the test that the limits invert keeps each true value."""
    chance = probability(truths[:, None]).mean(axis=1)
    kept: FloatArray = (chance > _TAIL) & (chance < 1.0 - _TAIL)
    return kept


def _found(
    task: Task,
    epsilon: Fraction,
    *,
    kept: Sequence[FloatArray],
    ends: Sequence[tuple[FloatArray, FloatArray]],
    truths: Sequence[FloatArray],
    released: FloatArray,
    noise_width: FloatArray,
    sampling_width: FloatArray,
) -> Found:
    for which, (lower, upper), truth in zip(kept, ends, truths, strict=True):
        inside = (lower <= truth[: lower.size]) & (truth[: lower.size] <= upper)
        assert np.array_equal(inside, which[: lower.size]), "the limits are no longer those of the test used here"
    shown_values = released[: task.widths]
    excluded = [(shown_values < lower) | (shown_values > upper) for lower, upper in ends]
    sample, population = (float((upper - lower).mean()) for lower, upper in ends)
    together = np.sqrt(noise_width**2 + sampling_width**2)
    return Found(
        task=task,
        epsilon=float(epsilon),
        sample_coverage=float(kept[0].mean()),
        population_coverage=float(kept[1].mean()),
        sample_width=sample,
        population_width=population,
        sample_ratio=sample / float(noise_width.mean()),
        population_ratio=population / float(together.mean()),
        left_out=float((excluded[0] | excluded[1]).mean()),
    )
