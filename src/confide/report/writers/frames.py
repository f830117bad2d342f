"""Results as pandas data frames: one row for each number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from confide.errors import UsageError
from confide.intervals.interval import Estimate, Interval

if TYPE_CHECKING:
    from pandas import DataFrame


def data_frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> DataFrame:
    """Return rows as a data frame. Columns that a row lacks are missing values."""
    try:
        import pandas as pd
    except ImportError:
        raise UsageError(
            "to_frame needs pandas, which is not installed: `pip install pandas`; to_dict returns the same numbers"
        ) from None
    return pd.DataFrame(list(rows), columns=list(columns))


def estimate_cells(estimate: Estimate) -> dict[str, Any]:
    """Return the columns value, lower, upper, level and method of an estimate."""
    return {"value": estimate.value, **interval_cells(estimate.interval)}


def interval_cells(interval: Interval | None) -> dict[str, Any]:
    """Return the columns lower, upper, level and method; empty without an interval."""
    if interval is None:
        return {}
    return interval.to_dict()
