"""Run the simulation in pieces, each with random numbers of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from confide.counts import FloatArray, read_only
from confide.curves.roc_glm import equidistant_thresholds
from studies.repeatable_noise import generator_for
from studies.running import Piece, run_pieces
from studies.schalk.compiled_fits import Noisy, Rates, Rows, exact_studies, noisy_studies
from studies.schalk.data import row_numbers, simulated, standard_noise
from studies.schalk.errors import Errors
from studies.schalk.plan import PIECE, NoisyMode, Settings, pieces
from studies.schalk.private_mode import PrivateMode
from studies.store import Arrays

FINE = 2_000
"""Number of false-positive rates at which the area between curves is measured."""

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plain:
    """Results of each simulated study without noise: the empirical AUC and that of the ROC-GLM, NaN where no fit
    exists.

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulationResult:
    """Result of a piece, or of the whole simulation."""

    plain: Plain
    noisy: Mapping[NoisyMode, NoisyErrors]
    private: Mapping[PrivateMode, Errors]

    def to_arrays(self) -> Arrays:
        """Return the numbers alone."""
        noisy = [[getattr(errors, name).sums for name in _names(NoisyErrors)] for errors in self.noisy.values()]
        return {
            **{name: getattr(self.plain, name) for name in _names(Plain)},
            "noisy": np.array(noisy),
            "private": np.array([errors.sums for errors in self.private.values()]),
        }

    @classmethod
    def from_arrays(cls, settings: Settings, parts: Sequence[Arrays]) -> SimulationResult:
        """Put the numbers of pieces together."""
        noisy, private = (np.sum([part[name] for part in parts], axis=0) for name in ("noisy", "private"))
        return cls(
            plain=Plain(**{name: np.concatenate([part[name] for part in parts]) for name in _names(Plain)}),
            noisy={
                mode: NoisyErrors(**dict(zip(_names(NoisyErrors), map(Errors, sums), strict=True)))
                for mode, sums in zip(settings.noisy, noisy, strict=True)
            },
            private={mode: Errors(sums) for mode, sums in zip(settings.private, private, strict=True)},
        )


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def simulation_pieces(settings: Settings) -> tuple[Piece, ...]:
    """Return the pieces of the simulation. Run them in threads: the kernels release the interpreter's lock."""
    return tuple(
        Piece(
            name=f"studies up to {PIECE * (number + 1):,}", work=_piece_arrays, arguments=(settings, number, datasets)
        )
        for number, datasets in enumerate(pieces(settings))
    )


def run(settings: Settings, *, jobs: int | None = None) -> SimulationResult:
    """Run the whole simulation. The result is the same whatever the number of threads."""
    found = run_pieces(simulation_pieces(settings), jobs=jobs, workers="threads")
    return SimulationResult.from_arrays(settings, list(found.values()))


def _piece_arrays(settings: Settings, number: int, datasets: int) -> Arrays:
    return run_piece(settings, number, datasets).to_arrays()


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
    """Return false-positive rates with their normal quantiles."""
    return Rates(thresholds, ndtri(thresholds))


def interval_ends(auc: FloatArray, variance: FloatArray) -> FloatArray:
    """Return both ends of the paper's intervals (its equation 3); NaN where an AUC is 0 or 1."""
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
