"""The registry of metrics over all names and faces: every face takes the names and aliases that it offers, alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import fields

import pytest

import confide
from confide.attacks.disclosure import Publication
from confide.contest.metric import ContestMetric
from confide.counts import ScoreCounts
from confide.errors import ConfideError, ParameterError
from confide.federation.coordinator.performance import Performance
from confide.metrics.names import METRIC_NAMES, Better, Face, metric_named, metric_title, names_of
from confide.metrics.registry import METRICS, get_metric
from confide.releases.confusion import CONFUSION_METRICS
from confide.releases.registry import ONLY_BY_CURVES, RELEASABLE, metrics_named

COUNTS = ScoreCounts.from_arrays([0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.2, 0.8, 0.9, 0.6, 0.3])
WIDE = ScoreCounts.from_arrays([0, 0, 1, 0, 1, 1, 0, 1], [-1, 4, 3, 2, 8, 9, 6, 3])

TAKEN: dict[Face, Callable[[str], str]] = {
    Face.EXACT: lambda name: get_metric(name).name,
    Face.RELEASE: lambda name: metrics_named(name)[0],
    Face.CONTEST: lambda name: ContestMetric.checked(name).name,
    Face.ATTACK: lambda name: Publication.parse(name).metric,
}
"""Faces that take names, and what each makes of one."""

ALIASES = [(alias, each.name) for each in METRIC_NAMES.values() for alias in each.aliases]


@pytest.mark.parametrize("face", TAKEN)
@pytest.mark.parametrize("name", METRIC_NAMES)
def test_a_face_takes_the_metrics_that_it_offers_and_no_other(name: str, face: Face) -> None:
    metric = METRIC_NAMES[name]
    for given in (name, *metric.aliases, name.upper(), name.replace("_", "-")):
        if face == Face.ATTACK and ":" in given:
            continue  # the colon begins how a number is published
        if face in metric.faces:
            assert TAKEN[face](given) == name
        else:
            with pytest.raises(ParameterError) as refused:
                TAKEN[face](given)
            assert ", ".join(names_of(face)) in str(refused.value)


def test_what_a_face_offers_it_can_do() -> None:
    assert set(METRICS) == set(names_of(Face.EXACT))
    assert {*RELEASABLE, *ONLY_BY_CURVES, *CONFUSION_METRICS} == set(names_of(Face.RELEASE))
    assert set(names_of(Face.FEDERATION)) <= {each.name for each in fields(Performance)}


def test_no_name_has_two_meanings() -> None:
    taken = Counter([*METRIC_NAMES, *(alias for alias, _ in ALIASES)])
    assert [name for name, times in taken.items() if times > 1] == []
    for each in METRIC_NAMES.values():
        assert not set(each.near) & {alias for alias, _ in ALIASES}
    titles = Counter(each.title for each in METRIC_NAMES.values())
    assert [title for title, times in titles.items() if times > 1] == []


@pytest.mark.parametrize(("alias", "name"), ALIASES)
def test_an_alias_is_understood_wherever_its_metric_is(alias: str, name: str) -> None:
    assert metric_named(alias) == name
    if name in METRICS:
        assert confide.metric_score(COUNTS, alias) == confide.metric_score(COUNTS, name)


def test_intervals_and_comparisons_understand_aliases() -> None:
    labels = [0, 0, 1, 0, 1, 1, 0, 1] * 3
    scores = {"a": [0.1, 0.4, 0.35, 0.2, 0.8, 0.9, 0.6, 0.3] * 3, "b": [0.2, 0.3, 0.4, 0.1, 0.7, 0.8, 0.5, 0.9] * 3}
    for alias, name in (("sensitivity", "recall"), ("roc_auc", "auc"), ("ap", "average_precision")):
        assert confide.intervals.estimate(COUNTS, alias) == confide.intervals.estimate(COUNTS, name)
        compared = [confide.intervals.compare_models(labels, scores, one, rng=1) for one in (alias, name)]
        assert compared[0] == compared[1]


@pytest.mark.parametrize("name", METRICS)
def test_needs_are_those_of_the_function(name: str) -> None:
    metric, facts = METRICS[name], METRIC_NAMES[name]
    assert facts.threshold == ("threshold" in metric.options)
    assert metric.higher_is_better is facts.higher_is_better
    if facts.probabilities:
        with pytest.raises(ConfideError):
            metric(WIDE)
    else:
        metric(WIDE)


def test_a_name_that_may_mean_two_metrics_is_refused_with_a_hint() -> None:
    for face, name, meant in (
        (Face.CONTEST, "roc", "auc"),
        (Face.CONTEST, "aucpr", "average_precision"),
        (Face.RELEASE, "pr_auc", "average_precision"),
        (Face.EXACT, "prauc", "average_precision"),
    ):
        with pytest.raises(ParameterError, match=f"Did you mean '{meant}'"):
            TAKEN[face](name)


def test_titles_begin_and_continue_sentences() -> None:
    assert (metric_title("f1"), metric_title("matthews_correlation")) == ("F1", "Matthews correlation")
    assert METRIC_NAMES["brier"].heading == "Brier score"
    assert METRIC_NAMES["log_loss"].heading == "Log loss"
    assert METRIC_NAMES["recall"].row == "recall (sensitivity)"
    assert {each.better for each in METRIC_NAMES.values()} == set(Better)
