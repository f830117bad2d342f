"""Content of a forest plot: a measure at every site, over all rows together, and as a mean over sites."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeGuard

from confide.federation.modes.registry import mode_of
from confide.intervals.interval import Estimate
from confide.intervals.random_effects import RandomEffects
from confide.report.shared.names import wrapped
from confide.report.shared.numbers import DASH, whole

if TYPE_CHECKING:
    from confide.federation.coordinator.performance import Performance
    from confide.federation.coordinator.validation import Validation

Scale = Literal["logit", "log"]

NAMES = {"auc": "AUC", "observed_expected": "Observed : expected"}

_SCALES: dict[str, Scale] = {"auc": "logit", "observed_expected": "log"}

GUESSING = {"auc": 0.5, "observed_expected": 1.0}

_ROW_INCHES, _TALL_ROW_INCHES, _OTHER_INCHES = 0.3, 0.38, 1.15

_WIDTH_INCHES = 9.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestRow:
    """A site: its name, its estimate, its rows as text and its weight in the summary."""

    name: str
    estimate: Estimate | None
    rows: str
    weight: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Content of a forest plot.

    `summary` is None where fewer than two sites can be summarised. A site without a weight is not in the summary.
    `noisy` is True where intervals include the noise of a private release.
    """

    measure: str
    level: float
    sites: tuple[ForestRow, ...]
    pooled: Estimate | None
    pooled_rows: str
    summary: RandomEffects | None
    noisy: bool = False

    @property
    def scale(self) -> Scale:
        """Scale on which sites are summarised and, for ratios, drawn."""
        return _SCALES[self.measure]

    @property
    def size(self) -> tuple[float, float]:
        """Size in inches."""
        tall = any("\n" in wrapped(row.name) for row in self.sites)
        lines = len(self.sites) + len(summary_names(self))
        return _WIDTH_INCHES, _OTHER_INCHES + lines * (_TALL_ROW_INCHES if tall else _ROW_INCHES)


def forest_of(validation: Validation, measure: str) -> Forest | None:
    """Return the forest of "auc" or "observed_expected", or None where fewer than two sites have a value."""
    own = [(site.name, site.result) for site in validation.sites if site.result is not None]
    estimates = {name: getattr(result, measure) for name, result in own}
    if sum(known(estimate) for estimate in estimates.values()) < 2:
        return None
    summary = validation.heterogeneity.get(measure)
    weights = {} if summary is None else dict(zip(validation.summarised[measure], summary.weights, strict=True))
    return Forest(
        measure=measure,
        level=validation.level,
        sites=tuple(
            ForestRow(name=name, estimate=estimates[name], rows=rows_words(result), weight=weights.get(name))
            for name, result in own
        ),
        pooled=getattr(validation.pooled, measure),
        pooled_rows=rows_words(validation.pooled),
        summary=summary,
        noisy=mode_of(validation.question).private,
    )


def summary_names(forest: Forest) -> list[str]:
    """Return the names of the lines below the sites."""
    names = ["All rows together"] if forest.pooled is not None else []
    if forest.summary is not None:
        names.append("Mean over sites")
        if forest.summary.prediction is not None:
            names.append("Another site (prediction)")
    return names


def rows_words(result: Performance | None) -> str:
    """Write the number of rows, with ≈ where it is estimated."""
    if result is None or (result.rows is None and result.size is None):
        return DASH
    if result.rows is not None:
        return f"{result.rows:,}"
    return DASH if result.size is None or not math.isfinite(result.size.value) else f"≈ {whole(result.size.value)}"


def known(estimate: Estimate | None) -> TypeGuard[Estimate]:
    """Return whether there is a value."""
    return estimate is not None and math.isfinite(estimate.value)
