"""All pairwise comparisons of many models in one table."""

from __future__ import annotations

from confide.evaluation.evaluation import Evaluation
from confide.intervals.comparison import Comparison
from confide.report.shared.numbers import DASH, number, p_equation, p_value
from confide.report.shared.tables import Table

_NOTE = (
    "Diagonal: AUC. Above it: AUC of the row's model less that of the column's. Below it: p-value of the paired DeLong "
    "test of the two models, not corrected for the number of pairs."
)


def comparison_matrix(evaluation: Evaluation) -> Table:
    """Return a square table: AUC on the diagonal, differences above it and p-values below it.

    Columns have the numbers of the models, so that many fit a page. An asterisk marks a difference whose simultaneous
    interval excludes 0.
    """
    models = evaluation.models
    position = {model.score: i for i, model in enumerate(models)}
    cells = [[DASH] * len(models) for _ in models]
    for i, model in enumerate(models):
        cells[i][i] = number(model.auc.value)
    for entry in _of_auc(evaluation):
        first, second = position[entry.first], position[entry.second]
        cells[first][second] = f"{number(entry.difference)}{'*' if _excludes_zero(entry) else ''}"
        cells[second][first] = p_value(entry.p_value)
    numbered = enumerate(zip(models, cells, strict=True), 1)
    return Table(
        title="Comparison of AUC",
        head=("score", *(str(place) for place, _ in enumerate(models, 1))),
        body=tuple((f"{place} {model.score}", *row) for place, (model, row) in numbered),
        note=_note(evaluation),
    )


def _of_auc(evaluation: Evaluation) -> list[Comparison]:
    return [entry for entry in evaluation.comparisons if entry.metric == "auc"]


def _excludes_zero(entry: Comparison) -> bool:
    interval = entry.simultaneous
    return interval is not None and not interval.lower <= 0.0 <= interval.upper


def _note(evaluation: Evaluation) -> str:
    parts, joint = [_NOTE], evaluation.joint
    if any(_excludes_zero(entry) for entry in _of_auc(evaluation)):
        parts.append("* The simultaneous interval, which covers all differences together, excludes 0.")
    if joint is not None:
        parts.append(
            f"All equal: chi-squared {number(joint.chi_squared, 2)} on {joint.degrees_of_freedom} degrees of freedom, "
            f"{p_equation(joint.p_value)}."
        )
    return " ".join(parts)
