"""Tables of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from confide.evaluation.evaluation import (
    NET_BENEFIT,
    ChosenThreshold,
    Evaluation,
    GroupEvaluation,
    ModelEvaluation,
    ThresholdEvaluation,
)
from confide.evaluation.model import CALIBRATION_METRICS
from confide.intervals.comparison import Comparison
from confide.intervals.interval import Estimate
from confide.metrics.names import METRIC_NAMES, metric_title
from confide.report.numbers import (
    DASH,
    amount,
    estimate_text,
    has_ends,
    interval_text,
    number,
    p_equation,
    p_value,
    percent,
)
from confide.report.writers.terminal import Table

_SIDE_BY_SIDE = 3  # models whose columns fit beside each other
_METHOD = "interval by"


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure and its estimate for each model, None where it does not exist."""

    title: str
    estimates: tuple[Estimate | None, ...]


def measure_table(title: str, models: Sequence[str], measures: Sequence[Measure], *, level: float, note: str) -> Table:
    """Return a table of measures; for more than three models each has lines of its own."""
    known = [measure for measure in measures if any(each is not None for each in measure.estimates)]
    if len(models) > _SIDE_BY_SIDE:
        return _below_each_other(title, models, known, level, note)
    body = tuple(
        (measure.title, *(estimate_text(each) for each in measure.estimates), methods(measure.estimates))
        for measure in known
    )
    interval = f"Intervals: {percent(level)}."
    return Table(
        title=title,
        head=("measure", *models, _METHOD),
        body=body,
        note=f"{interval} {note}".strip(),
        text_columns=(_METHOD,),
    )


def methods(estimates: Sequence[Estimate | None]) -> str:
    """Name the methods of the intervals, each once; a dash without any."""
    named = [each.interval.method for each in estimates if each is not None and has_ends(each.interval)]
    return " / ".join(dict.fromkeys(named)) or DASH


def _below_each_other(title: str, models: Sequence[str], measures: Sequence[Measure], level: float, note: str) -> Table:
    body = tuple(
        (
            measure.title,
            model,
            number(None if each is None else each.value),
            interval_text(None if each is None else each.interval),
            methods((each,)),
        )
        for measure in measures
        for model, each in zip(models, measure.estimates, strict=True)
    )
    head = ("measure", "score", "value", f"{percent(level)} interval", _METHOD)
    return Table(title=title, head=head, body=body, note=note, text_columns=("score", _METHOD))


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


_AT_THRESHOLD = (
    *("recall", "specificity", "precision", "negative_predictive_value", "f1", "matthews_correlation"),
    NET_BENEFIT,
)
"""Measures in the tables of thresholds."""


def evaluation_tables(evaluation: Evaluation) -> list[Table]:
    """Return all tables that apply to an evaluation."""
    tables = [ranking_table(evaluation), estimators_table(evaluation)]
    if any(model.partial_auc for model in evaluation.models):
        tables.append(partial_auc_table(evaluation))
    if any(model.calibration is not None for model in evaluation.models):
        tables.append(calibration_table(evaluation))
    tables += threshold_tables(evaluation)
    tables += comparison_tables(evaluation)
    return [*tables, *group_tables(evaluation)]


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
    first = evaluation.models[0]
    methods = "; ".join(
        f"{name}: {estimate.interval.method}"
        for name, estimate in (("AUC", first.auc), ("average precision", first.average_precision))
        if estimate.interval is not None
    )
    return Table(
        title="Ranking",
        head=("score", "AUC", level, "average precision", level, "AUCNPR"),
        body=body,
        note=f"{f'Intervals of {methods}. ' if methods else ''}"
        f"The worst possible ranking of these rows has AUCPR {number(first.aucpr_minimum)}. "
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
        "Upper trapezoid and convex are too high; binormal is valid for normal scores only. Areas of other software "
        "that interpolate between points differ from average precision.",
    )


def partial_auc_table(evaluation: Evaluation) -> Table:
    """Return the areas under parts of the ROC curve."""
    measures = []
    for position, first in enumerate(evaluation.models[0].partial_auc):
        region = first.region
        where = f"{region.axis} {region.lower:g} to {region.upper:g}"
        entries = [model.partial_auc[position] for model in evaluation.models]
        measures.append(Measure(f"area, {where}", tuple(entry.area for entry in entries)))
        measures.append(Measure(f"corrected, {where}", tuple(entry.corrected for entry in entries)))
    note = "Corrected (McClish): 0.5 is guessing, 1 is perfect."
    return _measures("Partial AUC", evaluation, measures, note)


