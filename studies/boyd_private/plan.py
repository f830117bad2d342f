"""Settings of the study, and its pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from studies.boyd_private.curves import measure_curves
from studies.boyd_private.data import NormalPopulation, Population
from studies.boyd_private.errors import measure_errors, measure_prevalence
from studies.boyd_private.exhaustive import local_sensitivities
from studies.boyd_private.histograms import measure_histograms
from studies.boyd_private.published import DISSERTATION_ROWS, HISTOGRAM_EPSILON, HISTOGRAM_SIZES, SIZES
from studies.boyd_private.reidentification import measure_attack
from studies.running import Piece
from studies.store import Arrays

CLAIMED = (Fraction(1, 10), Fraction(3, 10), Fraction(1, 2), Fraction(1))
"""Epsilons at which claims are tried."""

ADULT_HISTOGRAM_SIZES = (10, 30, 100, 1_000)
"""Of Figure 5.6; the text does not name the dissertation's."""

PREVALENCE_EPSILONS = (Fraction(1, 10), Fraction(1))
PREVALENCES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, *(tenth / 10 for tenth in range(1, 10)), 0.95, 0.98, 0.99, 0.999)
SMOOTH = NormalPopulation(key="normal", name="Normal scores, AUC 0.8", mean=1.1902322)

MISSPECIFIED = (
    NormalPopulation(key="1,1", name="Y ~ N(1, 1)", mean=1.0),
    NormalPopulation(key="1,0.5", name="Y ~ N(1, 0.5)", mean=1.0, deviation=0.5),
    NormalPopulation(key="1,1.5", name="Y ~ N(1, 1.5)", mean=1.0, deviation=1.5),
)
"""Simulated panels of Figure 6. The paper does not say whether the second number is a deviation; here it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Sizes of the study. The papers do not say how often they repeated anything.

    For each size and epsilon `draws` values of each of `sets` test sets are released; the attack is tried `trials`
    times on exact numbers and `releases` times on releases; `tables` private tables of counts are drawn.
    """

    seed: int = 0
    quick: bool = False
    epsilons: tuple[Fraction, ...] = tuple(Fraction(step, 20) for step in range(1, 21))
    sets: int = 300
    draws: int = 100
    attacked: tuple[int, ...] = (10, 20, 50, 100, 250, 500, 1_000, 1_500, 2_000, 2_500)
    trials: int = 2_000
    releases: int = 400
    histogram_draws: int = 100_000
    prevalence_draws: int = 20_000
    curve_draws: int = 1_000
    tables: int = 60
    most_rows: int = 16

    @classmethod
    def asked(cls, *, seed: int, quick: bool) -> Settings:
        """Return the settings of a full or a quick run."""
        return replace(_QUICK if quick else cls(), seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "seed": self.seed,
            "epsilons": [float(epsilon) for epsilon in self.epsilons],
            "test_sets": self.sets,
            "releases_of_each": self.draws,
            "attacked_rows": list(self.attacked),
            "attack_trials": self.trials,
            "attack_releases": self.releases,
            "histogram_draws": self.histogram_draws,
            "prevalence_draws": self.prevalence_draws,
            "curve_draws": self.curve_draws,
            "count_tables": self.tables,
            "exhaustive_rows": self.most_rows,
        }


_QUICK = Settings(
    quick=True,
    epsilons=CLAIMED,
    sets=40,
    draws=50,
    attacked=(20, 100, 500, 2_500),
    trials=150,
    releases=30,
    histogram_draws=20_000,
    prevalence_draws=2_000,
    curve_draws=200,
    tables=2,
    most_rows=12,
)


def planned(settings: Settings, populations: Sequence[Population]) -> tuple[Piece, ...]:
    """Return the pieces, long ones first. The first population is Adult where it is there."""
    return tuple(_pieces(settings, populations))


def _pieces(settings: Settings, populations: Sequence[Population]) -> Iterator[Piece]:
    seed, main = settings.seed, populations[0]
    for rows in sorted(settings.attacked, reverse=True):
        arguments: tuple[Any, ...] = (main, rows, settings.trials, settings.releases, seed)
        yield Piece(name=f"attack {rows}", work=measure_attack, arguments=arguments)
    for population in populations:
        for size in SIZES:
            arguments = (population, size, settings.epsilons, settings.sets, settings.draws, seed)
            yield Piece(name=f"errors {population.key} {size}", work=measure_errors, arguments=arguments)
    for population in (*MISSPECIFIED, main):
        arguments = (population, settings.curve_draws, settings.tables, seed)
        yield Piece(name=f"curves {population.key}", work=measure_curves, arguments=arguments)
    for rows in DISSERTATION_ROWS:
        for epsilon in PREVALENCE_EPSILONS:
            arguments = (SMOOTH, rows, PREVALENCES, epsilon, settings.prevalence_draws, seed)
            yield Piece(name=f"prevalence {rows} {epsilon}", work=measure_prevalence, arguments=arguments)
    for population, sizes in ((populations[-1], HISTOGRAM_SIZES), (main, ADULT_HISTOGRAM_SIZES)):
        for size in sizes:
            arguments = (population, size, HISTOGRAM_EPSILON, settings.histogram_draws, seed)
            yield Piece(name=f"histogram {population.key} {size}", work=measure_histograms, arguments=arguments)
    for rows in range(3, settings.most_rows + 1):
        yield Piece(name=f"exhaustive {rows}", work=exhaustive, arguments=(rows,))


def exhaustive(rows: int) -> Arrays:
    """Return the local sensitivities of all datasets of so many rows as arrays."""
    found = local_sensitivities(rows)
    names = ("positives", "negatives", "least_auc", "most_auc", "most_average_precision")
    return {name: np.array([getattr(each, name) for each in found]) for name in names}
