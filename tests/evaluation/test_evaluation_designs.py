"""Each sampling design of an evaluation, against the functions that it must equal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import confide
from confide.evaluation.evaluation import ModelEvaluation
from confide.intervals import survey_estimate
from confide.intervals.clusters import cluster_estimate
from confide.intervals.comparison import Comparison
from confide.intervals.differences import against_rest, compare_estimates_unpaired, compare_models
from confide.intervals.folds import cross_validated_auc, fold_estimate
from confide.intervals.imputation import pool
from confide.intervals.interval import Estimate
from confide.intervals.metric_estimates import estimates, natural_scale
from tests.evaluation.design_rows import (
    CLUSTERS,
    FIRST,
    LABELS,
    PLACES,
    REPLICATES,
    SECOND,
    SEED,
    SIZE,
)


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


@pytest.mark.few(2)
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
