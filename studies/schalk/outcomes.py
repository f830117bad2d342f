"""Errors by bin of the empirical AUC: sums that add up over pieces of a study, and the means that follow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.counts import FloatArray, read_only
from studies.schalk.published import BINS, bins_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean over simulated studies and its standard error."""

    value: float
    standard_error: float
    count: int

    @classmethod
    def of(cls, values: FloatArray) -> Mean:
        """Average values.

        >>> Mean.of(np.array([0.75, 1.0]))
        Mean(value=0.875, standard_error=0.125, count=2)
        """
        return cls.from_sums(values.size, float(values.sum()), float(np.dot(values, values)))

    @classmethod
    def from_sums(cls, count: float, total: float, squares: float) -> Mean:
        """The same from sums; NaN where there is nothing to average."""
        if count < 2:
            return cls(value=total / count if count else math.nan, standard_error=math.nan, count=int(count))
        mean = total / count
        variance = max(squares - total * mean, 0.0) / (count - 1)
        return cls(value=mean, standard_error=math.sqrt(variance / count), count=int(count))

    def sign(self, times: float) -> int:
        """1 or -1 if the mean is that many standard errors above or below 0, else 0."""
        if not abs(self.value) > times * self.standard_error:
            return 0
        return 1 if self.value > 0.0 else -1

    def less_than(self, limit: float) -> Mean:
        """How far the mean is below a limit."""
        return Mean(value=limit - self.value, standard_error=self.standard_error, count=self.count)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        known = math.isfinite(self.value)
        return {
            "mean": self.value if known else None,
            "standard_error": self.standard_error if math.isfinite(self.standard_error) else None,
            "count": self.count,
        }


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

    def __add__(self, other: Errors) -> Errors:
        return Errors(self.sums + other.sums)

    def bin(self, number: int) -> Mean:
        """The mean in a bin."""
        return Mean.from_sums(*self.sums[number])

    @property
    def bins(self) -> tuple[Mean, ...]:
        """The mean in every bin above 0.5."""
        return tuple(self.bin(number) for number in range(BINS))

    @property
    def overall(self) -> Mean:
        """The mean over all studies."""
        return Mean.from_sums(*self.sums.sum(axis=0))

    @property
    def worst(self) -> Mean:
        """The bin with the largest mean."""
        known = [mean for mean in self.bins if mean.count > 1]
        return max(known, key=lambda mean: mean.value) if known else self.overall

    def within(self, limit: float) -> int:
        """In how many bins the mean is no larger than a limit."""
        return sum(mean.value <= limit for mean in self.bins)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"overall": self.overall.to_dict(), "bins": [mean.to_dict() for mean in self.bins]}
