"""Each sampling design of an evaluation, against the functions that it must equal, and on rows of every kind."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import confide
from confide.errors import ConfideError, DataError, ParameterError
from confide.evaluation.evaluation import Evaluation, ModelEvaluation
from confide.intervals import survey_estimate
from confide.intervals.cluster_estimates import cluster_estimate
from confide.intervals.comparison import Comparison
from confide.intervals.folds import cross_validated_auc, fold_estimate
from confide.intervals.imputation import pool
from confide.intervals.interval import Estimate
from confide.intervals.metric_estimates import estimates, natural_scale
from confide.intervals.paired import compare_models
from confide.intervals.unpaired import against_rest, compare_estimates_unpaired

SIZE, REPLICATES, SEED = 240, 100, 7
PLACES = np.arange(SIZE)

Labels = NDArray[np.bool_]
Scores = NDArray[np.float64]


def rows(seed: int = 1, size: int = SIZE) -> tuple[Labels, Scores, Scores]:
    rng = np.random.default_rng(seed)
    labels = rng.random(size) < 0.35
    first, second = (1.0 / (1.0 + np.exp(0.9 - 1.2 * labels - rng.normal(size=size))) for _ in range(2))
    return labels, first, second


LABELS, FIRST, SECOND = rows()
CLUSTERS = PLACES % 40


def numbers(model: ModelEvaluation) -> dict[tuple[str, tuple[tuple[str, Any], ...]], Estimate]:
    """Return every estimate of a model by its metric and options."""
    found: dict[tuple[str, tuple[tuple[str, Any], ...]], Estimate | None] = {
        (name, ()): getattr(model, name)
        for name in ("auc", "average_precision", "brier", "scaled_brier", "log_loss", "observed_expected")
    }
    for area in model.partial_auc:
        options = tuple(area.region.options.items())
        found["partial_auc", options] = area.area
        found["partial_auc", (*options, ("corrected", True))] = area.corrected
    if model.calibration is not None:
        prefixes = {"intercept": "calibration_", "slope": "calibration_", "e50": "calibration_"}
        prefixes |= {"e90": "calibration_", "emax": "calibration_"}
        found |= {(prefixes.get(name, "") + name, ()): each for name, each in model.calibration.items()}
    for at in model.thresholds:
        found |= {(name, (("threshold", at.threshold),)): each for name, each in at.measures.items()}
    found["youden_threshold", ()] = model.youden.threshold
    if model.least_cost is not None:
        found["cost_threshold", (("cost_ratio", 4.0),)] = model.least_cost.threshold
    return {key: each for key, each in found.items() if each is not None}


SETTINGS: dict[str, Any] = {
    "thresholds": [0.2, 0.5], "specificity": (0.8, 1.0), "sensitivity": (0.6, 0.9), "cost_ratio": 4.0,
    "replicates": REPLICATES, "seed": SEED,
}  # fmt: skip


def same(found: Estimate, expected: Estimate) -> bool:
    """Compare all numbers of two estimates to rounding."""

    def parts(estimate: Estimate) -> list[float]:
        ends = (math.nan,) * 2 if estimate.interval is None else (estimate.interval.lower, estimate.interval.upper)
        error = estimate.standard_error
        return [estimate.value, math.nan if error is None else error, *ends]

    return parts(found) == pytest.approx(parts(expected), rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("interval", [None, "plain", "logit", "bootstrap"])
@pytest.mark.parametrize("weights", [None, 1 + PLACES % 3], ids=["rows", "repeated rows"])
def test_independent_rows_are_estimates(interval: str | None, weights: NDArray[np.int64] | None) -> None:
    (model,) = confide.evaluate(LABELS, FIRST, weights=weights, interval=interval, level=0.9, **SETTINGS).models
    found = numbers(model)
    assert len(found) > 40
    counts = confide.ScoreCounts.from_arrays(LABELS, FIRST, weights)
    method: Any = interval
    expected = estimates(
        counts,
        [(name, dict(options)) for name, options in found],
        level=0.9,
        method=method,
        replicates=REPLICATES,
        rng=SEED,
    )
    different = [key for (key, each), other in zip(found.items(), expected, strict=True) if not same(each, other)]
    assert not different
    assert all(each.interval is not None for each in found.values())


def test_clusters_are_cluster_estimates() -> None:
    (model,) = confide.evaluate(LABELS, FIRST, clusters=CLUSTERS, **SETTINGS).models
    found = numbers(model)
    different = [
        key
        for key, each in found.items()
        if not same(
            each,
            cluster_estimate(
                LABELS, FIRST, CLUSTERS, key[0], replicates=REPLICATES, rng=SEED, **dict(key[1])
            ),
        )
    ]  # fmt: skip
    assert not different
    assert len(found) > 40


def test_clusters_are_wider_than_rows_where_rows_repeat() -> None:
    """Four copies of each row hold no more than one: the naive standard error is half of the right one."""
    labels, scores = np.repeat(LABELS, 4), np.repeat(FIRST, 4)
    codes = np.repeat(PLACES, 4)
    single, naive = (confide.evaluate(*data, replicates=0).models[0] for data in ((LABELS, FIRST), (labels, scores)))
    (right,) = confide.evaluate(labels, scores, clusters=codes, replicates=0).models
    for name in ("auc", "brier", "observed_expected"):
        alone, many, clustered = (getattr(model, name).standard_error for model in (single, naive, right))
        assert clustered == pytest.approx(alone, rel=0.01)
        assert many == pytest.approx(alone / 2.0, rel=0.01)


def test_sampling_weights_are_survey_estimates() -> None:
    weights = 1.0 + PLACES % 5
    for clusters in (None, CLUSTERS):
        (model,) = confide.evaluate(
            LABELS, FIRST, survey_weights=weights, clusters=clusters, thresholds=0.3, level=0.9
        ).models
        found = numbers(model)
        measured = [key for key, each in found.items() if each.interval is not None]
        assert {"auc", "average_precision", "brier", "calibration_slope", "recall"} <= {name for name, _ in measured}
        for name, options in measured:
            expected = survey_estimate(name, LABELS, FIRST, weights, clusters=clusters, level=0.9, **dict(options))
            assert same(found[name, options], expected), name


def test_folds_average_ranking_and_pool_the_rest() -> None:
    folds = PLACES % 5
    whole = confide.evaluate(LABELS, FIRST, **SETTINGS).models[0]
    (model,) = confide.evaluate(LABELS, FIRST, folds=folds, **SETTINGS).models
    assert same(model.auc, cross_validated_auc(LABELS, FIRST, folds))
    settings: dict[str, Any] = {"replicates": REPLICATES, "rng": SEED}
    assert same(model.average_precision, fold_estimate(LABELS, FIRST, folds, "average_precision", **settings))
    for area in model.partial_auc:
        options: dict[str, Any] = area.region.options
        assert same(area.area, fold_estimate(LABELS, FIRST, folds, "partial_auc", **options, **settings))
    assert (model.brier, model.calibration, model.thresholds) == (whole.brier, whole.calibration, whole.thresholds)


def test_folds_without_replicates_keep_the_value_of_the_partial_area() -> None:
    folds = PLACES % 3
    (model,) = confide.evaluate(LABELS, FIRST, folds=folds, specificity=(0.8, 1.0), replicates=0).models
    areas = [
        confide.metrics.partial_auc_score(LABELS[folds == fold], FIRST[folds == fold], specificity=(0.8, 1.0))
        for fold in range(3)
    ]
    (area,) = model.partial_auc
    assert area.area.interval is None
    assert area.area.value == pytest.approx(np.average(areas, weights=np.bincount(folds)), rel=1e-12)


def test_imputed_scores_are_pooled_by_rubins_rules() -> None:
    columns = {"a": FIRST, "b": FIRST**1.1, "c": FIRST**0.9}
    pooled = confide.evaluate(LABELS, columns, imputed={"risk": ["a", "b", "c"]}, **SETTINGS).models[0]
    single = [numbers(confide.evaluate(LABELS, column, **SETTINGS).models[0]) for column in columns.values()]
    assert pooled.score == "risk"
    compared = 0
    for key, found in numbers(pooled).items():
        each = [estimates[key] for estimates in single if key in estimates]
        scale = natural_scale(key[0])
        if len(each) == 3 and all(one.standard_error and scale.inside(one.value) for one in each):
            assert same(found, pool(each, scale=scale, rows=SIZE)), key
            compared += 1
    assert compared > 30


def by_metric(comparisons: tuple[Comparison, ...]) -> dict[tuple[str, float | None], Comparison]:
    return {(each.metric, each.threshold): each for each in comparisons}


@pytest.mark.parametrize("design", [{}, {"weights": 1 + PLACES % 3}, {"clusters": CLUSTERS}])
def test_models_are_compared_on_the_same_rows(design: dict[str, Any]) -> None:
    scores = {"first": FIRST, "second": SECOND}
    found = by_metric(confide.evaluate(LABELS, scores, thresholds=[0.2, 0.5], replicates=0, **design).comparisons)
    assert set(found) == {
        ("auc", None), ("average_precision", None), ("brier", None), ("net_benefit", 0.2), ("net_benefit", 0.5),
    }  # fmt: skip
    for (metric, threshold), entry in found.items():
        options: dict[str, Any] = {} if threshold is None else {"threshold": threshold}
        (expected,) = compare_models(LABELS, scores, metric, **design, **options)
        assert entry == expected


def test_groups_of_independent_rows_are_compared_with_the_rest() -> None:
    groups = np.where(PLACES % 3 == 0, "few", "many")
    evaluation = confide.evaluate(LABELS, FIRST, groups=groups, thresholds=0.3, replicates=0)
    few, many = (numbers(group.models[0]) for group in evaluation.groups)
    for (metric, threshold), entry in by_metric(evaluation.groups[0].differences).items():
        key = (metric, () if threshold is None else (("threshold", threshold),))
        expected = compare_estimates_unpaired(few[key], many[key], metric=metric)
        assert (entry.difference, entry.p_value) == pytest.approx((expected.difference, expected.p_value), rel=1e-9)
    assert by_metric(evaluation.groups[0].differences)["auc", None].difference == pytest.approx(
        few["auc", ()].value - many["auc", ()].value
    )


def test_clusters_across_groups_are_compared_with_the_rest() -> None:
    groups = np.where(PLACES % 3 == 0, "few", "many")
    evaluation = confide.evaluate(LABELS, FIRST, groups=groups, clusters=CLUSTERS, thresholds=0.3, replicates=0)
    entries = by_metric(evaluation.groups[0].differences)
    assert len(entries) == 8
    for (metric, threshold), entry in entries.items():
        options: dict[str, Any] = {} if threshold is None else {"threshold": threshold}
        expected = against_rest(LABELS, FIRST, groups, metric, codes=CLUSTERS, **options)[0]
        assert (entry.difference, entry.standard_error) == pytest.approx(
            (expected.difference, expected.standard_error), rel=1e-12
        )
        assert (entry.interval, entry.p_value) == (expected.interval, expected.p_value)


def test_groupings_are_crossed() -> None:
    first, second = PLACES % 2, np.where(PLACES % 3 == 0, "x", "y")
    evaluation = confide.evaluate(LABELS, FIRST, groups={"half": first, "kind": second}, replicates=0)
    names = [(group.column, group.group) for group in evaluation.groups]
    assert names == [
        ("half", "0"), ("half", "1"), ("kind", "x"), ("kind", "y"),
        *(("half × kind", name) for name in ("0, x", "0, y", "1, x", "1, y")),
    ]  # fmt: skip
    for group in evaluation.groups[4:]:
        half, kind = group.group.split(", ")
        chosen = (first == int(half)) & (second == kind)
        alone = confide.evaluate(LABELS[chosen], FIRST[chosen], replicates=0)
        assert group.rows == chosen.sum()
        assert group.models == alone.models


# Rows on which something does not exist, or almost.
def _degenerate() -> dict[str, tuple[Labels, Scores]]:
    labels, scores, _ = rows(3, 24)
    few = np.array([False, True, True, False])
    return {
        "usual": (labels, scores),
        "separated": (labels, np.where(labels, 0.8, 0.1) + scores / 10.0),
        "reversed": (labels, np.where(labels, 0.1, 0.8) + scores / 10.0),
        "perfect": (labels, labels.astype(np.float64)),
        "some certain": (labels, np.where(PLACES[:24] % 4 == 0, np.round(scores), scores)),
        "constant": (labels, np.full(24, 0.3)),
        "all zero": (labels, np.zeros(24)),
        "all one": (labels, np.ones(24)),
        "no probabilities": (labels, 10.0 * scores - 3.0),
        "vanishing": (labels, scores * 1e-12),
        "huge": (labels, scores * 1e300),
        "one positive": (PLACES[:24] == 5, scores),
        "one negative": (PLACES[:24] != 5, scores),
        "four rows": (few, np.array([0.2, 0.7, 0.1, 0.4])),
        "two rows": (few[:2], np.array([0.2, 0.7])),
        "two tied rows": (few[:2], np.array([0.5, 0.5])),
    }


DEGENERATE = _degenerate()


def _designs(labels: Labels, scores: Scores) -> dict[str, tuple[Any, dict[str, Any]]]:
    place = np.arange(labels.size)
    models = {"a": scores, "b": scores[::-1].copy(), "c": np.roll(scores, 1)}
    pair = {"a": scores, "b": scores[::-1].copy()}
    half = place % 2
    return {
        "bootstrap": (scores, {"interval": "bootstrap", "replicates": 100}),
        "plain": (pair, {"interval": "plain"}),
        "equal models": ({"a": scores, "b": scores.copy()}, {}),
        "three models": (models, {}),
        "whole weights": (pair, {"weights": 1 + place % 3}),
        "weights": (scores, {"weights": 0.5 + place % 3, "groups": half}),
        "clusters": (pair, {"clusters": place % 7, "groups": half}),
        "one cluster": (pair, {"clusters": np.zeros(labels.size, dtype=np.int64)}),
        "redrawn clusters": (scores, {"clusters": place % 7, "replicates": 100}),
        "a cluster for each class": (pair, {"clusters": labels, "groups": half}),
        "a cluster for each row": (scores, {"clusters": place}),
        "sampling weights": (scores, {"survey_weights": 0.5 + place % 3, "groups": half}),
        "sampled clusters": (scores, {"survey_weights": 0.5 + place % 3, "clusters": place % 5, "groups": half}),
        "groups": (scores, {"groups": {"half": half, "third": place % 3}}),
        "groups of one class": (scores, {"groups": labels}),
        "groups of one row": (scores, {"groups": place}),
        "imputed": (pair, {"imputed": {"m": ["a", "b"]}, "groups": half}),
        "imputed clusters": (models, {"imputed": {"m": ["a", "b"]}, "clusters": place % 7}),
        "folds": (scores, {"folds": _even_folds(labels), "groups": half}),
        "redrawn folds": (scores, {"folds": _even_folds(labels), "replicates": 100}),
    }


def _even_folds(labels: Labels) -> NDArray[np.int64]:
    """Deal each class to two folds in turn."""
    return np.where(labels, np.cumsum(labels), np.cumsum(~labels)) % 2


@pytest.mark.parametrize("design", _designs(LABELS, FIRST))
def test_every_design_evaluates_rows_of_every_kind(design: str) -> None:
    """The result is strict JSON and text, without a warning of NumPy; one class in a fold is the only refusal."""
    for kind, (labels, scores) in DEGENERATE.items():
        models, extra = _designs(labels, scores)[design]
        probable = scores.min() >= 0.0 and scores.max() <= 1.0
        settings: dict[str, Any] = {
            "thresholds": [0.3, 0.5] if probable else [1.0],
            "specificity": (0.8, 1.0),
            "cost_ratio": 3.0,
        }
        call = partial(confide.evaluate, labels, models, **{"replicates": 0, **settings, **extra})
        if design.endswith("folds") and min(labels.sum(), (~labels).sum()) < 2:
            with pytest.raises(ConfideError, match=r"a fold has rows of one class only|folds must be at least two"):
                call()
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            evaluation = call()
            json.dumps(evaluation.to_dict(), allow_nan=False)
            assert evaluation.to_text()
        assert all(math.isfinite(model.auc.value) for model in evaluation.models), kind


def test_a_fold_with_one_class_is_refused_and_in_a_group_it_has_no_ranking() -> None:
    labels, scores = LABELS[:60], FIRST[:60]
    with pytest.raises(DataError, match="a fold has rows of one class only"):
        confide.evaluate(labels, scores, folds=np.where(labels, 0, PLACES[:60] % 2))
    with pytest.raises(ParameterError, match="at least two"):
        confide.evaluate(labels, scores, folds=np.zeros(60))
    folds = _even_folds(labels)
    groups = np.where(labels & (folds == 1), "first", "second")
    groups[~labels & (PLACES[:60] % 4 == 0)] = "first"
    evaluation = confide.evaluate(labels, scores, folds=folds, groups=groups, replicates=0)
    first, _ = evaluation.groups
    assert math.isnan(first.models[0].auc.value)
    assert first.models[0].brier is not None
    assert first.to_dict()["models"][0]["brier"]["interval"] is not None
    assert any("no mean over folds" in text for text in evaluation.warnings)


def test_a_class_in_one_cluster_has_a_caution_and_no_comparison_of_auc() -> None:
    codes = np.where(LABELS, 0, PLACES)
    evaluation = confide.evaluate(LABELS, {"a": FIRST, "b": SECOND}, clusters=codes, replicates=0)
    assert {each.metric for each in evaluation.comparisons} == {"average_precision", "brier", "net_benefit"}
    assert all(model.auc.interval is None for model in evaluation.models)
    assert any("A class lies in one cluster only" in text for text in evaluation.warnings)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weights": 1 + PLACES % 2, "clusters": CLUSTERS}, "weights cannot be combined with clusters or folds"),
        ({"weights": 1 + PLACES % 2, "folds": PLACES % 2}, "weights cannot be combined with clusters or folds"),
        ({"folds": PLACES % 2, "clusters": CLUSTERS}, "folds cannot be combined with clusters"),
        ({"folds": PLACES % 2, "survey_weights": 1.0 + PLACES % 2}, "folds cannot be combined with clusters"),
        ({"weights": 1 + PLACES % 2, "survey_weights": 1.0 + PLACES % 2}, "not both"),
        ({"interval": "plain", "clusters": CLUSTERS}, "`interval` cannot be chosen"),
        ({"interval": "bootstrap", "folds": PLACES % 2}, "`interval` cannot be chosen"),
        ({"interval": "logit", "survey_weights": 1.0 + PLACES % 2}, "`interval` cannot be chosen"),
        ({"interval": "bootstrap", "replicates": 0}, "need `replicates`"),
        ({"interval": "wald"}, "`interval` must be one of plain, logit, bootstrap"),
        ({"replicates": 50}, "replicates"),
        ({"replicates": -1}, "replicates"),
        ({"level": 1.0}, "level"),
        ({"cost_ratio": 0.0}, "cost_ratio"),
        ({"cost_ratio": math.inf}, "cost_ratio"),
        ({"specificity": (0.9, 0.8)}, "specificity"),
        ({"sensitivity": (0.9, 1.2)}, "sensitivity"),
        ({"specificity": 0.9}, "specificity"),
        ({"missing": "impute"}, "`missing` must be 'refuse' or 'drop'"),
        ({"clusters": CLUSTERS[:-1]}, "clusters and labels differ in length"),
        ({"folds": PLACES[:-1] % 2}, "folds and labels differ in length"),
        ({"imputed": {"m": ["score"]}}, "needs two columns or more"),
        ({"imputed": {"m": "score"}}, "needs two columns or more"),
        ({"imputed": {"m": ["score", "other"]}}, "'other', which is not among the scores"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        confide.evaluate(LABELS, FIRST, **given)


def test_names_of_imputed_models_that_clash_are_refused() -> None:
    scores = {"a": FIRST, "b": SECOND, "c": FIRST}
    with pytest.raises(ParameterError, match="'c', as a column of scores is"):
        confide.evaluate(LABELS, scores, imputed={"c": ["a", "b"]})
    with pytest.raises(ParameterError, match="named twice"):
        confide.evaluate(LABELS, scores, imputed={"m": ["a", "b"], "n": ["b", "c"]})
    with pytest.raises(ParameterError, match="named twice"):
        confide.evaluate(LABELS, scores, imputed={"m": ["a", "a"]})


def test_missing_clusters_folds_and_labels_are_refused() -> None:
    codes = CLUSTERS.astype(object)
    codes[3] = None
    with pytest.raises(DataError, match="some rows have no cluster"):
        confide.evaluate(LABELS, FIRST, clusters=codes)
    with pytest.raises(DataError, match="some rows have no fold"):
        confide.evaluate(LABELS, FIRST, folds=codes)


def frames() -> Mapping[str, Callable[[list[float | None]], Any]]:
    import pandas
    import polars

    return {
        "list": lambda values: [math.nan if value is None else value for value in values],
        "list with None": lambda values: np.array(values, dtype=object),
        "pandas NaN": lambda values: pandas.Series(values, dtype="float64"),
        "pandas NA": lambda values: pandas.Series(values, dtype="Float64"),
        "polars null": lambda values: polars.Series(values, dtype=polars.Float64),
        "polars NaN": lambda values: polars.Series([math.nan if value is None else value for value in values]),
    }


@pytest.mark.parametrize("kind", frames())
def test_missing_scores_are_refused_or_dropped_and_counted(kind: str) -> None:
    holes = [None if place in (3, 17) else float(score) for place, score in enumerate(FIRST)]
    others = [None if place in (17, 40, 41) else float(score) for place, score in enumerate(SECOND)]
    series = frames()[kind]
    scores = {"a": series(holes), "b": series(others)}
    with pytest.raises(DataError):
        confide.evaluate(LABELS, scores, replicates=0)
    found = confide.evaluate(LABELS, scores, clusters=CLUSTERS, groups=PLACES % 2, missing="drop", replicates=0)
    assert found.missing is not None
    assert found.missing.to_dict() == {"rows": 4, "by_score": {"a": 2, "b": 3}}
    kept = ~np.isin(PLACES, (3, 17, 40, 41))
    expected = confide.evaluate(
        LABELS[kept],
        {"a": FIRST[kept], "b": SECOND[kept]},
        clusters=CLUSTERS[kept],
        groups=PLACES[kept] % 2,
        replicates=0,
    )
    assert found.models == expected.models
    assert (found.groups, found.comparisons) == (expected.groups, expected.comparisons)


@pytest.mark.parametrize("reader", ["csv", "pandas", "polars", "parquet"])
@pytest.mark.parametrize("score", ["a", ["a", "b"]])
def test_missing_scores_of_tables_are_dropped_and_counted(tmp_path: Any, reader: str, score: Any) -> None:
    import pandas
    import polars

    frame = pandas.DataFrame({"y": LABELS.astype(int), "a": FIRST, "b": SECOND})
    frame.loc[[3, 17], "a"] = np.nan
    frame.loc[[17, 40], "b"] = np.nan
    table: Any = frame
    if reader == "csv":
        frame.to_csv(tmp_path / "rows.csv", index=False)
        table = tmp_path / "rows.csv"
    elif reader == "parquet":
        frame.to_parquet(tmp_path / "rows.parquet")
        table = tmp_path / "rows.parquet"
    elif reader == "polars":
        table = polars.from_pandas(frame)
    with pytest.raises(DataError):
        confide.evaluate(table, label="y", score=score, replicates=0)
    found = confide.evaluate(table, label="y", score=score, missing="drop", replicates=0)
    names = [score] if isinstance(score, str) else score
    kept = frame.dropna(subset=names)
    assert found.missing is not None
    assert found.missing.to_dict() == {
        "rows": SIZE - len(kept), "by_score": dict.fromkeys(names, 2),
    }  # fmt: skip
    assert found.rows == len(kept)
    expected = confide.evaluate(kept["y"].to_numpy(), {name: kept[name].to_numpy() for name in names}, replicates=0)
    assert [model.to_dict() for model in found.models] == [model.to_dict() for model in expected.models]


def test_rows_that_all_lack_a_score_are_refused() -> None:
    with pytest.raises(DataError, match="every row lacks a score"):
        confide.evaluate(LABELS, np.full(SIZE, math.nan), missing="drop")


def undated(evaluation: Evaluation) -> dict[str, Any]:
    plain = evaluation.to_dict()
    assert plain["provenance"].pop("date")
    return plain


def differing(found: Any, expected: Any, place: str = "") -> list[str]:
    """Return the places at which two documents differ by more than rounding."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        return [text for key in expected for text in differing(found[key], expected[key], f"{place}.{key}")]
    if isinstance(expected, list):
        assert len(found) == len(expected), place
        return [text for i, one in enumerate(expected) for text in differing(found[i], one, f"{place}[{i}]")]
    if isinstance(expected, float) and isinstance(found, float):
        return [] if math.isclose(found, expected, rel_tol=1e-7, abs_tol=1e-10) else [f"{place}: {found} {expected}"]
    return [] if found == expected else [f"{place}: {found} {expected}"]


