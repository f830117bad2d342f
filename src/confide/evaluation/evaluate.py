"""Evaluate rows or counts exactly; the result is one frozen value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.evaluation.cautions import assumptions, cautions
from confide.evaluation.comparisons import compare_clustered_group, compare_groups, compare_models
from confide.evaluation.evaluation import Evaluation, GroupEvaluation, ModelEvaluation
from confide.evaluation.model import evaluate_model, pooled_model
from confide.evaluation.samples import IndependentSample, design_of, sample_of
from confide.evaluation.settings import Design, Settings
from confide.intervals.comparison import Comparison
from confide.intervals.folds import check_folds
from confide.sources.hints import check_thresholds
from confide.sources.rows import Grouping, MissingScores, Rows

Progress = Callable[[int, int, str], None]
"""Called as each step begins, with the number of steps before it, of all steps, and what it does."""


@dataclass(slots=True)
class _Steps:
    """Steps of an evaluation, reported as each begins."""

    total: int
    progress: Progress | None
    begun: int = 0

    def begin(self, what: str) -> None:
        if self.progress is not None:
            self.progress(self.begun, self.total, what)
        self.begun += 1


def evaluate_counts(
    counts: ScoreCounts,
    settings: Settings,
    *,
    rows: int | None = None,
    weighted: bool = False,
    name: str = "score",
    missing: MissingScores | None = None,
) -> Evaluation:
    """Evaluate one score from its counts. If rows are weighted, `rows` is the number of rows."""
    total = counts.both_classes()
    check_thresholds(settings.thresholds or (), [counts])
    sample = IndependentSample(counts, settings, resample=settings.replicates > 0)
    model = evaluate_model(name, sample, settings, probabilities=counts.probabilities)
    if rows is None and not counts.weighted:
        rows = int(sum(total))
    return _evaluation(
        rows,
        (model,),
        settings=settings,
        design=Design(weighted=weighted or counts.weighted),
        missing=missing,
    )


def evaluate_rows(
    rows: Rows,
    settings: Settings,
    *,
    imputed: Mapping[str, Sequence[str]] | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate every column of scores, compare models pairwise, and evaluate each group.

    `imputed` maps the name of a model to its columns of scores, one for each imputed dataset. The estimates of these
    columns are pooled by Rubin's rules.
    """
    if settings.interval is not None and not design_of(rows).independent:
        raise ParameterError(
            "`interval` cannot be chosen for rows with clusters, folds or sampling weights, which have their own "
            "methods; leave it out"
        )
    if rows.folds is not None:
        check_folds(rows.labels, rows.folds)
    columns = _model_columns(rows.names, imputed or {})
    groupings = list(rows.all_groupings())
    in_groups = 0 if progress is None else sum(len(set(grouping.groups.tolist())) for grouping in groupings)
    steps = _Steps(1 + len(columns) + in_groups, progress)
    steps.begin("ranking the rows")
    comparable = len(columns) > 1 and not imputed and not rows.survey and rows.folds is None
    if comparable and rows.clusters is None:
        rows.coded()  # comparisons need the places of rows, and counts come with them
    every = rows.counts()
    every[0].both_classes()
    check_thresholds(settings.thresholds or (), every)
    probabilities = {name: each.probabilities for name, each in zip(rows.names, every, strict=True)}
    models = _models(rows, every, columns, settings, probabilities, begin=steps.begin)
    compared = None
    if comparable and min(every[0].both_classes()) > 1:
        compared = compare_models(rows, settings, probabilities=probabilities)
    return _evaluation(
        len(rows),
        models,
        settings=settings,
        design=replace(design_of(rows), imputed=tuple(imputed or ())),
        class_rows=_class_rows(rows),
        totals=every[0] if rows.survey else None,
        comparisons=() if compared is None else compared.differences,
        joint=None if compared is None else compared.joint,
        groups=tuple(
            group
            for grouping in groupings
            for group in _evaluate_groups(grouping, rows, columns, settings, probabilities, steps)
        ),
        missing=rows.missing,
    )


