"""`evaluate` of arrays on a device: the host's numbers, or numbers within the error that the result states."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import confide
from confide.sources import device_rows
from tests.devices import DEVICES, Move, device_library

RNG = np.random.default_rng(8)
SIZE = 4_000
LABELS = RNG.random(SIZE) < 0.3
RISKS = 1 / (1 + np.exp(1 - RNG.standard_normal(SIZE) - LABELS))
ERROR = 0.01


@pytest.fixture(params=DEVICES)
def move(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Move:
    return device_library(request.param, monkeypatch)


@pytest.fixture
def thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thin what is small."""
    monkeypatch.setattr(device_rows, "MOST_SCORES", 100)
    monkeypatch.setattr(device_rows, "CURVE_ERROR", ERROR)


def plain(evaluation: confide.Evaluation) -> dict[str, Any]:
    return {name: part for name, part in evaluation.to_dict().items() if name != "provenance"}


def values(part: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the values of estimates, without their intervals."""
    if isinstance(part, dict):
        for name, inner in part.items():
            if name not in ("interval", "standard_error", "chosen", "provenance"):
                yield from values(inner, f"{path}/{name}")
    elif isinstance(part, list):
        for place, inner in enumerate(part):
            yield from values(inner, f"{path}/{place}")
    elif isinstance(part, float) and math.isfinite(part):
        yield path, part


def test_few_scores_give_the_hosts_evaluation(move: Move) -> None:
    options: dict[str, Any] = {"specificity": (0.9, 1.0), "cost_ratio": 3.0, "replicates": 100}
    found = confide.evaluate(move(LABELS), move(RISKS), **options)
    assert plain(found) == plain(confide.evaluate(LABELS, RISKS, **options))


@pytest.mark.usefixtures("thinned")
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_many_scores_rank_by_all_rows(move: Move, kind: type) -> None:
    scores: Any = RISKS.astype(kind)
    found = confide.evaluate(move(LABELS), move(scores), replicates=0, thresholds=[0.2, 0.5]).models[0]
    expected = confide.evaluate(LABELS, scores, replicates=0, thresholds=[0.2, 0.5]).models[0]
    assert len(found.counts) < len(expected.counts) / 3
    assert found.auc.value == expected.auc.value
    assert found.auc.standard_error == pytest.approx(expected.auc.standard_error, rel=1e-12)
    assert found.average_precision.value == pytest.approx(expected.average_precision.value, rel=1e-12)
    for end in ("lower", "upper"):
        ours, theirs = (getattr(one.average_precision.known_interval, end) for one in (found, expected))
        assert ours == pytest.approx(theirs, rel=1e-12)
    assert found.aucpr["average_precision"] == found.average_precision.value
    assert found.aucnpr == pytest.approx(expected.aucnpr, rel=1e-12)
    assert found.thresholds == expected.thresholds or kind is np.float32
    assert [each.matrix for each in found.thresholds] == [each.matrix for each in expected.thresholds]


@pytest.mark.usefixtures("thinned")
def test_other_numbers_are_within_the_stated_error(move: Move) -> None:
    options: dict[str, Any] = {"replicates": 0, "specificity": (0.8, 1.0), "sensitivity": (0.7, 0.9)}
    found = confide.evaluate(move(LABELS), move(RISKS), **options)
    host = confide.evaluate(LABELS, RISKS, **options)
    expected = dict(values(host.to_dict()))
    statement = found.assumptions[-1]
    assert f"every rate is within {ERROR:.5f}" in statement
    compared = 0
    for path, value in values(found.to_dict()):
        if "likelihood" in path or "youden/" in path:  # unbounded; measures of the threshold that was chosen
            continue
        assert value == pytest.approx(expected[path], abs=2 * ERROR), path
        compared += 1
    assert compared > 30
    indices = [
        each.models[0].youden.at.measures["recall"].value + each.models[0].youden.at.measures["specificity"].value
        for each in (found, host)
    ]
    assert indices[0] == pytest.approx(indices[1], abs=2 * ERROR)


@pytest.mark.usefixtures("thinned")
def test_the_curve_is_never_further_away_than_stated(move: Move) -> None:
    found = confide.evaluate(move(LABELS), move(RISKS), replicates=0).models[0].counts
    whole = confide.roc_curve(LABELS, RISKS)
    thin = confide.roc_curve(found)
    at = np.interp(whole.false_positive_rate, thin.false_positive_rate, thin.true_positive_rate)
    below = np.interp(whole.false_positive_rate - ERROR, thin.false_positive_rate, thin.true_positive_rate)
    above = np.interp(whole.false_positive_rate + ERROR, thin.false_positive_rate, thin.true_positive_rate)
    assert (whole.true_positive_rate >= below - ERROR).all()
    assert (whole.true_positive_rate <= above + ERROR).all()
    assert np.abs(at - whole.true_positive_rate).max() < 3 * ERROR


@pytest.mark.few(1)
@pytest.mark.usefixtures("thinned")
@pytest.mark.parametrize("interval", ["plain", "logit", "bootstrap"])
def test_intervals_are_the_requested_ones(move: Move, interval: str) -> None:
    options: dict[str, Any] = {"interval": interval, "replicates": 200}
    found = confide.evaluate(move(LABELS), move(RISKS), **options).models[0]
    expected = confide.evaluate(LABELS, RISKS, **options).models[0]
    assert found.auc.known_interval.method == expected.auc.known_interval.method
    for ours, theirs in ((found.auc, expected.auc), (found.average_precision, expected.average_precision)):
        assert ours.value == pytest.approx(theirs.value, rel=1e-12)
        width = theirs.known_interval.width
        assert ours.known_interval.lower == pytest.approx(theirs.known_interval.lower, abs=0.3 * width)
        assert ours.known_interval.upper == pytest.approx(theirs.known_interval.upper, abs=0.3 * width)


@pytest.mark.usefixtures("thinned")
def test_separated_classes_are_recognised(move: Move) -> None:
    scores = LABELS + RISKS / 2
    found = confide.evaluate(move(LABELS), move(scores), replicates=0)
    assert found.models[0].auc.value == 1.0
    assert any("separates the classes" in each for each in found.warnings)


@pytest.mark.usefixtures("thinned")
def test_scores_of_zero_and_one_keep_their_meaning(move: Move) -> None:
    scores = np.where(np.arange(SIZE) < 3, 1.0, RISKS)
    found, expected = (
        confide.evaluate(*rows, replicates=0) for rows in ((move(LABELS), move(scores)), (LABELS, scores))
    )
    assert found.models[0].calibration is not None
    assert found.models[0].calibration.slope is None
    assert found.warnings == expected.warnings


def test_designs_and_several_models_are_evaluated_on_the_host(move: Move) -> None:
    groups, clusters = RNG.integers(0, 2, SIZE), RNG.integers(0, 300, SIZE)
    other = RISKS[::-1].copy()
    for ours, theirs in (
        ({"scores": {"a": move(RISKS), "b": move(other)}}, {"scores": {"a": RISKS, "b": other}}),
        ({"scores": move(RISKS), "groups": move(groups)}, {"scores": RISKS, "groups": groups}),
        ({"scores": move(RISKS), "clusters": move(clusters)}, {"scores": RISKS, "clusters": clusters}),
        ({"scores": move(RISKS), "weights": move(groups + 1)}, {"scores": RISKS, "weights": groups + 1}),
        ({"scores": move(RISKS), "missing": "drop"}, {"scores": RISKS, "missing": "drop"}),
    ):
        found = confide.evaluate(move(LABELS), **ours, replicates=0)
        assert plain(found) == plain(confide.evaluate(LABELS, **theirs, replicates=0))


def test_swapped_arrays_are_noticed(move: Move) -> None:
    with pytest.raises(confide.ConfideError, match="look swapped"):
        confide.evaluate(move(RISKS), move(LABELS))