PERMUTED: dict[str, dict[str, Any]] = {
    "rows": {},
    "bootstrap": {"interval": "bootstrap"},
    "weights": {"weights": 1 + PLACES % 3},
    "sampling weights": {"survey_weights": 0.5 + PLACES % 3},
    "sampled clusters": {"survey_weights": 0.5 + PLACES % 3, "clusters": CLUSTERS},
    "groups": {"groups": PLACES % 3},
    "clusters": {"clusters": CLUSTERS, "groups": PLACES % 3},
    "folds": {"folds": PLACES % 4},
    "imputed": {"imputed": {"m": ["a", "b"]}},
}


@pytest.mark.parametrize("design", PERMUTED)
def test_the_order_of_rows_does_not_matter(design: str) -> None:
    order = np.random.default_rng(5).permutation(SIZE)
    given = PERMUTED[design]
    moved: dict[str, Any] = {
        name: each[order] if isinstance(each, np.ndarray) else each for name, each in given.items()
    }
    settings: dict[str, Any] = {"replicates": 100, "thresholds": [0.3], "specificity": (0.8, 1.0)}
    if design == "folds":  # replicates redraw rows by their place
        settings["replicates"] = 0
    first = confide.evaluate(LABELS, {"a": FIRST, "b": SECOND}, **given, **settings)
    second = confide.evaluate(LABELS[order], {"a": FIRST[order], "b": SECOND[order]}, **moved, **settings)
    assert not differing(undated(second), undated(first))


@pytest.mark.parametrize("design", PERMUTED)
def test_the_same_call_gives_the_same_json(design: str) -> None:
    scores = {"a": FIRST, "b": SECOND}
    first, second = (confide.evaluate(LABELS, scores, **PERMUTED[design], replicates=100) for _ in range(2))
    assert json.dumps(undated(first)) == json.dumps(undated(second))


@pytest.mark.parametrize("design", ["rows", "clusters", "folds"])
def test_another_seed_gives_other_replicates(design: str) -> None:
    thresholds = [
        confide.evaluate(LABELS, FIRST, **PERMUTED[design], replicates=100, seed=seed).models[0].youden.threshold
        for seed in (0, 1)
    ]
    assert thresholds[0].value == thresholds[1].value
    assert thresholds[0].standard_error != thresholds[1].standard_error
