"""A plan as a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.releases.plan_result import Plan
from confide.report.shared.frames import data_frame

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = ("metric", "mechanism", "epsilon", "mean_absolute_error", "sample_width", "population_width", "level")


def plan_frame(plan: Plan) -> DataFrame:
    """Return one row for each mechanism, with what to expect of it."""
    rows = (
        {
            "metric": plan.metric,
            "mechanism": entry.mechanism,
            "epsilon": float(plan.epsilon),
            "mean_absolute_error": entry.mean_absolute_error,
            "sample_width": entry.sample_width,
            "population_width": entry.population_width,
            "level": plan.level,
        }
        for entry in plan.mechanisms
    )
    return data_frame(rows, COLUMNS)
