"""Tables of an evaluation."""

from __future__ import annotations

from confide.evaluation.evaluation import Evaluation, GroupEvaluation, ModelEvaluation, ThresholdEvaluation
from confide.intervals.comparison import Comparison
from confide.report.shared.numbers import DASH, amount, interval_text, number, p_value, percent
from confide.report.shared.tables import Table


def evaluation_tables(evaluation: Evaluation) -> list[Table]:
    """Return all tables that apply to an evaluation."""
    tables = [ranking_table(evaluation), estimators_table(evaluation)]
    if any(model.calibration is not None for model in evaluation.models):
        tables.append(calibration_table(evaluation))
    tables.append(thresholds_table(evaluation))
    if evaluation.comparisons:
        tables.append(comparisons_table(evaluation))
    if evaluation.groups:
        tables.append(groups_table(evaluation))
    return tables


def _level(evaluation: Evaluation) -> str:
    return f"{percent(evaluation.level)} interval"


def ranking_table(evaluation: Evaluation) -> Table:
    """Return AUC and average precision of each model with their intervals."""
    level = _level(evaluation)
    body = tuple(
        (
            model.score,
            number(model.auc.value),
            interval_text(model.auc.interval),
            number(model.average_precision.value),
            interval_text(model.average_precision.interval),
            number(model.aucnpr),
        )
        for model in evaluation.models
    )
    return Table(
        title="Ranking",
        head=("score", "AUC", level, "average precision", level, "AUCNPR"),
        body=body,
        note=f"The worst possible ranking of these rows has AUCPR {number(evaluation.models[0].aucpr_minimum)}. "
        "AUCNPR is the share of the achievable area above that minimum.",
    )


def estimators_table(evaluation: Evaluation) -> Table:
    """Return the area under the PR curve by every estimator."""
    names = tuple(evaluation.models[0].aucpr)
    body = tuple(
        (name.replace("_", " "), *(number(model.aucpr[name]) for model in evaluation.models)) for name in names
    )
    return Table(
        title="AUCPR by estimator",
        head=("estimator", *(model.score for model in evaluation.models)),
        body=body,
        note="Recommended: average precision; where few scores are tied, also lower trapezoid and interpolated median. "
        "Upper trapezoid and convex are too high; binormal is valid for normal scores only.",
    )


def calibration_table(evaluation: Evaluation) -> Table:
    """Return Brier scores and calibration measures of each model."""
    return Table(
        title="Calibration",
        head=("score", "Brier", "scaled", "log loss", "obs:exp", "intercept", "slope", "ECE", "ICI"),
        body=tuple(_calibration_row(model) for model in evaluation.models),
    )


def _calibration_row(model: ModelEvaluation) -> tuple[str, ...]:
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


def thresholds_table(evaluation: Evaluation) -> Table:
    """Return the measures of each model at each threshold, Youden's among them."""
    body = []
    for model in evaluation.models:
        body += [_threshold_row(model.score, "", entry) for entry in model.thresholds]
        body.append(_threshold_row(model.score, "*", model.youden))
    return Table(
        title="At a threshold",
        head=("score", "threshold", "recall", "specificity", "precision", "NPV", "F1", "MCC", "net benefit"),
        body=tuple(body),
        note="* Youden's threshold. It was chosen on these rows, so its measures are optimistic.",
    )


def _threshold_row(name: str, mark: str, entry: ThresholdEvaluation) -> tuple[str, ...]:
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


def comparisons_table(evaluation: Evaluation) -> Table:
    """Return the paired differences in AUC, with simultaneous intervals for three models or more."""
    head = ("models", "difference", _level(evaluation), "z", "p")
    several = evaluation.joint is not None
    return Table(
        title="Comparison of AUC",
        head=(*head, "simultaneous") if several else head,
        body=tuple(_comparison_row(entry, several) for entry in evaluation.comparisons),
        note=_comparison_note(evaluation),
    )


def _comparison_row(entry: Comparison, several: bool) -> tuple[str, ...]:
    cells = (
        f"{entry.first} − {entry.second}",
        number(entry.difference),
        interval_text(entry.interval),
        number(entry.z, 2),
        p_value(entry.p_value),
    )
    return (*cells, interval_text(entry.simultaneous)) if several else cells


def _comparison_note(evaluation: Evaluation) -> str:
    note, joint = "Difference in AUC on the same rows, paired DeLong test.", evaluation.joint
    if joint is None:
        return note
    return (
        f"{note} All equal: chi-squared {number(joint.chi_squared, 2)} on {joint.degrees_of_freedom} degrees of "
        f"freedom, p {p_value(joint.p_value)}. Simultaneous intervals cover all differences together."
    )


def groups_table(evaluation: Evaluation) -> Table:
    """Return ranking and calibration of each model in each group."""
    return Table(
        title="By group",
        head=("group", "rows", "prevalence", "score", "AUC", _level(evaluation), "AUCNPR", "obs:exp"),
        text_columns=("score",),
        body=tuple(row for group in evaluation.groups for row in _group_rows(group)),
    )


def _group_rows(group: GroupEvaluation) -> list[tuple[str, ...]]:
    shared = (group.group, amount(group.rows), number(group.prevalence))
    if not group.models:
        return [(*shared, "one class only", *(DASH,) * 4)]
    return [
        (
            *shared,
            model.score,
            number(model.auc.value),
            interval_text(model.auc.interval),
            number(model.aucnpr),
            number(model.observed_expected),
        )
        for model in group.models
    ]
