"""A validation as a data frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from confide.intervals.interval import Estimate
from confide.report.shared.frames import data_frame, estimate_cells, interval_cells

if TYPE_CHECKING:
    from pandas import DataFrame

    from confide.federation.coordinator.performance import Performance
    from confide.federation.coordinator.validation import Validation

COLUMNS = ("model", "site", "metric", "value", "lower", "upper", "level")

_ESTIMATES = (
    *("auc", "average_precision", "prevalence", "brier", "observed_expected"),
    *("calibration_intercept", "calibration_slope"),
)


def validation_frame(validation: Validation) -> DataFrame:
    """Return one row for each number: over all rows (no site), the means over sites, and each site's own."""
    rows = ({"model": validation.question.model, **row} for row in _rows(validation))
    return data_frame(rows, COLUMNS)


def _rows(validation: Validation) -> Iterator[dict[str, Any]]:
    yield from _result_rows(validation.pooled)
    for name, summary in validation.heterogeneity.items():
        yield {"metric": f"{name}_mean_over_sites", "value": summary.value, **interval_cells(summary.interval)}
        if summary.prediction is not None:
            yield {"metric": f"{name}_prediction", **interval_cells(summary.prediction)}
    for site in validation.sites:
        if site.result is not None:
            yield from ({"site": site.name, **row} for row in _result_rows(site.result))


def _result_rows(result: Performance) -> Iterator[dict[str, Any]]:
    for name in ("rows", "positives"):
        if getattr(result, name) is not None:
            yield {"metric": name, "value": float(getattr(result, name))}
    if result.rows is None and result.size is not None:
        yield {"metric": "rows", **estimate_cells(result.size)}
    for name in _ESTIMATES:
        estimate: Estimate | None = getattr(result, name)
        if estimate is not None:
            yield {"metric": name, **estimate_cells(estimate)}