_OF_PROBABILITIES = ("brier", "scaled_brier", "log_loss", "observed_expected")


def calibration_table(evaluation: Evaluation) -> Table:
    """Return Brier scores and calibration measures of each model."""

    def of(title: str, read: Callable[[ModelEvaluation], Estimate | None]) -> Measure:
        return Measure(title, tuple(read(model) for model in evaluation.models))

    def calibrated(name: str) -> Callable[[ModelEvaluation], Estimate | None]:
        return lambda model: None if model.calibration is None else getattr(model.calibration, name)

    measures = [
        *(of(metric_title(name), attrgetter(name)) for name in _OF_PROBABILITIES),
        *(of(METRIC_NAMES[name].row, calibrated(part)) for part, name in CALIBRATION_METRICS.items()),
    ]
    note = (
        "R's rms::val.prob prints the intercept that is fitted with the slope. ICI, E50, E90 and Emax: mean, median, "
        "90th percentile and maximum of the distance between score and smooth calibration curve. A calibrated model "
        "has ECE, ICI, E50, E90 and Emax above 0 too: to test calibration, use intercept and slope."
    )
    return _measures("Calibration", evaluation, measures, note)


def threshold_tables(evaluation: Evaluation) -> list[Table]:
    """Return the measures at each threshold, then those at thresholds chosen on these rows."""
    tables = [
        _threshold_table(f"At threshold {first.threshold:g}", evaluation, place)
        for place, first in enumerate(evaluation.models[0].thresholds)
    ]
    tables.append(_chosen_table("At Youden's threshold", evaluation, lambda model: model.youden))
    if any(model.least_cost is not None for model in evaluation.models):
        tables.append(_chosen_table("At the threshold of least cost", evaluation, lambda model: model.least_cost))
    return tables


def _threshold_table(title: str, evaluation: Evaluation, place: int) -> Table:
    measures = _at_threshold([model.thresholds[place] for model in evaluation.models])
    return _measures(title, evaluation, list(measures), "")


def _chosen_table(
    title: str, evaluation: Evaluation, read: Callable[[ModelEvaluation], ChosenThreshold | None]
) -> Table:
    chosen = [entry for entry in (read(model) for model in evaluation.models) if entry is not None]
    measures = [
        Measure("threshold", tuple(entry.threshold for entry in chosen)),
        *_at_threshold([entry.at for entry in chosen]),
    ]
    note = "The threshold was chosen on these rows, so the measures are optimistic."
    return _measures(title, evaluation, measures, note)


def _at_threshold(entries: list[ThresholdEvaluation]) -> Iterator[Measure]:
    for name in _AT_THRESHOLD:
        yield Measure(METRIC_NAMES[name].row, tuple(entry.measures.get(name) for entry in entries))


def _measures(title: str, evaluation: Evaluation, measures: list[Measure], note: str) -> Table:
    names = [model.score for model in evaluation.models]
    return measure_table(title, names, measures, level=evaluation.level, note=note)


def comparison_tables(evaluation: Evaluation) -> list[Table]:
    """Return the paired differences: of two models in one table, of more in one for each metric."""
    if len(evaluation.models) == 2 and evaluation.comparisons:
        return [_pair_table(evaluation)]
    metrics = dict.fromkeys((entry.metric, entry.threshold) for entry in evaluation.comparisons)
    return [_comparison_table(evaluation, metric, threshold) for metric, threshold in metrics]


def _pair_table(evaluation: Evaluation) -> Table:
    first = evaluation.comparisons[0]
    return Table(
        title="Comparison of models",
        head=("measure", "difference", _level(evaluation), "z", "p", "test"),
        text_columns=("test",),
        body=tuple(
            (_metric_title(entry.metric, entry.threshold), *_comparison_row(entry, False)[1:], entry.interval.method)
            for entry in evaluation.comparisons
        ),
        note=f"{first.first} − {first.second}, on the same rows.",
    )


def _comparison_table(evaluation: Evaluation, metric: str, threshold: float | None) -> Table:
    entries = [entry for entry in evaluation.comparisons if (entry.metric, entry.threshold) == (metric, threshold)]
    head = ("models", "difference", _level(evaluation), "z", "p")
    several = any(entry.simultaneous is not None for entry in entries)
    return Table(
        title=f"Comparison of {_metric_title(metric, threshold)}",
        head=(*head, "simultaneous") if several else head,
        body=tuple(_comparison_row(entry, several) for entry in entries),
        note=_comparison_note(evaluation, metric, entries[0].interval.method),
    )


