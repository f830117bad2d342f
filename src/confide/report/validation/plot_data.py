"""A validation to draw: its bands, its sites with results of their own, and the place of legends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confide.federation.modes.registry import mode_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from confide.federation.coordinator.performance import Performance
    from confide.federation.coordinator.validation import SiteResult, Validation
    from confide.intervals.bands import Band


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlotData:
    """A validation to draw, with the bands of its curves, which are slow to compute."""

    validation: Validation
    bands: Mapping[str, Band]

    @classmethod
    def of(cls, validation: Validation) -> PlotData:
        """Compute the bands of the population's curves in the private mode; other modes have none."""
        return cls(validation=validation, bands=_private_bands(validation))

    @property
    def pooled(self) -> Performance:
        """Results over all rows."""
        return self.validation.pooled


def _private_bands(validation: Validation) -> dict[str, Band]:
    """Return simultaneous bands of the population's ROC and PR curves, from the noisy sum."""
    total = validation.outcome.total
    if not mode_of(validation.question).private or total is None:
        return {}
    from confide.federation.coordinator.decode import pooled_counts
    from confide.releases.curves_from_counts import curves_of

    release = pooled_counts(validation.question, total, validation.outcome.sites, validation.level)
    bands = curves_of(release, level=validation.level).bands
    return {name: both.population for name, both in bands.items()}


def with_results(validation: Validation) -> list[SiteResult]:
    """Return the sites with results of their own; none if there is only one, whose results are those of all rows."""
    sites = [site for site in validation.sites if site.result is not None]
    return sites if len(sites) > 1 else []


def legend_below(ax: Axes) -> None:
    """Put the legend under the axis label. Square axes are anchored at the bottom, or the layout would cut it off."""
    ax.set_anchor("S")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), borderaxespad=4.6)
