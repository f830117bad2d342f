"""Pieces of the simulation, in as many threads as there are cores: the kernels leave the interpreter to others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import reduce

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from confide.counts import FloatArray, read_only
from confide.curves.roc_glm import equidistant_thresholds
from confide.kernels.roc_glm import Noisy, Rates, Rows, exact_studies, noisy_studies
from studies.repeatable_noise import generator_for
from studies.schalk.data import row_numbers, simulated, standard_noise
from studies.schalk.errors import Errors
from studies.schalk.plan import NoisyMode, Settings, pieces
from studies.schalk.private_mode import PrivateMode

FINE = 2_000
"""At so many false-positive rates the area between curves is measured."""

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plain:
    """Of each simulated study without noise: empirical AUC and that of the ROC-GLM, NaN where no fit exists.

    `area` lies between both curves; `reversed` says that the negatives' median is the higher one.
    """

    rows: FloatArray
    auc: FloatArray
    glm: FloatArray
    area: FloatArray
    reversed: FloatArray

    def __post_init__(self) -> None:
        for name in ("rows", "auc", "glm", "area", "reversed"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @classmethod
    def joined(cls, parts: list[Plain]) -> Plain:
        """Put pieces end to end."""
        named = (field.name for field in fields(cls))
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in named})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyErrors:
    """Absolute errors of the AUC and of the interval's two ends together, in the paper's mode.

    `described` places exact scores in noisy survivor functions, as the paper's text has it; `simulated` has noise on
    every score, cut to [0, 1], and for the interval puts the exact AUC in the middle, as its published code does.
    """

    described: Errors
    simulated: Errors
    described_interval: Errors
    simulated_interval: Errors

    def __add__(self, other: NoisyErrors) -> NoisyErrors:
        return NoisyErrors(
            **{field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulationResult:
    """What a piece, or the whole simulation, came to."""

    plain: Plain
    noisy: Mapping[NoisyMode, NoisyErrors]
    private: Mapping[PrivateMode, Errors]


def run(
    settings: Settings, *, jobs: int | None = None, finished: Callable[[int], None] = lambda piece: None
) -> SimulationResult:
    """Run all pieces; the result is the same whatever the number of threads."""
    parts = []
    for number, part in enumerate(_results(settings, jobs or usable_cores())):
        parts.append(part)
        finished(number)
    return SimulationResult(
        plain=Plain.joined([part.plain for part in parts]),
        noisy={mode: reduce(lambda a, b: a + b, (part.noisy[mode] for part in parts)) for mode in settings.noisy},
        private={mode: reduce(lambda a, b: a + b, (part.private[mode] for part in parts)) for mode in settings.private},
    )


def usable_cores() -> int:
    """How many threads may run beside each other."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _results(settings: Settings, jobs: int) -> Iterator[SimulationResult]:
    every = pieces(settings)
    pool = ThreadPoolExecutor(jobs)
    try:
        yield from pool.map(lambda number: run_piece(settings, number, every[number]), range(len(every)))
    finally:
        pool.shutdown(cancel_futures=True)


def run_piece(settings: Settings, number: int, datasets: int) -> SimulationResult:
    """Simulate studies and evaluate them with every kind of noise; a piece has random numbers of its own."""
    rows = simulated(datasets, generator_for(settings.seed, "schalk", "data", number))
    fitted = rates(equidistant_thresholds())
    exact = exact_studies(rows, fitted, rates((np.arange(FINE) + 0.5) / FINE))
    plain = Plain(
        rows=row_numbers(rows),
        auc=exact.auc,
        glm=ndtr(exact.intercept / np.hypot(1.0, exact.slope)),
        area=exact.area,
        reversed=exact.reversed.astype(np.float64),
    )
    noise = standard_noise(rows, generator_for(settings.seed, "schalk", "noise", number))
    ends = interval_ends(exact.auc, exact.variance)
    return SimulationResult(
        plain=plain,
        noisy={mode: _noisy_errors(mode, rows, noise, fitted, exact.auc, ends) for mode in settings.noisy},
        private={
            mode: _private_errors(mode, rows, exact.auc, generator_for(settings.seed, "schalk", mode, number))
            for mode in settings.private
        },
    )


def rates(thresholds: FloatArray) -> Rates:
    """False-positive rates with their normal quantiles."""
    return Rates(thresholds, ndtri(thresholds))


def interval_ends(auc: FloatArray, variance: FloatArray) -> FloatArray:
    """Both ends of the paper's intervals (its equation 3); NaN where an AUC is 0 or 1."""
    inside = (auc > 0.0) & (auc < 1.0)
    middle = np.where(inside, auc, 0.5)
    reach = ndtri(0.5 + LEVEL / 2.0) * np.sqrt(variance) / (middle * (1.0 - middle))
    ends: FloatArray = np.where(inside, expit(logit(middle) + np.stack((-reach, reach))), np.nan)
    return ends


def _noisy_errors(
    mode: NoisyMode, rows: Rows, noise: Rows, fitted: Rates, auc: FloatArray, ends: FloatArray
) -> NoisyErrors:
    described, simulated_ = noisy_studies(rows, noise, mode.scale, fitted)

    def off(found: Noisy, middle: FloatArray) -> Errors:
        return Errors.of(np.abs(interval_ends(middle, found.variance) - ends).sum(axis=0), auc)

    return NoisyErrors(
        described=Errors.of(np.abs(described.auc - auc), auc),
        simulated=Errors.of(np.abs(simulated_.auc - auc), auc),
        described_interval=off(described, described.auc),
        simulated_interval=off(simulated_, auc),
    )


def _private_errors(mode: PrivateMode, rows: Rows, auc: FloatArray, generator: np.random.Generator) -> Errors:
    return Errors.of(np.abs(mode.aucs(rows, generator) - auc), auc)