def _model_columns(names: Sequence[str], imputed: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return the columns of each model: one, or those of its imputed datasets."""
    taken = {column for columns in imputed.values() for column in columns}
    columns: dict[str, tuple[str, ...]] = {name: (name,) for name in names if name not in taken}
    for name, several in imputed.items():
        if name in columns:
            raise ParameterError(f"a model of imputed scores is called {name!r}, as a column of scores is; rename it")
        columns[name] = tuple(several)
    return columns


def _models(
    rows: Rows,
    counts: Sequence[ScoreCounts],
    columns: Mapping[str, tuple[str, ...]],
    settings: Settings,
    probabilities: Mapping[str, bool],
    *,
    resample: bool = True,
    begin: Callable[[str], None] = lambda what: None,
) -> tuple[ModelEvaluation, ...]:
    """Evaluate each model from the counts of all columns; several columns of one model are pooled."""
    position = {name: i for i, name in enumerate(rows.names)}

    def one(name: str, column: str) -> ModelEvaluation:
        place = position[column]
        sample = sample_of(rows, place, settings, counts=counts[place], resample=resample)
        return evaluate_model(name, sample, settings, probabilities=probabilities[column])

    def pooled(name: str, several: Sequence[str]) -> ModelEvaluation:
        return pooled_model(name, [one(name, each) for each in several], level=settings.level, rows=len(rows))

    models = []
    for name, several in columns.items():
        begin(f"evaluating {name}")
        models.append(one(name, several[0]) if len(several) == 1 else pooled(name, several))
    return tuple(models)


def _evaluate_groups(
    grouping: Grouping,
    rows: Rows,
    columns: Mapping[str, tuple[str, ...]],
    settings: Settings,
    probabilities: Mapping[str, bool],
    steps: _Steps,
) -> list[GroupEvaluation]:
    """Evaluate each group, and compare it with all other rows.

    Numbers whose intervals come from the bootstrap alone have none in groups, so that many groups take little time.
    """
    groups: list[GroupEvaluation] = []
    members = list(grouping.members())
    for name, chosen in members:
        steps.begin(f"groups of {grouping.column}")
        part, rest = rows.take(chosen), rows.take(~chosen)
        counts = part.counts()
        both = [bool(side.any() and not side.all()) for side in (part.labels, rest.labels)]
        models = _models(part, counts, columns, settings, probabilities, resample=False) if both[0] else ()
        differences: tuple[Comparison, ...] = ()
        mirrored = len(members) == 2 and bool(groups)  # the second of two groups differs by as much the other way
        if all(both) and not mirrored:
            if rows.clusters is not None:
                differences = compare_clustered_group(rows, chosen, settings, probabilities)
            else:
                differences = _group_differences(part, counts, rest, settings, probabilities)
        differences = tuple(each for each in differences if each.first in columns)  # not those of imputed datasets
        positives, negatives = rows.totals(chosen)
        groups.append(
            GroupEvaluation(
                column=grouping.column,
                group=name,
                rows=len(part),
                positives=positives,
                negatives=negatives,
                models=models,
                differences=differences,
                class_rows=_class_rows(part),
            )
        )
    return groups


def _group_differences(
    group: Rows, ours: Sequence[ScoreCounts], rest: Rows, settings: Settings, probabilities: Mapping[str, bool]
) -> tuple[Comparison, ...]:
    """Compare each column of scores between a group, with its counts, and all other rows."""
    theirs = rest.counts()
    return tuple(
        difference
        for place, name in enumerate(group.names)
        for difference in compare_groups(
            name,
            sample_of(group, place, settings, counts=ours[place], resample=False),
            sample_of(rest, place, settings, counts=theirs[place], resample=False),
            settings=settings,
            probabilities=probabilities[name],
        )
    )


def _class_rows(rows: Rows) -> tuple[float, float] | None:
    """Count positive and negative rows with sampling weights; other weights count rows themselves."""
    positives = int(rows.labels.sum())
    return (positives, len(rows) - positives) if rows.survey else None


def _evaluation(
    rows: int | None, models: tuple[ModelEvaluation, ...], *, totals: ScoreCounts | None = None, **parts: Any
) -> Evaluation:
    counts = models[0].counts if totals is None else totals
    evaluation = Evaluation(
        rows=rows, positives=counts.total_positives, negatives=counts.total_negatives, models=models, **parts
    )
    return replace(evaluation, warnings=tuple(cautions(evaluation)), assumptions=tuple(assumptions(evaluation)))
