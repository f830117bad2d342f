"""Study: settings, populations and what every piece found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from studies.boyd_private.curves import METHODS, CurveErrors, curve_errors
from studies.boyd_private.data import METRICS, Population
from studies.boyd_private.errors import SHOWN, PrevalenceErrors, SizeErrors
from studies.boyd_private.histograms import SHOWN as IN_HISTOGRAMS
from studies.boyd_private.histograms import Histogram, histogram, share
from studies.boyd_private.mechanisms import MECHANISMS
from studies.boyd_private.plan import (
    ADULT_HISTOGRAM_SIZES,
    MISSPECIFIED,
    PREVALENCE_EPSILONS,
    Settings,
)
from studies.boyd_private.published import DISSERTATION_ROWS, HISTOGRAM_SIZES, SIZES
from studies.boyd_private.reidentification import PUBLICATIONS, successes
from studies.claims import Mean
from studies.store import Arrays


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study:
    """Settings, populations (Adult first, where it is there, and the stand-in for diabetes last) and results."""

    settings: Settings
    populations: tuple[Population, ...]
    found: Mapping[str, Arrays]

    @property
    def main(self) -> Population:
        """Return Adult, or what takes its place."""
        return self.populations[0]

    @property
    def stand_in(self) -> Population:
        """Return the stand-in for the diabetes data."""
        return self.populations[-1]

    @property
    def has_adult(self) -> bool:
        """Tell whether Adult was read."""
        return self.main.key == "adult"

    @property
    def curve_populations(self) -> tuple[Population, ...]:
        """Return the panels of Figure 6."""
        return (*MISSPECIFIED, self.main)

    def errors(self, population: Population, size: int) -> SizeErrors:
        """Return the errors on test sets of a size."""
        return SizeErrors.from_arrays(self.found[f"errors {population.key} {size}"], self.settings.epsilons)

    def prevalence(self, rows: int, epsilon: Fraction) -> PrevalenceErrors:
        """Return the errors over prevalence."""
        return PrevalenceErrors.from_arrays(self.found[f"prevalence {rows} {epsilon}"])

    def histogram(self, population: Population, size: int, metric: str, mechanism: str) -> Histogram:
        """Return the distribution of the private values of one test set."""
        return histogram(self.found[f"histogram {population.key} {size}"], metric, mechanism)

    def curve(self, population: Population, method: str) -> CurveErrors:
        """Return the private curves of a method."""
        return curve_errors(self.found[f"curves {population.key}"], method)

    def attack(self, rows: int) -> dict[str, Mean]:
        """Return the share of right guesses by what was published."""
        found, trials = successes(self.found[f"attack {rows}"])
        return {
            name: share(float(hit), int(times)) for name, hit, times in zip(PUBLICATIONS, found, trials, strict=True)
        }

    @property
    def exhausted(self) -> dict[int, Arrays]:
        """Return the local sensitivities of all datasets, by rows."""
        return {rows: self.found[f"exhaustive {rows}"] for rows in range(3, self.settings.most_rows + 1)}

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain data."""
        return {
            "populations": {each.key: {"name": each.name, **each.truth} for each in self.populations},
            "attack": {
                str(rows): {name: mean.to_dict() for name, mean in self.attack(rows).items()}
                for rows in self.settings.attacked
            },
            "errors": [line for each in self.populations for size in SIZES for line in self._error_lines(each, size)],
            "prevalence": [
                line for rows in DISSERTATION_ROWS for at in PREVALENCE_EPSILONS for line in self._prevalence(rows, at)
            ],
            "histograms": [
                {
                    "population": population.key,
                    "size": size,
                    "metric": metric,
                    "mechanism": mechanism.key,
                    "cut": (held := self.histogram(population, size, metric, mechanism.key)).cut.to_dict(),
                    "mean_absolute_error": held.error.to_dict(),
                    "shares": held.shares.tolist(),
                }
                for population, sizes in ((self.stand_in, HISTOGRAM_SIZES), (self.main, ADULT_HISTOGRAM_SIZES))
                for size in sizes
                for metric in METRICS
                for mechanism in IN_HISTOGRAMS
            ],
            "curves": {
                each.key: {method: self.curve(each, method).area.to_dict() for method in METHODS}
                for each in self.curve_populations
            },
            "local_sensitivities": {
                str(rows): {name: values.tolist() for name, values in arrays.items()}
                for rows, arrays in self.exhausted.items()
            },
        }

    def _error_lines(self, population: Population, size: int) -> list[dict[str, Any]]:
        errors = self.errors(population, size)
        return [
            {
                "population": population.key,
                "size": size,
                "metric": metric,
                "mechanism": mechanism.key,
                "epsilon": float(epsilon),
                "delta": float(mechanism.delta),
                "mean_absolute_error": errors.mean_absolute(metric, mechanism.key, epsilon).to_dict(),
                "root_mean_square_error": errors.root_mean_square(metric, mechanism.key, epsilon).to_dict(),
                "estimation_error": errors.estimation_error(metric).to_dict(),
            }
            for metric in METRICS
            for mechanism in MECHANISMS
            for epsilon in self.settings.epsilons
        ]

    def _prevalence(self, rows: int, epsilon: Fraction) -> list[dict[str, Any]]:
        held = self.prevalence(rows, epsilon)
        return [
            {
                "rows": rows,
                "positives": positives,
                "epsilon": float(epsilon),
                "metric": metric,
                "mechanism": mechanism.key,
                "mean_absolute_error": error.to_dict(),
            }
            for metric in METRICS
            for mechanism in SHOWN
            for positives, error in zip(held.positives, held.of(metric, mechanism.key), strict=True)
        ]
