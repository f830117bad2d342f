"""Means with standard errors, and sentences of a paper that such means support or contradict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

CLEAR = 2.0
"""Number of standard errors from which on a difference counts as clear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """Mean of several values and its standard error, under the assumption that values are independent.

    Folds of a cross-validation share training rows, so for them the standard error is too small.
    """

    value: float
    standard_error: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Mean:
        """Average at least two values.

        >>> Mean.of((0.75, 1.0))
        Mean(value=0.875, standard_error=0.125)
        """
        held = np.array(list(values), dtype=np.float64)
        return Mean(value=float(held.mean()), standard_error=float(held.std(ddof=1)) / math.sqrt(held.size))

    def sign(self, times: float) -> int:
        """Return 1 or -1 if the mean lies that many standard errors above or below 0, else 0."""
        if not abs(self.value) > times * self.standard_error:
            return 0
        return 1 if self.value > 0.0 else -1

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a number that does not exist is None."""
        numbers = {"mean": self.value, "standard_error": self.standard_error}
        return {name: value if math.isfinite(value) else None for name, value in numbers.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Sentence of a paper, with differences by name that are above 0 where the sentence holds."""

    sentence: str
    differences: Mapping[str, Mean]

    @property
    def holds(self) -> str:
        """Say "yes" or "no" if all differences are clear and agree, "unclear" if none is clear, else "in part"."""
        signs = {difference.sign(CLEAR) for difference in self.differences.values()}
        return {1: "yes", 0: "unclear", -1: "no"}[signs.pop()] if len(signs) == 1 else "in part"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "sentence": self.sentence,
            "holds": self.holds,
            "differences": {name: difference.to_dict() for name, difference in self.differences.items()},
        }
