"""An evaluation on the terminal, and as a data frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from confide.evaluation.evaluation import Evaluation, GroupEvaluation, ModelEvaluation, ThresholdEvaluation
from confide.intervals.comparison import Comparison
from confide.intervals.interval import Estimate
from confide.report.evaluation.tables import (
    estimators_table,
    evaluation_tables,
    group_differences_table,
)
from confide.report.numbers import amount, number
from confide.report.writers.frames import data_frame, estimate_cells, interval_cells
from confide.report.writers.terminal import Table, print_line, print_table

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console


_PLAIN_WIDTH = 110


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """Print the tables, then the warnings."""
    print_line(summary(evaluation), console)
    for table in _terminal_tables(evaluation):
        console.print()
        print_table(table, console)
    for warning in evaluation.warnings:
        console.print()
        print_line(f"Note: {warning}", console)


def _terminal_tables(evaluation: Evaluation) -> list[Table]:
    """Return the tables that a terminal shows.

    AUCPR by other estimators, and differences between groups in other numbers than AUC, are on the page and in files.
    """
    tables = [table for table in evaluation_tables(evaluation) if table != estimators_table(evaluation)]
    if any(group.differences for group in evaluation.groups):
        tables[-1] = group_differences_table(evaluation, metrics=("auc",))
    return tables


def plain_text(evaluation: Evaluation) -> str:
    """Return what `print_evaluation` prints, without colours."""
    import io

    from rich.console import Console

    buffer = io.StringIO()
    print_evaluation(evaluation, Console(file=buffer, width=_PLAIN_WIDTH, color_system=None))
    return buffer.getvalue()


def summary(evaluation: Evaluation) -> str:
    """Summarise the evaluated rows in one line."""
    design, missing = evaluation.design, evaluation.missing
    weighted = " (weighted)" if design.weighted else ""
    rows = "" if evaluation.rows is None else f"{amount(evaluation.rows)} rows"
    if design.clusters is not None:
        rows += f" in {amount(design.clusters)} clusters"
    if design.folds is not None:
        rows += f" in {amount(design.folds)} folds"
    dropped = "" if missing is None else f"; left out for lack of a score: {amount(missing.rows)}"
    return (
        f"{f'{rows}: ' if rows else ''}{amount(evaluation.positives)} positive, {amount(evaluation.negatives)} "
        f"negative{weighted}, prevalence {number(evaluation.prevalence)}{dropped}"
    )


COLUMNS = (
    "model", "group_column", "group", "metric", "threshold", "value", "standard_error", "lower", "upper", "level",
    "method", "p_value",
)  # fmt: skip


_ESTIMATES = ("auc", "average_precision", "brier", "scaled_brier", "log_loss", "observed_expected")


_NUMBERS = ("aucnpr", "aucpr_minimum")


_CALIBRATION = {
    "intercept": "calibration_intercept",
    "slope": "calibration_slope",
    "joint_intercept": "calibration_joint_intercept",
    "e50": "calibration_e50",
    "e90": "calibration_e90",
    "emax": "calibration_emax",
}


def evaluation_frame(evaluation: Evaluation) -> DataFrame:
    """Return one row for each number of each model, over all rows and in each group, and for each difference."""
    return data_frame(_rows(evaluation), COLUMNS)


def _rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    for model in evaluation.models:
        yield from ({"model": model.score, **row} for row in _model_rows(model))
    for entry in evaluation.comparisons:
        yield {"model": f"{entry.first} - {entry.second}", **_difference(entry)}
    for group in evaluation.groups:
        yield from ({"group_column": group.column, "group": group.group, **row} for row in _group_rows(group))


def _group_rows(group: GroupEvaluation) -> Iterator[dict[str, Any]]:
    for model in group.models:
        yield from ({"model": model.score, **row} for row in _model_rows(model))
    for entry in group.differences:
        yield {"model": entry.first, **_difference(entry)}


def _difference(entry: Comparison) -> dict[str, Any]:
    return {
        "metric": f"{entry.metric}_difference",
        "threshold": entry.threshold,
        "value": entry.difference,
        "standard_error": entry.standard_error,
        "p_value": entry.p_value,
        **interval_cells(entry.interval),
    }


def _model_rows(model: ModelEvaluation) -> Iterator[dict[str, Any]]:
    for name in _ESTIMATES:
        yield from _estimate(name, getattr(model, name))
    for name in _NUMBERS:
        yield {"metric": name, "value": float(getattr(model, name))}
    for name, area in model.aucpr.items():
        if name != "average_precision":
            yield {"metric": f"aucpr_{name}", "value": float(area)}
    for part in model.partial_auc:
        region = f"{part.region.axis}_{part.region.lower:g}_to_{part.region.upper:g}"
        yield from _estimate(f"partial_auc_{region}", part.area)
        yield from _estimate(f"corrected_partial_auc_{region}", part.corrected)
    if model.calibration is not None:
        for name, estimate in model.calibration.items():
            yield from _estimate(_CALIBRATION.get(name, name), estimate)
    shown = list(model.thresholds)
    for chosen in (model.youden, model.least_cost):
        if chosen is not None:
            yield from _estimate(f"{chosen.rule}_threshold", chosen.threshold)
            if chosen.at.threshold not in [entry.threshold for entry in shown]:
                shown.append(chosen.at)
    for entry in shown:
        yield from _threshold_rows(entry)


def _threshold_rows(entry: ThresholdEvaluation) -> Iterator[dict[str, Any]]:
    for name, estimate in entry.measures.items():
        yield from ({**row, "threshold": entry.threshold} for row in _estimate(name, estimate))


def _estimate(metric: str, estimate: Estimate | None) -> Iterator[dict[str, Any]]:
    """Yield one row, or none for a number that does not exist."""
    if estimate is not None:
        yield {"metric": metric, "standard_error": estimate.standard_error, **estimate_cells(estimate)}
