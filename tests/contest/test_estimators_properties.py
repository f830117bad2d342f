"""Scores of entries: invariances, ranges, and what they say where nothing is known."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.contest.estimators import EntryScore, metric_values, ratio_form, score_entry
from confide.contest.forms import metric_range
from confide.contest.labels import MaskedLabels
from confide.contest.metric import ContestMetric
from confide.counts import FloatArray
from tests.contest.small_contests import METRICS, unmasked

AUC = ContestMetric.checked("auc")
per_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)

flips = st.sampled_from([Fraction(0), Fraction(1, 100), Fraction(1, 4), Fraction(49, 100)])


@st.composite
def contests(draw: st.DrawFn) -> tuple[FloatArray, MaskedLabels]:
    """Draw scores with ties, and masked labels of any kind: also of one class, and with hopeless noise."""
    rows = draw(st.integers(2, 40))
    scores = draw(st.lists(st.integers(0, 16), min_size=rows, max_size=rows))
    bits = draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
    return np.array(scores) / 16.0, MaskedLabels(np.array(bits), draw(flips))


def numbers(score: EntryScore) -> list[float]:
    return [
        score.value,
        score.sample.lower,
        score.sample.upper,
        score.population.lower,
        score.population.upper,
        score.standard_error,
    ]


@given(contest=contests(), metric=st.sampled_from(METRICS))
def test_intervals_are_never_empty_and_stay_in_the_range(
    contest: tuple[FloatArray, MaskedLabels], metric: ContestMetric
) -> None:
    scores, labels = contest
    score = score_entry(metric, scores, labels)
    low, high = metric_range(metric)
    assert all(math.isfinite(number) for number in numbers(score))
    for interval in (score.sample, score.population):
        assert low <= interval.lower <= score.value <= interval.upper <= high
    assert np.isfinite(score.influence.astype(np.float32)).all()
    assert abs(score.influence.mean()) <= 1e-9 * max(np.abs(score.influence).max(), 1.0)
    assert score.standard_error == pytest.approx(np.sqrt((score.influence**2).sum()) / len(labels))


@given(contest=contests(), metric=st.sampled_from(METRICS), seed=st.integers(0, 9))
def test_the_order_of_rows_does_not_matter(
    contest: tuple[FloatArray, MaskedLabels], metric: ContestMetric, seed: int
) -> None:
    scores, labels = contest
    order = np.random.default_rng(seed).permutation(len(labels))
    score = score_entry(metric, scores, labels)
    moved = score_entry(metric, scores[order], MaskedLabels(labels.bits[order], labels.flip))
    assert numbers(moved) == pytest.approx(numbers(score), rel=1e-9, abs=1e-9)
    scale = max(float(np.abs(score.influence).max()), 1.0)
    assert moved.influence == pytest.approx(score.influence[order], rel=1e-9, abs=1e-9 * scale)


@given(contest=contests())
def test_metrics_of_ranking_do_not_depend_on_the_scale_of_scores(contest: tuple[FloatArray, MaskedLabels]) -> None:
    scores, labels = contest
    for name in ("auc", "average_precision"):
        metric = ContestMetric.checked(name)
        assert numbers(score_entry(metric, 1e3 * scores**3 - 7.0, labels)) == numbers(
            score_entry(metric, scores, labels)
        )


@given(contest=contests())
def test_auc_of_reversed_scores_is_the_complement(contest: tuple[FloatArray, MaskedLabels]) -> None:
    scores, labels = contest
    one, two = score_entry(AUC, scores, labels), score_entry(AUC, -scores, labels)
    if ratio_form(AUC, scores, labels).denominator >= len(labels) - 1.0:
        assert two.value == pytest.approx(1.0 - one.value)
        assert two.population.lower == pytest.approx(1.0 - one.population.upper)
        assert two.sample.upper == pytest.approx(1.0 - one.sample.lower)


@given(contest=contests(), metric=st.sampled_from(METRICS))
def test_values_against_several_maskings_are_those_of_the_forms(
    contest: tuple[FloatArray, MaskedLabels], metric: ContestMetric
) -> None:
    scores, labels = contest
    several = [labels, MaskedLabels(~labels.bits, labels.flip), unmasked(labels.bits)]
    expected = [ratio_form(metric, scores, one).value for one in several]
    assert metric_values(metric, scores, several) == pytest.approx(expected, abs=1e-12)


@per_metric
def test_without_masking_the_sample_is_known(metric: ContestMetric) -> None:
    labels = unmasked(np.arange(50) % 3 == 0)
    score = score_entry(metric, np.linspace(0.0, 1.0, 50), labels)
    assert score.sample.width <= 1e-7
    assert score.population.width > 0.01


@pytest.mark.parametrize("name", ["auc", "average_precision", "recall", "balanced_accuracy"])
def test_nothing_is_known_with_hopeless_noise(name: str) -> None:
    generator = np.random.default_rng(3)
    labels = MaskedLabels(generator.random(200) < 0.5, Fraction(499, 1000))
    score = score_entry(ContestMetric.checked(name), generator.random(200), labels)
    for interval in (score.sample, score.population):
        assert interval.width > 0.99


def test_a_perfect_entry_is_not_known_to_be_perfect_in_the_population() -> None:
    """The interval reaches as far as one more row could move the value: no row disagreed, but few were seen."""
    labels = unmasked(np.arange(40) >= 20)
    score = score_entry(AUC, np.arange(40.0), labels)
    assert score.value == 1.0
    assert score.sample.lower == pytest.approx(1.0)
    assert score.population.lower == pytest.approx(1.0 - 1.96 / 20, abs=1e-3)


def test_a_higher_level_gives_wider_intervals() -> None:
    generator = np.random.default_rng(4)
    labels = MaskedLabels(generator.random(500) < 0.4, Fraction(1, 8))
    narrow, wide = (score_entry(AUC, generator.random(500), labels, level=level) for level in (0.8, 0.99))
    assert wide.sample.width > narrow.sample.width
    assert wide.population.width > narrow.population.width
    assert wide.to_dict()["population"]["level"] == 0.99
