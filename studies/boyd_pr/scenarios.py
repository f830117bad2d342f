"""Pairs of score distributions whose true precision-recall curve is known (dissertation, section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import integrate, stats

from confide.counts import FloatArray, ScoreCounts

PREVALENCE = 0.1


class FewHighNegatives:
    """Negatives of which one in fifty outscores every positive: their number is what decides the area."""

    high, share = stats.norm(3, 0.1), 0.02
    low = stats.norm(-3, 0.1)

    def rvs(self, size: int, random_state: np.random.Generator) -> Any:
        """Draw scores."""
        chosen = random_state.random(size) < self.share
        return np.where(chosen, self.high.rvs(size, random_state), self.low.rvs(size, random_state))

    def sf(self, threshold: float) -> float:
        """Return the share of scores above a threshold."""
        return float(self.share * self.high.sf(threshold) + (1.0 - self.share) * self.low.sf(threshold))


_DISTRIBUTIONS: dict[str, tuple[Any, Any]] = {
    "binormal": (stats.norm(0, 1), stats.norm(1, 1)),
    "bibeta": (stats.beta(2, 5), stats.beta(5, 2)),
    "offset uniform": (stats.uniform(0, 1), stats.uniform(0.5, 1)),
    "few high negatives": (FewHighNegatives(), stats.norm(0, 0.1)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Distributions of scores by name, and the share of positives, which every sample has exactly."""

    name: str
    prevalence: float = PREVALENCE

    @property
    def negatives(self) -> Any:
        """Return the distribution of the negatives' scores."""
        return _DISTRIBUTIONS[self.name][0]

    @property
    def positives(self) -> Any:
        """Return the distribution of the positives' scores."""
        return _DISTRIBUTIONS[self.name][1]

    def sizes(self, rows: int) -> tuple[int, int]:
        """Return how many positives and negatives so many rows have."""
        positives = max(round(self.prevalence * rows), 1)
        return positives, rows - positives

    def draw(self, rows: int, rng: np.random.Generator) -> ScoreCounts:
        """Draw a sample."""
        positives, negatives = self.sizes(rows)
        scores = np.concatenate(
            (self.negatives.rvs(negatives, random_state=rng), self.positives.rvs(positives, random_state=rng))
        )
        return ScoreCounts.from_arrays(np.arange(rows) >= negatives, scores)

    def precision(self, recall: FloatArray) -> FloatArray:
        """Return the true precision at recalls above 0."""
        caught = self.prevalence * recall
        alarms = (1.0 - self.prevalence) * np.vectorize(self.negatives.sf)(self.positives.isf(recall))
        found: FloatArray = caught / (caught + alarms)
        return found

    def true_area(self) -> float:
        """Return the true AUCPR (equation 4.2) by quadrature.

        >>> round(Scenario(name="binormal").true_area(), 4)
        0.2928
        """
        return _true_area(self)


@cache
def _true_area(scenario: Scenario) -> float:
    def precision(recall: float) -> float:
        return float(scenario.precision(np.array([recall]))[0])

    return float(integrate.quad(precision, 0.0, 1.0, limit=400, points=[0.001, 0.01, 0.5, 0.99])[0])


PAPERS = ("binormal", "bibeta", "offset uniform")
"""Scenarios of the dissertation."""

HARD = Scenario(name="few high negatives", prevalence=0.9)
"""Scenario that is not the dissertation's: its spread comes from the negatives, which the formulas leave out."""
