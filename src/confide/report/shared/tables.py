"""The tables of an evaluation as plain rows of text, which the terminal and the page both show."""

from __future__ import annotations

import math
from dataclasses import dataclass

from confide.evaluation.evaluation import Evaluation, GroupEvaluation, ModelEvaluation, ThresholdEvaluation
from confide.intervals.comparison import Comparison
from confide.intervals.interval import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A titled table; the first column holds names, the others numbers."""

    title: str
    head: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    note: str = ""


TEXT_COLUMNS = (
    *("score", "one label", "mechanism", "analyst", "what", "when", "meaning", "state", "in this validation"),
    *("what it released", "what it was charged", "left to the study"),
)
"""Columns besides the first that hold words."""


def number(value: float | None, digits: int = 3) -> str:
    """Write a number that may not exist."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.{digits}f}"


def amount(value: float) -> str:
    """Write a number of rows, or a weight."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def p_value(value: float) -> str:
    """Write a p-value, never as zero."""
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def span(interval: Interval | None, digits: int = 3) -> str:
    """Write an interval."""
    if interval is None or math.isnan(interval.lower):
        return "–"
    return f"{interval.lower:.{digits}f} to {interval.upper:.{digits}f}"


def tables(evaluation: Evaluation) -> list[Table]:
    """All tables that have something to show."""
    found = [_discrimination(evaluation), _estimators(evaluation)]
    if any(model.calibration is not None for model in evaluation.models):
        found.append(_calibration(evaluation))
    found.append(_thresholds(evaluation))
    if evaluation.comparisons:
        found.append(_comparisons(evaluation))
    if evaluation.groups:
        found.append(_groups(evaluation))
    return found


def _level(evaluation: Evaluation) -> str:
    return f"{100 * evaluation.level:g} % interval"


def _discrimination(evaluation: Evaluation) -> Table:
    level = _level(evaluation)
    body = tuple(
        (
            model.score,
            number(model.auc.value),
            span(model.auc.interval),
            number(model.average_precision.value),
            span(model.average_precision.interval),
            number(model.aucnpr),
        )
        for model in evaluation.models
    )
    return Table(
        title="Ranking",
        head=("score", "AUC", level, "average precision", level, "AUCNPR"),
        body=body,
        note=f"The worst possible ranking of these rows has AUCPR {number(evaluation.models[0].aucpr_minimum)}; "
        "AUCNPR is the share of the achievable area above it that is attained.",
    )


def _estimators(evaluation: Evaluation) -> Table:
    names = tuple(evaluation.models[0].aucpr)
    body = tuple(
        (name.replace("_", " "), *(number(model.aucpr[name]) for model in evaluation.models)) for name in names
    )
    return Table(
        title="AUCPR by estimator",
        head=("estimator", *(model.score for model in evaluation.models)),
        body=body,
        note="Recommended: average precision; where few scores are tied also lower trapezoid and interpolated median. "
        "Upper trapezoid and convex are too high; binormal holds only for normal scores.",
    )


def _calibration(evaluation: Evaluation) -> Table:
    def row(model: ModelEvaluation) -> tuple[str, ...]:
        calibration = model.calibration
        names = ("intercept", "slope", "expected_calibration_error", "integrated_calibration_index")
        return (
            model.score,
            number(model.brier),
            number(model.scaled_brier),
            number(model.log_loss),
            number(model.observed_expected),
            *(number(None if calibration is None else getattr(calibration, name)) for name in names),
        )

    return Table(
        title="Calibration",
        head=("score", "Brier", "scaled", "log loss", "obs:exp", "intercept", "slope", "ECE", "ICI"),
        body=tuple(row(model) for model in evaluation.models),
    )


def _thresholds(evaluation: Evaluation) -> Table:
    def row(name: str, mark: str, entry: ThresholdEvaluation) -> tuple[str, ...]:
        matrix = entry.matrix
        return (
            name,
            f"{entry.threshold:.4g}{mark}",
            number(matrix.recall),
            number(matrix.specificity),
            number(matrix.precision),
            number(matrix.negative_predictive_value),
            number(matrix.f1),
            number(matrix.matthews_correlation),
            number(entry.net_benefit),
        )

    body = []
    for model in evaluation.models:
        body += [row(model.score, "", entry) for entry in model.thresholds]
        body.append(row(model.score, "*", model.youden))
    return Table(
        title="At a threshold",
        head=("score", "threshold", "recall", "specificity", "precision", "NPV", "F1", "MCC", "net benefit"),
        body=tuple(body),
        note="* Youden's threshold, chosen on these rows: optimistic.",
    )


def _comparisons(evaluation: Evaluation) -> Table:
    several = evaluation.joint is not None

    def row(entry: Comparison) -> tuple[str, ...]:
        cells = (
            f"{entry.first} − {entry.second}",
            number(entry.difference),
            span(entry.interval),
            number(entry.z, 2),
            p_value(entry.p_value),
        )
        return (*cells, span(entry.simultaneous)) if several else cells

    note = "Difference in AUC on the same rows, paired DeLong test."
    if evaluation.joint is not None:
        joint = evaluation.joint
        note += (
            f" All equal: chi-squared {number(joint.chi_squared, 2)} on {joint.degrees_of_freedom} degrees of freedom, "
            f"p {p_value(joint.p_value)}. Simultaneous intervals hold together."
        )
    head = ("models", "difference", _level(evaluation), "z", "p")
    return Table(
        title="Comparison of AUC",
        head=(*head, "simultaneous") if several else head,
        body=tuple(row(entry) for entry in evaluation.comparisons),
        note=note,
    )


def _groups(evaluation: Evaluation) -> Table:
    def rows(group: GroupEvaluation) -> list[tuple[str, ...]]:
        shared = (group.group, amount(group.rows), number(group.prevalence))
        if not group.models:
            return [(*shared, "one class only", "–", "–", "–", "–")]
        return [
            (
                *shared,
                model.score,
                number(model.auc.value),
                span(model.auc.interval),
                number(model.aucnpr),
                number(model.observed_expected),
            )
            for model in group.models
        ]

    return Table(
        title="By group",
        head=("group", "rows", "prevalence", "score", "AUC", _level(evaluation), "AUCNPR", "obs:exp"),
        body=tuple(row for group in evaluation.groups for row in rows(group)),
    )
