"""Evaluate scores exactly, from arrays, dataframes, files, Ibis tables or counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import ScoreCounts
from confide.device import on_device, to_host
from confide.errors import ParameterError
from confide.evaluation.evaluate import Progress, evaluate_counts, evaluate_rows
from confide.evaluation.evaluation import Evaluation
from confide.evaluation.settings import SEED, IntervalChoice, PartialRegion, Settings, check_interval
from confide.kernels import compiler_installed
from confide.sources.engine_tables import is_engine_table
from confide.sources.hints import explaining_swaps, first_rows
from confide.sources.labels import labels_of
from confide.sources.locations import TableLocation, as_location
from confide.sources.rows import Missing, RowColumns, Rows, check_missing
from confide.tasks.provenance import read_provenance

Range = tuple[float, float]


def evaluate(
    data: Any,
    scores: ArrayLike | Mapping[str, ArrayLike] | Any | None = None,
    *,
    label: str | None = None,
    score: str | Sequence[str] | None = None,
    weight: str | None = None,
    survey_weight: str | None = None,
    group: str | Sequence[str] | None = None,
    cluster: str | None = None,
    fold: str | None = None,
    imputed: Mapping[str, Sequence[str]] | None = None,
    weights: ArrayLike | None = None,
    survey_weights: ArrayLike | None = None,
    groups: ArrayLike | Mapping[str, ArrayLike] | None = None,
    clusters: ArrayLike | None = None,
    folds: ArrayLike | None = None,
    positive: object = None,
    missing: Missing | str = "refuse",
    thresholds: Sequence[float] | float | None = None,
    level: float = 0.95,
    interval: IntervalChoice | str | None = None,
    specificity: Range | Sequence[Range] | None = None,
    sensitivity: Range | Sequence[Range] | None = None,
    cost_ratio: float | None = None,
    replicates: int = 1_000,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Evaluation:
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
    settings = Settings(
        level=level,
        interval=None if interval is None else check_interval(interval),
        thresholds=None if thresholds is None else tuple(float(each) for each in np.atleast_1d(thresholds)),
        regions=(*_regions("specificity", specificity), *_regions("sensitivity", sensitivity)),
        cost_ratio=cost_ratio,
        replicates=replicates,
        seed=seed,
    )
    treat_missing = check_missing(missing)
    columns = {
        "label": label, "score": score, "weight": weight, "survey_weight": survey_weight, "group": group,
        "cluster": cluster, "fold": fold,
    }  # fmt: skip
    arrays = {
        "scores": scores, "weights": weights, "survey_weights": survey_weights, "groups": groups, "clusters": clusters,
        "folds": folds,
    }  # fmt: skip
    data = as_location(data)
    file = _digestible(data)
    provenance = read_provenance(file=file, seed=seed)

    def with_provenance(evaluation: Evaluation) -> Evaluation:
        return replace(evaluation, provenance=provenance)

    if isinstance(data, ScoreCounts):
        _refuse(
            {**columns, **arrays, "imputed": imputed, "positive": positive},
            "cannot be given beside a ScoreCounts; give the labels instead",
        )
        return with_provenance(evaluate_counts(data, settings))
    if _is_table(data):
        _refuse(arrays, f"is for arrays; name columns of the table with {_listed(columns)}")
        named = _named_columns(columns, imputed or {})
        from confide.sources.open_tables import opened

        advice = "exchange `label` and `score`"
        with (
            opened(data) as held,
            explaining_swaps(lambda: first_rows(held, named.label, named.scores[0]), advice),
            labels_of(named.label),
        ):
            evaluation = _evaluate_table(
                held, named, settings, imputed, positive=positive, missing=treat_missing, progress=progress
            )
        return with_provenance(evaluation)
    _refuse(columns, f"is for tables; give arrays with {_listed(arrays)}")
    if scores is None:
        raise ParameterError("scores are needed with labels: give `scores`, or a table with `label` and `score`")
    from confide.sources.frames import named_scores

    models = named_scores(scores)
    _check_imputed(imputed or {}, list(models))
    with explaining_swaps(lambda: (data, next(iter(models.values()))), "labels come first"):
        (name, first), *others = models.items()
        design = (weights, survey_weights, groups, clusters, folds)
        if on_device(first) and not others and treat_missing == "refuse" and all(part is None for part in design):
            return with_provenance(_evaluate_on_device(data, name, first, settings, positive))
        divided = groups if groups is None or isinstance(groups, Mapping) else {"group": groups}
        rows = Rows.checked(
            to_host(data),
            list(models),
            [to_host(column) for column in models.values()],
            weights=to_host(weights),
            survey_weights=to_host(survey_weights),
            groups=None if divided is None else {column: to_host(values) for column, values in divided.items()},
            clusters=to_host(clusters),
            folds=to_host(folds),
            positive=positive,
            missing=treat_missing,
        )
    return with_provenance(evaluate_rows(rows, settings, imputed=imputed, progress=progress))


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


def _evaluate_table(
    data: Any,
    columns: RowColumns,
    settings: Settings,
    imputed: Mapping[str, Sequence[str]] | None,
    *,
    positive: object,
    missing: Missing,
    progress: Progress | None,
) -> Evaluation:
    """Evaluate columns of a table. One score of independent rows is counted or summed by the engine that holds it."""
    if not _held_by_engine(data):
        from confide.sources.frames import frame_rows

        rows = frame_rows(data, columns, positive=positive, missing=missing)
        return evaluate_rows(rows, settings, imputed=imputed, progress=progress)
    if not columns.countable:
        from confide.sources.tables import table_rows

        rows = table_rows(data, columns, positive=positive, missing=missing)
        return evaluate_rows(rows, settings, imputed=imputed, progress=progress)
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


def _named_columns(columns: Mapping[str, Any], imputed: Mapping[str, Sequence[str]]) -> RowColumns:
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


def _regions(axis: Literal["specificity", "sensitivity"], ranges: Any) -> tuple[PartialRegion, ...]:
    """Return the regions of one range or of several."""
    if ranges is None:
        return ()
    several = np.atleast_2d(np.asarray(ranges, dtype=np.float64))
    if several.ndim != 2 or several.shape[1] != 2:
        raise ParameterError(f"`{axis}` must be a range (low, high) or several, for example (0.9, 1)")
    return tuple(PartialRegion(axis=axis, lower=float(low), upper=float(high)) for low, high in several)


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


def _listed(names: Mapping[str, object]) -> str:
    *most, last = (f"`{name}`" for name in names)
    return f"{', '.join(most)} and {last}"


def _refuse(given: Mapping[str, object], why: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"`{name}` {why}")
