"""Cautions that the data call for, and the assumptions of every number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from confide.evaluation.evaluation import Evaluation, GroupEvaluation, ModelEvaluation
from confide.evaluation.settings import Design
from confide.intervals.comparison import Comparison
from confide.intervals.interval import at_an_end
from confide.intervals.resample import BOOTSTRAP_POSITIVES
from confide.sources.hints import score_hints

_FEW_CLUSTERS = 20
_FEW_ROWS = 20
_MANY_TIES = 0.05
_MOST_NAMED = 6  # models; if there are more and a caution concerns all, it says so
_NOTABLE_DIFFERENCE = 1.1  # of prevalence between groups, as a ratio


def cautions(evaluation: Evaluation) -> Iterator[str]:
    """Yield what makes the numbers of these data doubtful."""
    if evaluation.smaller_class < _FEW_ROWS:
        yield f"A class has fewer than {_FEW_ROWS} rows: every interval here is a rough guide only."
    if evaluation.positives > evaluation.negatives and not evaluation.design.survey:
        yield (
            "Positives outnumber negatives: the interval of average precision counts positives only, and is too narrow "
            "if a few negatives with high scores decide the value."
        )
    yield from _of_design(evaluation.design)
    if evaluation.design.clusters is not None and any(model.auc.interval is None for model in evaluation.models):
        yield "A class lies in one cluster only: AUC has no standard error, and AUCs are not compared."
    if evaluation.missing is not None and evaluation.missing.rows:
        yield (
            f"{evaluation.missing.rows:,} rows without a score were left out. If they differ from the others, the "
            "numbers are biased: say in a paper how many there were, and why."
        )
    if evaluation.smaller_class <= 1:
        yield "A class has at most one row, or weight 1: AUC has no variance, and models are not compared."
    yield from _of_models(evaluation.models, survey=evaluation.design.survey)
    for model in evaluation.models:
        if not _constant(model):
            yield from score_hints(model.score, model.counts, evaluation.settings.thresholds or ())
    yield from _of_differences(evaluation.comparisons)
    yield from _of_groups(evaluation.groups)


def _of_design(design: Design) -> Iterator[str]:
    if design.survey:
        yield (
            "Rows have sampling weights. Numbers are estimates for the population that the rows stand for. Those "
            "without an interval have none that is valid for sampling weights; models are not compared."
        )
    elif design.weighted:
        yield (
            "Rows are weighted. Intervals treat a weight as that many copies of the row; they are not valid for "
            "sampling weights, for which there is `survey_weight`."
        )
    if design.imputed:
        yield "Scores of several imputed datasets are pooled by Rubin's rules. Models are not compared."
    if design.clusters is not None and design.clusters < _FEW_CLUSTERS:
        yield f"There are fewer than {_FEW_CLUSTERS} clusters: every interval here is a rough guide only."
    if design.folds is not None:
        yield (
            "Curves, calibration and measures at thresholds mix the scores of different models, one for each fold. AUC "
            "and average precision are means over folds. Models are not compared."
        )


def _of_differences(comparisons: Sequence[Comparison]) -> Iterator[str]:
    alike = (f"{entry.first} and {entry.second}" for entry in comparisons if entry.standard_error == 0.0)
    pairs = list(dict.fromkeys(alike))
    if len(pairs) == 1:
        yield (
            f"The difference between {pairs[0]} has an estimated variance of zero: its interval and p-value mean "
            "nothing."
        )
    elif pairs:
        named = f"between {', '.join(pairs[:-1])}, and {pairs[-1]}" if len(pairs) <= _MOST_NAMED else "of many pairs"
        yield (
            f"The differences {named} have an estimated variance of zero: their intervals and p-values mean nothing."
        )


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of caution about a model: whom it concerns, and its words about one model and about several."""

    concerns: Callable[[ModelEvaluation], bool]
    one: str
    several: str
    logit: bool = False  # concerns the logit interval of average precision, which surveys do not use


def _of_models(models: tuple[ModelEvaluation, ...], *, survey: bool) -> Iterator[str]:
    """Yield one caution of each kind, with the names of all models that it concerns."""
    for kind in _KINDS:
        if survey and kind.logit:
            continue
        names = [model.score for model in models if kind.concerns(model)]
        if len(names) == 1:
            yield f"{names[0]} {kind.one}"
        elif names:
            everyone = len(names) == len(models) and len(names) > _MOST_NAMED
            yield f"{f'All {len(names)} models' if everyone else _listed(names)} {kind.several}"


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _constant(model: ModelEvaluation) -> bool:
    return len(model.counts) == 1


def _reversed(model: ModelEvaluation) -> bool:
    interval = model.auc.interval
    return interval is not None and interval.upper < 0.5


def _extreme_precision(model: ModelEvaluation) -> bool:
    precision = model.average_precision.value
    return not at_an_end(precision) and model.counts.total_positives * precision * (1.0 - precision) < 1.0


def _ties(model: ModelEvaluation) -> bool:
    counts = model.counts
    tied = float(np.dot(counts.positives.astype(np.float64), counts.negatives.astype(np.float64)))
    return tied > _MANY_TIES * counts.total_positives * counts.total_negatives


