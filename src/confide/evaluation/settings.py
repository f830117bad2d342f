"""Settings of an evaluation, and the sampling design of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from confide.errors import ParameterError
from confide.intervals.interval import check_level
from confide.intervals.resample import LEAST_REPLICATES


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How rows were sampled, on which intervals depend.

    `weighted` rows stand for several rows each. `clusters` and `folds` are their numbers; None without any. `survey`
    means that weights are inverse sampling probabilities. `imputed` names the models whose scores were imputed.
    """

    weighted: bool = False
    clusters: int | None = None
    folds: int | None = None
    survey: bool = False
    imputed: tuple[str, ...] = ()

    @property
    def independent(self) -> bool:
        """Tell whether rows are independent and drawn alike, so that counts say everything."""
        return self.clusters is None and self.folds is None and not self.survey

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "weighted": self.weighted,
            "clusters": self.clusters,
            "folds": self.folds,
            "survey": self.survey,
            "imputed": list(self.imputed),
        }


IntervalChoice = Literal["plain", "logit", "bootstrap"]
INTERVALS: tuple[IntervalChoice, ...] = ("plain", "logit", "bootstrap")
Axis = Literal["specificity", "sensitivity"]
_DEFAULT_THRESHOLD = 0.5
UNUSED = 100
"""Number of replicates to name where nothing is resampled."""
SEED = 0
"""Seed of resampling, so that the same data give the same intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialRegion:
    """Range of specificities or sensitivities over which a partial AUC is taken."""

    axis: Axis
    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.lower < self.upper <= 1.0:
            raise ParameterError(
                f"`{self.axis}` of a partial AUC needs 0 <= low < high <= 1, got {self.lower:g} to {self.upper:g}; "
                "give for example 0.9 to 1"
            )

    @property
    def options(self) -> dict[str, tuple[float, float]]:
        """Options of the metric `partial_auc`."""
        return {self.axis: (self.lower, self.upper)}


def check_interval(method: str) -> IntervalChoice:
    """Refuse an unknown method of intervals."""
    for known in INTERVALS:
        if method == known:
            return known
    raise ParameterError(f"`interval` must be one of {', '.join(INTERVALS)}, got {method!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Choices that an evaluation follows.

    `interval` is the method of all intervals; None takes the default of each number. `thresholds` of None is 0.5 where
    scores are probabilities. `cost_ratio` is the cost of a missed positive over that of a false alarm. With 0
    `replicates` nothing is resampled, and numbers whose intervals need it have none.
    """

    level: float = 0.95
    interval: IntervalChoice | None = None
    thresholds: tuple[float, ...] | None = None
    regions: tuple[PartialRegion, ...] = ()
    cost_ratio: float | None = None
    replicates: int = 1_000
    seed: int = SEED

    def __post_init__(self) -> None:
        check_level(self.level)
        if not (
            isinstance(self.replicates, int | np.integer)
            and (self.replicates == 0 or self.replicates >= LEAST_REPLICATES)
        ):
            raise ParameterError(
                f"`replicates` must be 0, for none, or a whole number of at least {LEAST_REPLICATES}; got "
                f"{self.replicates!r}"
            )
        if not self.replicates and self.interval == "bootstrap":
            raise ParameterError("intervals by the bootstrap need `replicates`; give at least 100")
        if self.cost_ratio is not None and not 0.0 < self.cost_ratio < float("inf"):
            raise ParameterError(f"`cost_ratio` must be a positive number, got {self.cost_ratio!r}")

    def thresholds_of(self, *, probabilities: bool) -> tuple[float, ...]:
        """Return the thresholds of a model: those of the request, or 0.5 for probabilities."""
        if self.thresholds is None:
            return (_DEFAULT_THRESHOLD,) if probabilities else ()
        return self.thresholds

    def thresholds_between(self, low: float, high: float) -> tuple[float, ...]:
        """Return the thresholds of a model whose scores lie from `low` to `high`."""
        return self.thresholds_of(probabilities=low >= 0.0 and high <= 1.0)
