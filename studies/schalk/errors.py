"""Errors by bin of the empirical AUC: sums that add up over pieces of a study, and the means that follow."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.counts import FloatArray, read_only
from studies.claims import Mean
from studies.schalk.published import BINS, bins_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleMean(Mean):
    """Mean over a number of simulated studies, which may be 0."""

    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> SampleMean:
        """Average values.

        >>> SampleMean.of(np.array([0.75, 1.0]))
        SampleMean(value=0.875, standard_error=0.125, count=2)
        """
        held = np.asarray(values, dtype=np.float64)
        return cls.from_sums(held.size, float(held.sum()), float(np.dot(held, held)))

    @classmethod
    def from_sums(cls, count: float, total: float, squares: float) -> SampleMean:
        """Return the same from sums; NaN where there is nothing to average."""
        if count < 2:
            return cls(value=total / count if count else math.nan, standard_error=math.nan, count=int(count))
        mean = total / count
        variance = max(squares - total * mean, 0.0) / (count - 1)
        return cls(value=mean, standard_error=math.sqrt(variance / count), count=int(count))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**Mean.to_dict(self), "count": self.count}


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """Count, sum and sum of squares of errors in each bin, those of AUCs of 0.5 and below last."""

    sums: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "sums", read_only(self.sums))

    @classmethod
    def of(cls, errors: FloatArray, auc: FloatArray) -> Errors:
        """Sort errors into the bins of the empirical AUC; those that do not exist are left out."""
        known = np.isfinite(errors)
        place = bins_of(auc[known]) % (BINS + 1)
        kept = errors[known]
        sums = [np.bincount(place, weights=weights, minlength=BINS + 1) for weights in (kept**0, kept, kept**2)]
        return cls(np.stack(sums, axis=1))

    def bin(self, number: int) -> SampleMean:
        """Return the mean in a bin."""
        return SampleMean.from_sums(*self.sums[number])

    @property
    def bins(self) -> tuple[SampleMean, ...]:
        """Return the mean in every bin above 0.5."""
        return tuple(self.bin(number) for number in range(BINS))

    @property
    def overall(self) -> SampleMean:
        """Return the mean over all studies."""
        return SampleMean.from_sums(*self.sums.sum(axis=0))

    @property
    def worst(self) -> SampleMean:
        """Return the bin with the largest mean."""
        known = [mean for mean in self.bins if mean.count > 1]
        return max(known, key=lambda mean: mean.value) if known else self.overall

    def within(self, limit: float) -> int:
        """Count the bins in which the mean is at most a limit."""
        return sum(mean.value <= limit for mean in self.bins)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"overall": self.overall.to_dict(), "bins": [mean.to_dict() for mean in self.bins]}
