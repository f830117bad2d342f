"""An evaluation as a data frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from confide.evaluation.evaluation import Evaluation, ModelEvaluation, ThresholdEvaluation
from confide.metrics.threshold import MEASURES
from confide.report.shared.frames import data_frame, estimate_cells, interval_cells

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = ("model", "group", "metric", "threshold", "value", "lower", "upper", "level")

_NUMBERS = ("aucnpr", "aucpr_minimum", "brier", "scaled_brier", "log_loss", "observed_expected")
_CALIBRATION = ("expected_calibration_error", "integrated_calibration_index")


def evaluation_frame(evaluation: Evaluation) -> DataFrame:
    """Return one row for each number of each model, over all rows and in each group."""
    return data_frame(_rows(evaluation), COLUMNS)


def _rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    for model in evaluation.models:
        yield from ({"model": model.score, **row} for row in _model_rows(model))
    for entry in evaluation.comparisons:
        difference = {"metric": "auc_difference", "value": entry.difference, **interval_cells(entry.interval)}
        yield {"model": f"{entry.first} - {entry.second}", **difference}
    for group in evaluation.groups:
        for model in group.models:
            yield from ({"model": model.score, "group": group.group, **row} for row in _model_rows(model))


def _model_rows(model: ModelEvaluation) -> Iterator[dict[str, Any]]:
    yield {"metric": "auc", **estimate_cells(model.auc)}
    yield {"metric": "average_precision", **estimate_cells(model.average_precision)}
    for name in _NUMBERS:
        yield from _number(name, getattr(model, name))
    for name, area in model.aucpr.items():
        if name != "average_precision":
            yield from _number(f"aucpr_{name}", area)
    if model.calibration is not None:
        yield from _number("calibration_intercept", model.calibration.intercept)
        yield from _number("calibration_slope", model.calibration.slope)
        for name in _CALIBRATION:
            yield from _number(name, getattr(model.calibration, name))
    for threshold in model.thresholds:
        yield from _threshold_rows(threshold)
    yield from _number("youden_threshold", model.youden.threshold)
    if model.youden.threshold not in [threshold.threshold for threshold in model.thresholds]:
        yield from _threshold_rows(model.youden)


def _threshold_rows(entry: ThresholdEvaluation) -> Iterator[dict[str, Any]]:
    measures = {name: getattr(entry.matrix, name) for name in MEASURES}
    for name, value in {**measures, "net_benefit": entry.net_benefit}.items():
        yield from ({**row, "threshold": entry.threshold} for row in _number(name, value))


def _number(metric: str, value: float | None) -> Iterator[dict[str, Any]]:
    """Yield one row, or none for a number that does not exist."""
    if value is not None:
        yield {"metric": metric, "value": float(value)}
