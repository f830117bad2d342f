"""The evaluation as plain data: the published keys, strict JSON, and numbers that agree with the functions."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest

import confide
from confide import ScoreCounts
from confide.errors import ParameterError

RNG = np.random.default_rng(1)
LABELS = (RNG.random(150) < 0.4).astype(int)
RISK = 1 / (1 + np.exp(-LABELS - RNG.normal(size=150)))
MARKER = LABELS + RNG.normal(size=150) * 2
SITE = RNG.choice(["north", "south"], 150)

TOP_KEYS = {
    *("schema", "rows", "positives", "negatives", "prevalence", "design", "missing", "models", "comparisons"),
    *("joint_comparison", "groups", "warnings", "assumptions", "provenance"),
}
MODEL_KEYS = {
    "score",
    "auc",
    "average_precision",
    "aucpr",
    "aucpr_minimum",
    "aucnpr",
    "brier",
    "scaled_brier",
    "log_loss",
    "observed_expected",
    "calibration",
    "thresholds",
}
NEED_PROBABILITIES = ("brier", "scaled_brier", "log_loss", "observed_expected", "calibration")


@pytest.fixture(scope="module")
def result() -> confide.Evaluation:
    return confide.evaluate(
        LABELS, {"risk": RISK, "marker": MARKER}, groups=SITE, thresholds=[0.3, 0.5], replicates=100
    )


def test_published_keys(result: confide.Evaluation) -> None:
    plain = result.to_dict()
    assert plain["schema"] == "confide.evaluation/2"
    assert set(plain) == TOP_KEYS
    for model in plain["models"]:
        assert set(model) >= MODEL_KEYS
        for name in ("auc", "average_precision"):
            assert set(model[name]) == {"value", "standard_error", "interval"}
        assert set(model["aucpr"]) == set(confide.metrics.ESTIMATORS)
        for interval in (model["auc"]["interval"], model["average_precision"]["interval"]):
            assert set(interval) == {"lower", "upper", "level", "method"}
    comparison, *others = plain["comparisons"]
    assert [entry["metric"] for entry in others] == ["average_precision"]  # marker holds no probabilities
    keys = {"first", "second", "metric", "contrast", "difference", "standard_error", "z", "p_value", "interval"}
    assert set(comparison) == keys
    assert (comparison["first"], comparison["second"]) == ("risk", "marker")
    assert {"intercept", "slope"} <= set(plain["models"][0]["calibration"])
    assert [threshold["threshold"] for threshold in plain["models"][0]["thresholds"]] == [0.3, 0.5]
    assert [group["group"] for group in plain["groups"]] == ["north", "south"]


def test_scores_outside_the_unit_interval_have_no_calibration(result: confide.Evaluation) -> None:
    risk, marker = result.to_dict()["models"]
    assert all(risk[key] is not None for key in NEED_PROBABILITIES)
    assert all(marker[key] is None for key in NEED_PROBABILITIES)
    assert all(threshold["net_benefit"] is None for threshold in marker["thresholds"])


def test_every_number_of_the_tables_has_its_interval_and_method(result: confide.Evaluation) -> None:
    """The exceptions are AUCPR by other estimators, the minimum and AUCNPR, which describe the data."""
    model = result.to_dict()["models"][0]
    estimates = {name: model[name] for name in ("auc", "average_precision", *NEED_PROBABILITIES[:4])}
    estimates |= model["calibration"]
    measures = ("recall", "specificity", "precision", "negative_predictive_value", "f1", "matthews_correlation")
    for entry in (*model["thresholds"], model["youden"]):
        estimates |= {f"{name} at {entry['threshold']}": entry[name] for name in (*measures, "net_benefit")}
    estimates["youden"] = model["youden"]["chosen"]
    for name, estimate in estimates.items():
        interval = estimate["interval"]
        assert interval["lower"] <= estimate["value"] <= interval["upper"] or "bootstrap" in interval["method"], name
        assert interval["level"] == 0.95
        assert interval["method"]


def test_numbers_are_those_of_the_functions(result: confide.Evaluation) -> None:
    counts = ScoreCounts.from_arrays(LABELS, RISK)
    model = result.models[0]
    assert (result.rows, result.positives, result.negatives) == (150, LABELS.sum(), 150 - LABELS.sum())
    assert result.prevalence == pytest.approx(LABELS.mean())
    assert model.auc.value == confide.auc_score(counts)
    assert model.auc.standard_error == pytest.approx(math.sqrt(confide.intervals.delong_variance(counts)))
    assert model.auc.interval == confide.delong_interval(counts)
    assert model.average_precision.value == pytest.approx(confide.average_precision_score(counts))
    assert model.average_precision.interval == confide.intervals.logit_interval(counts)
    assert dict(model.aucpr) == {
        name: confide.aucpr_score(counts, estimator=name) for name in confide.metrics.ESTIMATORS
    }
    assert model.aucnpr == confide.metrics.aucnpr_score(counts)
    assert model.brier is not None
    assert model.calibration is not None
    assert model.calibration.slope is not None
    assert model.calibration.intercept is not None
    assert model.brier == confide.intervals.estimate(counts, "brier")
    assert model.calibration.slope.value == confide.metrics.calibration_slope(counts)
    assert model.calibration.intercept.value == confide.metrics.calibration_intercept(counts)
    assert result.comparisons[0] == confide.compare_auc(LABELS, RISK, MARKER, names=("risk", "marker"))


def test_groups_are_evaluated_as_if_alone(result: confide.Evaluation) -> None:
    for group in result.groups:
        inside = np.equal(SITE, group.group)
        alone = confide.evaluate(LABELS[inside], {"risk": RISK[inside]}, thresholds=[0.3, 0.5], replicates=0)
        assert group.models[0].to_dict() == alone.models[0].to_dict()
        assert group.rows == inside.sum()


DEGENERATE: dict[str, tuple[list[int], list[float]]] = {
    "one positive": ([1, 0, 0], [0.9, 0.1, 0.2]),
    "one of each": ([1, 0], [0.9, 0.1]),
    "separated": ([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]),
    "the wrong way": ([1, 1, 0, 0], [0.1, 0.2, 0.8, 0.9]),
    "all equal": ([0, 1, 1, 0], [0.5, 0.5, 0.5, 0.5]),
    "certain": ([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0]),
    "all zero": ([0, 1, 1, 0], [0.0, 0.0, 0.0, 0.0]),
    "all called": ([0, 1, 1, 0], [0.6, 0.7, 0.8, 0.9]),
}


@pytest.mark.parametrize("rows", DEGENERATE)
def test_degenerate_rows_give_strict_json(rows: str) -> None:
    labels, scores = DEGENERATE[rows]
    for found in (
        confide.evaluate(labels, scores, replicates=100),
        confide.evaluate(labels, {"a": scores, "b": scores[::-1]}, replicates=0),
        confide.evaluate(ScoreCounts.from_arrays(labels, scores), replicates=0),
        confide.evaluate(labels, scores, groups=["x", *["y"] * (len(labels) - 1)], replicates=0),
    ):
        text = json.dumps(found.to_dict(), allow_nan=False)
        assert json.loads(text) == found.to_dict()


def test_weights_count_as_repetitions() -> None:
    times = RNG.integers(1, 4, 150)
    weighted = confide.evaluate(LABELS, RISK, weights=times, replicates=100)
    repeated = confide.evaluate(np.repeat(LABELS, times), np.repeat(RISK, times), replicates=100)
    assert weighted.models[0].to_dict() == repeated.models[0].to_dict()
    assert (weighted.rows, weighted.positives) == (150, repeated.positives)


def test_results_are_frozen(result: confide.Evaluation) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.rows = 0  # type: ignore[misc]
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
        result.models[0].aucpr["binormal"] = 1.0  # type: ignore[index]


def test_repr_shows_no_counts(result: confide.Evaluation) -> None:
    """The counts that plots are drawn from ride along unseen."""
    assert all("counts" not in repr(model) for model in result.models)
    assert all(isinstance(model.counts, ScoreCounts) for model in result.models)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((LABELS,), "scores are needed"),
        ((LABELS, {}), "at least one model"),
        ((ScoreCounts.from_arrays([0, 1], [0.1, 0.9]), RISK), "beside a ScoreCounts"),
    ],
)
def test_wrong_calls_are_explained(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        confide.evaluate(*arguments)
