"""Cautions that the data call for, and the assumptions of every number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from confide.evaluation.evaluation import Evaluation, GroupEvaluation, ModelEvaluation
from confide.intervals.interval import at_an_end
from confide.intervals.resample import BOOTSTRAP_POSITIVES

_FEW_ROWS = 20
_MANY_TIES = 0.05
_NOTABLE_DIFFERENCE = 1.1  # of prevalence between groups, as a ratio


def cautions(evaluation: Evaluation) -> Iterator[str]:
    """Yield what makes the numbers of these data doubtful."""
    if min(evaluation.positives, evaluation.negatives) < _FEW_ROWS:
        yield f"A class has fewer than {_FEW_ROWS} rows: every interval here is a rough guide only."
    if evaluation.positives > evaluation.negatives:
        yield (
            "Positives outnumber negatives: the interval of average precision counts positives only, and is too narrow "
            "if a few negatives with high scores decide the value."
        )
    if evaluation.weighted:
        yield (
            "Rows are weighted. Intervals treat a weight as that many copies of the row; they are not valid for "
            "sampling weights."
        )
    if min(evaluation.positives, evaluation.negatives) <= 1:
        yield "A class has at most one row, or weight 1: AUC has no variance, and models are not compared."
    for model in evaluation.models:
        yield from _of_model(model)
    for entry in evaluation.comparisons:
        if entry.standard_error == 0.0:
            yield (
                f"The difference between {entry.first} and {entry.second} has an estimated variance of zero: its "
                "interval and p-value mean nothing."
            )
    yield from _of_groups(evaluation.groups)


def _of_model(model: ModelEvaluation) -> Iterator[str]:
    counts, name, interval = model.counts, model.score, model.auc.interval
    if len(counts) == 1:
        yield f"{name} gives every row the same score: it does not rank rows, and its interval has no meaning."
        return
    if at_an_end(model.auc.value):
        yield f"{name} separates the classes completely: its DeLong variance is zero; its interval is an exact bound."
    if interval is not None and interval.upper < 0.5:
        yield (
            f"{name} ranks worse than guessing: check which label is positive, and whether low scores stand for "
            "positive rows."
        )
    precision = model.average_precision.value
    if not at_an_end(precision) and counts.total_positives * precision * (1.0 - precision) < 1.0:
        yield f"{name} has an average precision so close to 0 or 1 that its logit interval is far too wide."
    tied = float(np.dot(counts.positives.astype(np.float64), counts.negatives.astype(np.float64)))
    if tied > _MANY_TIES * counts.total_positives * counts.total_negatives:
        yield f"{name} ties many positives with negatives: trapezoid estimates of AUCPR are then too high."
    if not counts.probabilities:
        yield (
            f"{name} has scores outside [0, 1], which are not probabilities: calibration, Brier score and net benefit "
            "are left out."
        )
        return
    calibration = model.calibration
    if counts.scores[0] <= 0.0 or counts.scores[-1] >= 1.0:
        yield (
            f"{name} has scores of exactly 0 or 1, whose log-odds are infinite: calibration intercept and slope do not "
            "exist, and log loss moves the scores inwards by 2e-16."
        )
    elif calibration is not None and calibration.slope is None:
        yield f"{name} has no calibration slope, because its scores separate the classes."


def _of_groups(groups: tuple[GroupEvaluation, ...]) -> Iterator[str]:
    if any(not group.models for group in groups):
        yield "Some groups have one class only: ranking cannot be judged there."
    judged = [group for group in groups if group.models]
    if any(min(group.positives, group.negatives) < _FEW_ROWS for group in judged):
        yield f"Some groups have fewer than {_FEW_ROWS} rows of a class: their intervals are a rough guide only."
    prevalences = [group.prevalence for group in judged]
    if prevalences and max(prevalences) > _NOTABLE_DIFFERENCE * min(prevalences):
        yield (
            "Groups differ in prevalence: compare them by AUC. Average precision depends on prevalence, and AUCNPR "
            "does so to a lesser degree."
        )


def band_caution(evaluation: Evaluation) -> str | None:
    """Return what is doubtful about the bands around curves, if anything is."""
    if any(model.counts.weighted for model in evaluation.models):
        return "No bands are drawn around curves: the bootstrap resamples whole rows, and weights are fractions."
    if min(evaluation.positives, evaluation.negatives) < BOOTSTRAP_POSITIVES:
        return (
            f"A class has fewer than {BOOTSTRAP_POSITIVES} rows: the bands around curves come from the bootstrap "
            "and are too narrow. The intervals in the tables do not use it."
        )
    return None


def assumptions(evaluation: Evaluation) -> Iterator[str]:
    """Yield the assumptions of the numbers."""
    yield "Rows are independent of each other. Several rows of one person make every interval too narrow."
    yield (
        "A score at or above the threshold is called positive. Tied scores count half in AUC and are called positive "
        "together in average precision."
    )
    yield "AUC: DeLong's variance, interval on the log-odds scale."
    yield (
        "Average precision: logit interval with the number of positives as sample size. In simulations it holds its "
        "level for smooth score distributions where bootstrap and cross-validation do not; where positives outnumber "
        "negatives it may not."
    )
    yield "Youden's threshold was chosen on these rows, so its measures here are optimistic."
    if evaluation.comparisons:
        yield "Models are compared on the same rows by the paired DeLong test."
    if any(model.calibration is not None for model in evaluation.models):
        yield (
            "Calibration intercept: log-odds shift with the slope fixed at 1. Slope: logistic regression on the "
            "score's log-odds. ECE: ten bins of equal width. ICI: mean distance to the smooth curve, span 0.75."
        )
