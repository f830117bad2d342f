"""An AUC of its own beside private curves: a share of their epsilon releases it as `release_auc` does.

The AUC that follows from noisy counts allows for errors of the order within cells. If scores have few values, these
errors are most of its interval. How many values scores have is not public, so this is an option and no default.

The noise of the AUC is independent of that of the counts, and its parameters are public. So epsilons add up to that of
the whole release: see "An AUC beside the counts" in private_counts.proof.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from confide.counts import ScoreCounts
from confide.privacy.concentration import rho_of_pure
from confide.privacy.guarantee import stored_fraction
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.releases.auc import prepare_auc
from confide.releases.release import PreparedRelease, Release
from confide.releases.terms import Terms

AREA_SHARE = Fraction(1, 4)
"""Share of epsilon that an AUC beside curves costs.

Widths of the sample's interval without and with this share, at epsilon 1: 0.25 and 0.054 for 2,000 rows whose scores
have a dozen values, 0.22 and 0.008 for 14,650; but 0.038 and 0.054, and 0.006 and 0.008, if all scores differ. (Half of
epsilon makes it half as wide.) The error of the ROC curve grows by 7 to 29 %. The AUC says little where epsilon times
the rows of the smaller class is below about 100.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveArea:
    """An AUC beside curves: its own epsilon, and the public parameters from which its noise and intervals follow."""

    epsilon: Fraction
    neighbours: Neighbours
    unit: str
    rows_per_person: int
    prevalence_guess: float | None
    mechanism: str = "auto"

    @classmethod
    def of(cls, terms: Terms) -> CurveArea:
        """Return the AUC that is released beside curves of these terms."""
        return cls(
            epsilon=terms.promised[0] * AREA_SHARE,
            neighbours=terms.neighbours,
            unit=terms.unit,
            rows_per_person=terms.rows_per_person,
            prevalence_guess=terms.prevalence_guess,
        )

    @classmethod
    def released_with(cls, counts: Release) -> CurveArea | None:
        """Read the parameters of the AUC that was released beside noisy counts; None if there was none."""
        options: Mapping[str, Any] | None = counts.options.get("area")
        if options is None:
            return None
        guarantee = counts.guarantee
        return cls(
            epsilon=stored_fraction(options["epsilon"]),
            neighbours=guarantee.neighbours,
            unit=guarantee.unit,
            rows_per_person=guarantee.rows_per_person,
            prevalence_guess=options["prevalence_guess"],
            mechanism=options["mechanism"],
        )

    def prepare(self, counts: ScoreCounts, level: float, noise: Noise = SYSTEM_NOISE) -> PreparedRelease:
        """Check the request as `release_auc` does."""
        return prepare_auc(
            counts,
            epsilon=self.epsilon,
            mechanism=self.mechanism,
            neighbours=self.neighbours,
            unit=self.unit,
            rows_per_person=self.rows_per_person,
            level=level,
            prevalence_guess=self.prevalence_guess,
            noise=noise,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedArea:
    """An AUC beside curves whose request was checked; no noise has been drawn."""

    area: CurveArea
    prepared: PreparedRelease

    @property
    def request(self) -> Mapping[str, Any]:
        """Public parameters that the drawn numbers depend on."""
        return {"area": {**self.prepared.request, "epsilon": str(self.area.epsilon)}}

    @property
    def options(self) -> dict[str, Any]:
        """Public parameters from which the release is built again."""
        area = self.area
        how = {"epsilon": str(area.epsilon), "prevalence_guess": area.prevalence_guess}
        return {"area": {"mechanism": self.prepared.request["mechanism"], **how}}

    @property
    def rho(self) -> Fraction:
        """Rho of the AUC for single rows: it is pure."""
        return rho_of_pure(self.area.epsilon / self.area.rows_per_person)

    def draw(self, noise: Noise) -> dict[str, list[float]]:
        """Draw the numbers that the AUC and its intervals follow from."""
        (release,) = self.prepared.draw(noise)
        return {"area": list(release.noisy)}


def prepare_area(counts: ScoreCounts, terms: Terms, noise: Noise) -> PreparedArea:
    """Check the request for an AUC beside curves of these terms."""
    area = CurveArea.of(terms)
    return PreparedArea(area=area, prepared=area.prepare(counts, terms.level, noise))


def left_for_counts(terms: Terms) -> Terms:
    """Return the terms of the counts beside an AUC. What is promised stays: it is the guarantee of both."""
    return replace(terms, epsilon=terms.epsilon * (1 - AREA_SHARE))


def released_area(counts: Release, level: float) -> Release | None:
    """Rebuild the AUC that was released beside noisy counts, with intervals at a level; None if there was none.

    It follows from the drawn numbers and public facts. Rows that are made up, as many as the real ones where that
    number is public, stand for the real ones.
    """
    area = CurveArea.released_with(counts)
    if area is None:
        return None
    build = area.prepare(_made_up(counts.options["rows"]), level).build
    if build is None:
        return None
    (release,) = build(counts.parts["area"])
    return replace(release, guarantee=counts.guarantee)


def _made_up(rows: int | None) -> ScoreCounts:
    """Return so many rows, two by default."""
    return ScoreCounts(np.array([0.0]), np.array([1]), np.array([1 if rows is None else rows - 1]))
