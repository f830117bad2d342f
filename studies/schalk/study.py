"""Study: the paper's table and figures made anew, with the private mode beside its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from confide.counts import FloatArray
from confide.federation.modes.noisy_scores import NOT_PRIVATE
from studies.schalk.errors import Errors, SampleMean
from studies.schalk.plan import CELLS, NoisyMode, Settings
from studies.schalk.private_mode import PrivateMode
from studies.schalk.published import BINS, TABLE_1, BinSummary, bins_of
from studies.schalk.running import NoisyErrors, Plain, SimulationResult

Way = Literal["described", "simulated"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study:
    """Settings and what was found; every method of it reads off a table or a figure."""

    settings: Settings
    found: SimulationResult

    @property
    def plain(self) -> Plain:
        """Return the studies without noise."""
        return self.found.plain

    def table_1(self, *, turned: bool = False) -> tuple[BinSummary, ...]:
        """Return the differences in each bin.

        With `turned`, an AUC of scores whose median is higher among the negatives counts as 1 less itself, as the R
        package pROC takes it if it is not told which way scores point; the ROC-GLM stays as it is.
        """
        auc = self.turned_auc() if turned else self.plain.auc
        differences, bins = auc - self.plain.glm, bins_of(auc)
        known = np.isfinite(differences)
        return tuple(BinSummary.of(number, differences[known & (bins == number)]) for number in range(BINS))

    def turned_auc(self) -> FloatArray:
        """Return the empirical AUC with the direction chosen by medians."""
        turned: FloatArray = np.where(self.plain.reversed > 0.0, 1.0 - self.plain.auc, self.plain.auc)
        return turned

    def difference(self, number: int) -> SampleMean:
        """Return the mean difference in a bin."""
        differences = (self.plain.auc - self.plain.glm)[bins_of(self.plain.auc) == number]
        return SampleMean.of(differences[np.isfinite(differences)])

    def area(self) -> SampleMean:
        """Between the empirical curve and the ROC-GLM, over all studies that have a fit."""
        return SampleMean.of(self.areas())

    def areas(self) -> FloatArray:
        """Return every study's area between curves."""
        known: FloatArray = self.plain.area[np.isfinite(self.plain.area)]
        return known

    @property
    def without_fit(self) -> int:
        """Return how many studies have no finite ROC-GLM, as their classes are separated where it looks."""
        return int(np.isnan(self.plain.glm).sum())

    def model_error(self) -> Errors:
        """Return the ROC-GLM's error without any noise."""
        return Errors.of(np.abs(self.plain.glm - self.plain.auc), self.plain.auc)

    def noisy(self, epsilon: float, delta: float, sensitivity: float) -> NoisyErrors:
        """Errors of the paper's mode."""
        return self.found.noisy[NoisyMode(epsilon=epsilon, delta=delta, sensitivity=sensitivity)]

    def errors(self, way: Way, epsilon: float, delta: float, sensitivity: float) -> Errors:
        """Errors of the AUC in the paper's mode, in one way of reading it."""
        noisy = self.noisy(epsilon, delta, sensitivity)
        return noisy.described if way == "described" else noisy.simulated

    def interval_errors(self, way: Way, epsilon: float, delta: float, sensitivity: float) -> Errors:
        """Errors of the interval likewise."""
        noisy = self.noisy(epsilon, delta, sensitivity)
        return noisy.described_interval if way == "described" else noisy.simulated_interval

    def private(self, epsilon: float, cells: int = CELLS[0], share: float = 1.0, *, concave: bool = False) -> Errors:
        """Errors of the private mode."""
        return self.found.private[PrivateMode(epsilon=epsilon, cells=cells, share=share, concave=concave)]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of table and figures as plain data."""
        return {
            "table_1": [
                {**ours.to_dict(), "published": theirs.to_dict()}
                for ours, theirs in zip(self.table_1(), TABLE_1, strict=True)
            ],
            "table_1_direction_by_medians": [row.to_dict() for row in self.table_1(turned=True)],
            "without_fit": self.without_fit,
            "below_half": int((self.plain.auc <= 0.5).sum()),
            "area_between_curves": {
                **self.area().to_dict(),
                "quartiles": [float(q) for q in np.quantile(self.areas(), (0.25, 0.75))],
            },
            "noisy_scores": {
                "promise": NOT_PRIVATE,
                "settings": [_plain_noisy(mode, errors) for mode, errors in self.found.noisy.items()],
            },
            "private": [
                {**mode.to_dict(), "auc_error": errors.to_dict()} for mode, errors in self.found.private.items()
            ],
            "model_error": self.model_error().to_dict(),
        }


def _plain_noisy(mode: NoisyMode, errors: NoisyErrors) -> dict[str, Any]:
    return {
        **mode.to_dict(),
        "auc_error": errors.described.to_dict(),
        "auc_error_as_simulated": errors.simulated.to_dict(),
        "interval_error": errors.described_interval.to_dict(),
        "interval_error_as_simulated": errors.simulated_interval.to_dict(),
    }