def _metric_title(metric: str, threshold: float | None) -> str:
    title = metric_title(metric)
    return title if threshold is None else f"{title} at threshold {threshold:g}"


def _comparison_row(entry: Comparison, several: bool) -> tuple[str, ...]:
    cells = (
        f"{entry.first} − {entry.second}",
        number(entry.difference),
        interval_text(entry.interval),
        number(entry.z, 2),
        p_value(entry.p_value),
    )
    return (*cells, interval_text(entry.simultaneous)) if several else cells


def _comparison_note(evaluation: Evaluation, metric: str, method: str) -> str:
    note, joint = f"Difference on the same rows: {method}.", evaluation.joint
    if joint is None or metric != "auc":
        return note
    return (
        f"{note} All equal: chi-squared {number(joint.chi_squared, 2)} on {joint.degrees_of_freedom} degrees of "
        f"freedom, p {p_value(joint.p_value)}. Simultaneous intervals cover all differences together."
    )


def group_tables(evaluation: Evaluation) -> list[Table]:
    """Return ranking and, of probabilities, calibration of each model in each group, and how groups differ."""
    if not evaluation.groups:
        return []
    tables = [groups_table(evaluation)]
    if any(model.calibration is not None for model in evaluation.models):
        tables.append(group_calibration_table(evaluation))
    if any(group.differences for group in evaluation.groups):
        tables.append(group_differences_table(evaluation))
    return tables


def groups_table(evaluation: Evaluation) -> Table:
    """Return the ranking of each model in each group."""
    level = _level(evaluation)
    return _group_table(
        "By group",
        evaluation,
        ("AUC", level, "AUCNPR"),
        lambda model: (number(model.auc.value), interval_text(model.auc.interval), number(model.aucnpr)),
        note="Average precision is not shown, since it depends on the prevalence of a group.",
    )


def group_calibration_table(evaluation: Evaluation) -> Table:
    """Return the calibration of each model in each group."""
    return _group_table(
        "Calibration by group",
        evaluation,
        ("observed : expected", "slope", "Brier score"),
        lambda model: (
            estimate_text(model.observed_expected),
            estimate_text(None if model.calibration is None else model.calibration.slope),
            estimate_text(model.brier),
        ),
        note=f"Intervals: {percent(evaluation.level)}.",
    )


def _group_table(
    title: str,
    evaluation: Evaluation,
    head: tuple[str, ...],
    cells: Callable[[ModelEvaluation], tuple[str, ...]],
    *,
    note: str,
) -> Table:
    rows: list[tuple[str, ...]] = []
    for group in evaluation.groups:
        shared = (group_title(group), amount(group.rows), number(group.prevalence))
        if not group.models:
            rows.append((*shared, "one class only", *(DASH,) * len(head)))
        rows += [(*shared, model.score, *cells(model)) for model in group.models]
    return Table(
        title=title,
        head=("group", "rows", "prevalence", "score", *head),
        text_columns=("score",),
        body=tuple(rows),
        note=note,
    )


def group_title(group: GroupEvaluation) -> str:
    """Name a group with its column."""
    return f"{group.column}: {group.group}"


def group_differences_table(evaluation: Evaluation, *, metrics: Sequence[str] | None = None) -> Table:
    """Return how each group differs from all other rows, in some or all of the metrics."""
    entries = [
        (group_title(group), entry)
        for group in evaluation.groups
        for entry in group.differences
        if metrics is None or entry.metric in metrics
    ]
    by_logarithm = any(entry.contrast == "log ratio" for _, entry in entries)
    ratios = "For observed : expected the difference is that of logarithms. " if by_logarithm else ""
    tests = " or ".join(dict.fromkeys(entry.interval.method for _, entry in entries))
    return Table(
        title="Differences between groups",
        head=("group", "score", "measure", "difference", _level(evaluation), "p"),
        text_columns=("score", "measure"),
        body=tuple(
            (
                title,
                entry.first,
                _metric_title(entry.metric, entry.threshold),
                number(entry.difference),
                interval_text(entry.interval),
                p_value(entry.p_value),
            )
            for title, entry in entries
        ),
        note=f"The group minus all other rows: {tests}. {ratios}The p-values are not corrected for the number of "
        "groups.",
    )
