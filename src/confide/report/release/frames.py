"""Releases as a data frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from confide.releases.release import Release
from confide.report.release.names import at_a_threshold
from confide.report.shared.frames import data_frame

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = (
    *("metric", "threshold", "value", "sample_lower", "sample_upper", "population_lower", "population_upper"),
    *("level", "mechanism", "epsilon", "delta", "neighbours"),
)


def release_frame(releases: Sequence[Release]) -> DataFrame:
    """Return one row for each released number, with both intervals and the guarantee."""
    return data_frame(map(_row, releases), COLUMNS)


def _row(release: Release) -> dict[str, Any]:
    sample, population = release.intervals.sample, release.intervals.population
    return {
        "metric": release.metric,
        "threshold": release.options["threshold"] if at_a_threshold(release) else None,
        "value": release.value,
        "sample_lower": sample.lower,
        "sample_upper": sample.upper,
        "population_lower": population.lower,
        "population_upper": population.upper,
        "level": sample.level,
        "mechanism": release.mechanism,
        "epsilon": float(release.guarantee.epsilon),
        "delta": float(release.guarantee.delta),
        "neighbours": release.guarantee.neighbours.value,
    }
