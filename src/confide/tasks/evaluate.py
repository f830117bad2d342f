"""Evaluate scores exactly, from arrays, dataframes, files, Ibis tables or counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from confide.counts import ScoreCounts
from confide.device import on_device, to_host
from confide.errors import ParameterError
from confide.evaluation.evaluate import evaluate_counts, evaluate_rows
from confide.evaluation.evaluation import Evaluation
from confide.evaluation.settings import Settings
from confide.kernels import compiler_installed
from confide.sources.engine_tables import is_engine_table
from confide.sources.hints import explaining_swaps, first_rows
from confide.sources.labels import labels_of
from confide.sources.locations import TableLocation
from confide.sources.rows import RowColumns, Rows, check_missing
from confide.tasks.provenance import read_provenance
from confide.tasks.requests.evaluate import ARRAYS, COLUMNS, EvaluateRequest
from confide.tasks.requests.options import verb_of


@verb_of(EvaluateRequest)
def evaluate(request: EvaluateRequest) -> Evaluation:
    """Evaluate one score, or compare several on the same rows. The numbers are exact, not private.

    Parameters
    ----------
    data, scores
        Labels and scores as arrays or series. `scores` may be a mapping or a dataframe with one column for each
        model; the name of a series is the name of its model. Or `data` alone: a `ScoreCounts`, or a table, which is
        the path of a file (CSV, TSV, JSON lines, Parquet), the URL of a table in a database
        ("postgresql://host/database/schema.table" or "duckdb:///file.db?table=name"; see `TableLocation`, which also
        takes a query), a dataframe (pandas, Polars, PyArrow and others) or an Ibis table. One score on a GPU, without
        weights, groups, clusters or folds, is evaluated there; curves of more than 100,000 distinct scores are then
        thinned, which the result states. Other arrays on a GPU are copied.
    label, score, weight, survey_weight, group, cluster, fold
        Columns of a table: labels, one or more scores, weights (rows that a row stands for), sampling weights (inverse
        sampling probabilities), one or more groupings, clusters of rows that depend on each other (such as the stays
        of one patient), and the folds of a cross-validation.
    weights, survey_weights, groups, clusters, folds
        The same with arrays. `groups` may map the name of each grouping to its array.
    imputed
        Maps the name of a model to its columns of scores, one for each imputed dataset. Their estimates are pooled by
        Rubin's rules.
    positive
        The positive label, unless labels are 0/1, -1/1 or false/true.
    missing
        "refuse" rows without a score, or "drop" and count them. A row is dropped if any model's score is missing.
        Labels and weights of the other rows are checked afterwards.
    thresholds
        Decision thresholds: `score >= threshold` is positive. The default is 0.5 if all scores are probabilities.
    level, interval
        Confidence level and method of intervals: "plain", "logit" (on a scale that keeps the range) or "bootstrap".
        By default each number has the method that suits it.
    specificity, sensitivity
        Ranges `(low, high)` over which the partial AUC is taken.
    cost_ratio
        Cost of a missed positive over the cost of a false alarm, for the threshold of least cost.
    replicates, seed
        Number and seed of the bootstrap's replicates. With 0, numbers whose intervals need the bootstrap have none.
    progress
        Function that is called as each model or group begins, with the number of steps before it, of all steps, and
        what it does. One score without groups is a single step, which is not reported.

    >>> evaluate([0, 0, 1, 0, 1, 1], [0.1, 0.4, 0.35, 0.2, 0.8, 0.9], replicates=0).models[0].auc.value
    0.8888888888888888

    >>> from confide.examples import HEART_ATTACK
    >>> round(evaluate(HEART_ATTACK, label="died", score="logistic").models[0].auc.value, 3)
    0.805
    """
    data = request.data
    provenance = read_provenance(file=_digestible(data), seed=request.seed)
    columns, arrays = request.values_of(COLUMNS), request.values_of(ARRAYS)
    if isinstance(data, ScoreCounts):
        _refuse(
            {**columns, **arrays, **request.values_of(("imputed", "positive"))},
            "cannot be given beside a ScoreCounts; give the labels instead",
        )
        evaluation = evaluate_counts(data, request.settings)
    elif _is_table(data):
        _refuse(arrays, f"is for arrays; name columns of the table with {_list_names(columns)}")
        evaluation = _evaluate_source(request)
    else:
        _refuse(columns, f"is for tables; give arrays with {_list_names(arrays)}")
        evaluation = _evaluate_arrays(request)
    return replace(evaluation, provenance=provenance)


def _evaluate_source(request: EvaluateRequest) -> Evaluation:
    """Evaluate columns of a file, a dataframe or a table in a database."""
    named = _named_columns(request)
    from confide.sources.open_tables import opened

    advice = "exchange `label` and `score`"
    with (
        opened(request.data) as held,
        explaining_swaps(lambda: first_rows(held, named.label, named.scores[0]), advice),
        labels_of(named.label),
    ):
        return _evaluate_table(held, named, request)


def _evaluate_arrays(request: EvaluateRequest) -> Evaluation:
    """Evaluate arrays of labels and scores."""
    if request.scores is None:
        raise ParameterError("scores are needed with labels: give `scores`, or a table with `label` and `score`")
    from confide.sources.frames import named_scores

    labels, groups = request.data, request.groups
    models = named_scores(request.scores)
    _check_imputed(request.imputed or {}, list(models))
    with explaining_swaps(lambda: (labels, next(iter(models.values()))), "labels come first"):
        (name, first), *others = models.items()
        plain = all(part is None for part in request.values_of(ARRAYS[1:]).values()) and not others
        if on_device(first) and plain and request.missing == "refuse":
            return _evaluate_on_device(labels, name, first, request.settings, request.positive)
        divided = groups if groups is None or isinstance(groups, Mapping) else {"group": groups}
        rows = Rows.checked(
            to_host(labels),
            list(models),
            [to_host(column) for column in models.values()],
            weights=to_host(request.weights),
            survey_weights=to_host(request.survey_weights),
            groups=None if divided is None else {column: to_host(values) for column, values in divided.items()},
            clusters=to_host(request.clusters),
            folds=to_host(request.folds),
            positive=request.positive,
            missing=check_missing(request.missing),
        )
    return evaluate_rows(rows, request.settings, imputed=request.imputed, progress=request.progress)


def speed_notes(evaluation: Evaluation) -> Iterator[str]:
    """Yield what would make evaluations of as many rows faster."""
    if (evaluation.rows or 0) >= _LARGE and not compiler_installed():
        yield "Large files take about half the time with compiled loops: pip install 'confide[fast]'"


_LARGE = 5_000_000  # rows, from which counting takes longer without compiled loops


def _evaluate_on_device(labels: Any, name: str, scores: Any, settings: Settings, positive: object) -> Evaluation:
    """Evaluate one score of independent rows on the device that holds them."""
    from confide.evaluation.thinned import evaluate_device_rows
    from confide.sources.device_rows import device_rows

    return evaluate_device_rows(device_rows(labels, scores, positive=positive), settings, name=name)


def _evaluate_table(data: Any, columns: RowColumns, request: EvaluateRequest) -> Evaluation:
    """Evaluate columns of a table. One score of independent rows is counted or summed by the engine that holds it."""
    settings, positive, missing = request.settings, request.positive, check_missing(request.missing)
    if not _held_by_engine(data):
        from confide.sources.frames import frame_rows

        rows = frame_rows(data, columns, positive=positive, missing=missing)
        return evaluate_rows(rows, settings, imputed=request.imputed, progress=request.progress)
    if not columns.countable:
        from confide.sources.tables import table_rows

        rows = table_rows(data, columns, positive=positive, missing=missing)
        return evaluate_rows(rows, settings, imputed=request.imputed, progress=request.progress)
    (score,) = columns.scores
    from confide.sources.rank_tables import SummedTable, rank_table

    found = rank_table(data, columns, positive=positive, missing=missing, thresholds=settings.thresholds_between)
    if isinstance(found, SummedTable):
        from confide.evaluation.thinned import evaluate_thinned

        return evaluate_thinned(
            found.ranked.counts,
            found.ranked.sums,
            settings,
            error=found.ranked.error,
            where="by the engine that holds them",
            name=score,
            missing=found.missing,
        )
    return evaluate_counts(
        found.counts,
        settings,
        rows=found.rows,
        weighted=columns.weight is not None,
        name=score,
        missing=found.missing,
    )


def _named_columns(request: EvaluateRequest) -> RowColumns:
    columns, imputed = request.values_of(COLUMNS), request.imputed or {}
    label, score = columns["label"], _several(columns["score"])
    if label is None or not (score or imputed):
        raise ParameterError("name the columns of labels and scores: give `label` and `score`")
    scores = list(score)
    _check_imputed(imputed, None)
    scores += [column for several in imputed.values() for column in several]
    if len(set(scores)) < len(scores):
        raise ParameterError("a column of scores is named twice in `score` or `imputed`; name each column once")
    if label in scores:
        raise ParameterError(f"column {label!r} cannot be both label and score; name the column that holds scores")
    groups = _several(columns["group"])
    if len(set(groups)) < len(groups):
        raise ParameterError("a column is named twice in `group`; name each column once")
    return RowColumns(
        label=label,
        scores=tuple(scores),
        weight=columns["weight"],
        survey_weight=columns["survey_weight"],
        groups=groups,
        cluster=columns["cluster"],
        fold=columns["fold"],
    )


def _check_imputed(imputed: Mapping[str, Sequence[str]], known: Sequence[str] | None) -> None:
    for name, several in imputed.items():
        if isinstance(several, str) or len(several) < 2:
            raise ParameterError(f"`imputed` model {name!r} needs two columns or more, one for each imputed dataset")
        for column in several:
            if known is not None and column not in known:
                raise ParameterError(f"`imputed` model {name!r} names {column!r}, which is not among the scores")
    columns = [column for several in imputed.values() for column in several]
    if len(set(columns)) < len(columns):
        raise ParameterError("a column of scores is named twice in `imputed`; name each column once")


def _several(names: str | Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)


def _digestible(data: Any) -> Path | None:
    """Return the file whose digest can be taken: not standard input, nor anything that is no file yet."""
    if not isinstance(data, str | Path) or str(data) == "-":
        return None
    return Path(data) if Path(data).is_file() else None


def _held_by_engine(data: Any) -> bool:
    return isinstance(data, str | Path | TableLocation) or is_engine_table(data)


def _is_table(data: Any) -> bool:
    if _held_by_engine(data):
        return True
    from confide.sources.frames import is_frame

    return is_frame(data)


def _list_names(names: Mapping[str, object]) -> str:
    *most, last = (f"`{name}`" for name in names)
    return f"{', '.join(most)} and {last}"


def _refuse(given: Mapping[str, object], why: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"`{name}` {why}")