def _certain(model: ModelEvaluation) -> bool:
    """Return whether probabilities of exactly 0 or 1 are among the scores."""
    scores = model.counts.scores
    return model.counts.probabilities and bool(scores[0] <= 0.0 or scores[-1] >= 1.0)


def _no_slope(model: ModelEvaluation) -> bool:
    calibration = model.calibration
    return not _certain(model) and calibration is not None and calibration.slope is None


def _ranking(concerns: Callable[[ModelEvaluation], bool]) -> Callable[[ModelEvaluation], bool]:
    """Restrict a kind to models that rank rows at all."""
    return lambda model: not _constant(model) and concerns(model)


_KINDS = (
    _Kind(
        _constant,
        "gives every row the same score: it does not rank rows, and its interval has no meaning.",
        "give every row the same score: they do not rank rows, and their intervals have no meaning.",
    ),
    _Kind(
        _ranking(lambda model: at_an_end(model.auc.value)),
        "separates the classes completely: its DeLong variance is zero; its interval is an exact bound.",
        "separate the classes completely: their DeLong variances are zero; their intervals are exact bounds.",
    ),
    _Kind(
        _ranking(_reversed),
        "ranks worse than guessing: check which label is positive, and whether low scores stand for positive rows.",
        "rank worse than guessing: check which label is positive, and whether low scores stand for positive rows.",
    ),
    _Kind(
        _ranking(_extreme_precision),
        "has an average precision so close to 0 or 1 that its logit interval is far too wide.",
        "have average precisions so close to 0 or 1 that their logit intervals are far too wide.",
        logit=True,
    ),
    _Kind(
        _ranking(_ties),
        "ties many positives with negatives: trapezoid estimates of AUCPR are then too high.",
        "tie many positives with negatives: trapezoid estimates of AUCPR are then too high.",
    ),
    _Kind(
        _ranking(lambda model: not model.counts.probabilities),
        "has scores outside [0, 1], which are not probabilities: calibration, Brier score and net benefit are left "
        "out.",
        "have scores outside [0, 1], which are not probabilities: calibration, Brier score and net benefit are left "
        "out.",
    ),
    _Kind(
        _ranking(_certain),
        "has scores of exactly 0 or 1, whose log-odds are infinite: calibration intercept and slope do not exist, and "
        "log loss moves the scores inwards by 2e-16.",
        "have scores of exactly 0 or 1, whose log-odds are infinite: calibration intercept and slope do not exist, and "
        "log loss moves the scores inwards by 2e-16.",
    ),
    _Kind(
        _ranking(_no_slope),
        "has no calibration slope, because its scores separate the classes.",
        "have no calibration slope, because their scores separate the classes.",
    ),
)


def _of_groups(groups: tuple[GroupEvaluation, ...]) -> Iterator[str]:
    if any(not group.models for group in groups):
        yield "Some groups have one class only: ranking cannot be judged there."
    judged = [group for group in groups if group.models]
    if any(math.isnan(model.auc.value) for group in judged for model in group.models):
        yield "Some groups have one fold only, or a fold with one class only: ranking has no mean over folds there."
    if any(group.smaller_class < _FEW_ROWS for group in judged):
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
    if evaluation.design.clusters is not None:
        return "The bands around curves take rows as independent: with clusters they are too narrow."
    if evaluation.smaller_class < BOOTSTRAP_POSITIVES:
        return (
            f"A class has fewer than {BOOTSTRAP_POSITIVES} rows: the bands around curves come from the bootstrap "
            "and are too narrow. Intervals by other methods do not use it."
        )
    return None


def assumptions(evaluation: Evaluation) -> Iterator[str]:
    """Yield the assumptions of the numbers."""
    if evaluation.design.clusters is None:
        yield "Rows are independent of each other. Several rows of one person make every interval too narrow."
    else:
        yield "Clusters are independent of each other; rows of one cluster may depend on each other in any way."
    yield (
        "A score at or above the threshold is called positive. Tied scores count half in AUC and are called positive "
        "together in average precision."
    )
    yield "Each table names the method of its intervals. An interval holds at its level for one number at a time."
    if evaluation.design.independent and evaluation.settings.interval is None:
        yield "AUC: DeLong's variance, interval on the log-odds scale. R's pROC gives the plain interval."
        yield (
            "Average precision: logit interval with the number of positives as sample size. In simulations it holds "
            "its level for smooth score distributions where bootstrap and cross-validation do not; where positives "
            "outnumber negatives it may not."
        )
    yield "Youden's threshold was chosen on these rows, so its measures here are optimistic."
    if evaluation.comparisons:
        yield "Models are compared on the same rows."
    if any(model.calibration is not None for model in evaluation.models):
        yield (
            "Calibration intercept: log-odds shift with the slope fixed at 1. Slope: logistic regression on the "
            "score's log-odds. ECE: ten bins of equal width. ICI, E50, E90, Emax: distance to the smooth calibration "
            "curve, a penalised logistic spline; a calibrated model has values above 0 too, because the curve follows "
            "some of the noise."
        )
    yield "No number is corrected for the optimism of a model that was fitted to the same rows."
