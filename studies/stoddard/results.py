"""What trials came to: means over folds with their standard errors, and the best of several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from studies.claims import Mean
from studies.stoddard.trials import FoldResult, Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """A trial and its values in each fold; `features` is how many were selected on average."""

    trial: Trial
    values: tuple[float, ...]
    features: float

    @classmethod
    def of(cls, trial: Trial, found: Iterable[FoldResult]) -> TrialResult:
        """Gather what folds found."""
        results = tuple(found)
        values = tuple(result.value for result in results)
        return cls(trial=trial, values=values, features=float(np.mean([result.features for result in results])))

    @property
    def mean(self) -> Mean:
        """The mean over folds."""
        return Mean.of(self.values)

    def less(self, other: TrialResult) -> Mean:
        """How much better than another, fold by fold."""
        return Mean.of(ours - theirs for ours, theirs in zip(self.values, other.values, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            **self.trial.to_dict(),
            **self.mean.to_dict(),
            "features": self.features,
            "values": list(self.values),
        }


Line: TypeAlias = tuple[TrialResult, ...]
"""The outcomes of several trials that are shown together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrialResults:
    """The outcomes of all trials."""

    by_trial: Mapping[Trial, TrialResult]

    @classmethod
    def of(cls, found: Mapping[Trial, tuple[FoldResult, ...]]) -> TrialResults:
        """Gather what was found."""
        return cls(by_trial={trial: TrialResult.of(trial, results) for trial, results in found.items()})

    def best(self, trials: Iterable[Trial]) -> TrialResult:
        """The trial with the highest mean, of several: a choice that looks at the data."""
        return max((self.by_trial[trial] for trial in trials), key=lambda outcome: outcome.mean.value)
