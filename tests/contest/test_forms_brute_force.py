"""Forms of every metric, against every label vector and every mask of small inputs with ties."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from confide.contest.estimators import RatioForm, ratio_form
from confide.contest.forms import LinearForm, checked_scores, linear_coefficients, metric_range
from confide.contest.labels import MaskedLabels
from confide.contest.metric import ContestMetric
from confide.counts import FloatArray
from confide.errors import ParameterError
from tests.contest.small_contests import (
    METRICS,
    SCORES,
    Bits,
    all_bits,
    has_value,
    scikit_learn_value,
    unmasked,
)

LINEAR = tuple(metric for metric in METRICS if metric.kind.linear)
QUARTER = Fraction(1, 4)
MASKED_SCORES = SCORES[:3] + SCORES[4:]  # at most 8 rows: 2^16 pairs of labels and masks

per_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
per_scores = pytest.mark.parametrize("scores", [np.array(one) for one in SCORES], ids=lambda one: f"{one.size} rows")


@per_scores
def test_the_linear_form_counts_the_pairs(scores: FloatArray) -> None:
    coefficients = linear_coefficients(ContestMetric.checked("auc"), scores).coefficients
    signs = np.sign(scores[:, None] - scores[None, :]).astype(int)
    for labels in all_bits(scores.size):
        assert coefficients[labels].sum() == signs[np.ix_(labels, ~labels)].sum()


@pytest.mark.few(1)
@per_scores
@per_metric
def test_forms_give_scikit_learns_values(metric: ContestMetric, scores: FloatArray) -> None:
    """Coefficients of the linear forms of Brier score and log loss are rounded to multiples of 2^-20."""
    linear = linear_coefficients(metric, scores) if metric.kind.linear else None
    for labels in all_bits(scores.size):
        if not has_value(metric, labels, scores):
            continue
        expected = scikit_learn_value(metric, labels, scores)
        form = ratio_form(metric, scores, unmasked(labels))
        assert form.numerator / form.denominator == pytest.approx(expected, abs=1e-12)
        if linear is not None:
            total = float(linear.coefficients[labels].sum())
            value = linear.value_of(total, float(labels.sum()), scores.size)
            assert value == pytest.approx(expected, abs=1e-12 if linear.unit == 1.0 else 5e-7)


def masked_forms(metric: ContestMetric, scores: FloatArray) -> dict[bytes, RatioForm]:
    """Return the form for every mask."""
    return {bits.tobytes(): ratio_form(metric, scores, MaskedLabels(bits, QUARTER)) for bits in all_bits(scores.size)}


def mean_over_masks(labels: Bits, forms: dict[bytes, RatioForm], part: Callable[[RatioForm], float]) -> float:
    """Return the expectation over all masks, each with its probability."""
    total = 0.0
    for bits in all_bits(labels.size):
        flips = int((bits ^ labels).sum())
        total += 0.25**flips * 0.75 ** (labels.size - flips) * part(forms[bits.tobytes()])
    return total


@pytest.mark.parametrize("scores", [np.array(one) for one in MASKED_SCORES], ids=lambda one: f"{one.size} rows")
@per_metric
def test_numerator_and_denominator_are_unbiased_over_all_masks(metric: ContestMetric, scores: FloatArray) -> None:
    forms = masked_forms(metric, scores)
    every = 1 if scores.size < 8 else 16
    for labels in list(all_bits(scores.size))[::-every]:
        exact = ratio_form(metric, scores, unmasked(labels))
        assert mean_over_masks(labels, forms, lambda form: form.numerator) == pytest.approx(exact.numerator, abs=1e-12)
        assert mean_over_masks(labels, forms, lambda form: form.denominator) == pytest.approx(
            exact.denominator, abs=1e-12
        )


def test_plain_substitution_would_be_biased() -> None:
    """The twin that keeps squares of z is rejected: the enumeration above is not blind."""
    scores = np.array(SCORES[2])
    metric, labels = ContestMetric.checked("auc"), scores > 0.4
    forms = masked_forms(metric, scores)
    squares = scores.size * MaskedLabels(labels, QUARTER).noise_variance
    pairs = mean_over_masks(labels, forms, lambda form: form.denominator - squares)
    assert abs(pairs - labels.sum() * (~labels).sum()) > 1.0


@per_scores
@per_metric
def test_gradients_are_those_of_multilinear_forms(metric: ContestMetric, scores: FloatArray) -> None:
    """Flipping bit i moves z_i by 1 / (1 - 2q) = 2, and a multilinear form by its gradient times that."""
    generator = np.random.default_rng(1)
    for bits in list(all_bits(scores.size))[:: max(2**scores.size // 16, 1)]:
        form = ratio_form(metric, scores, MaskedLabels(bits, QUARTER))
        gradient, below = (form.in_rows(np.array(part)) for part in form.gradient)
        row = int(generator.integers(scores.size))
        bits[row] = not bits[row]
        moved = ratio_form(metric, scores, MaskedLabels(bits, QUARTER))
        step = 2.0 if bits[row] else -2.0
        assert moved.numerator - form.numerator == pytest.approx(step * gradient[row], abs=1e-12)
        assert moved.denominator - form.denominator == pytest.approx(step * below[row], abs=1e-12)


def weighted_precision(labels: Bits, scores: FloatArray, weights: FloatArray) -> float:
    """Return the numerator of average precision where each row counts with a weight."""
    at_least = scores[None, :] >= scores[:, None]
    positives, rows = at_least @ (weights * labels), at_least @ weights
    return float((weights * labels * positives / rows).sum())


@per_scores
def test_projections_of_average_precision_are_derivatives_in_the_weights_of_rows(scores: FloatArray) -> None:
    metric = ContestMetric.checked("average_precision")
    for labels in list(all_bits(scores.size))[:: max(2**scores.size // 16, 1)]:
        form = ratio_form(metric, scores, unmasked(labels))
        found = form.in_rows(form.projection[0])
        for row in range(scores.size):
            step = 1e-6 * np.eye(scores.size)[row]
            slope = (
                weighted_precision(labels, scores, 1.0 + step) - weighted_precision(labels, scores, 1.0 - step)
            ) / 2e-6
            assert found[row] == pytest.approx(slope, abs=1e-8)


@per_scores
@pytest.mark.parametrize("name", ["auc", "balanced_accuracy"])
def test_projections_of_pairs_are_sums_over_partners(name: str, scores: FloatArray) -> None:
    metric = ContestMetric.checked(name)
    ranked = (scores >= 0.5).astype(float) if name == "balanced_accuracy" else scores
    wins = (1.0 + np.sign(ranked[:, None] - ranked[None, :])) / 2.0
    for bits in list(all_bits(scores.size))[:: max(2**scores.size // 16, 1)]:
        masked = MaskedLabels(bits, QUARTER)
        z = masked.debiased
        pairs = z[:, None] * (1.0 - z[None, :]) * (1.0 - np.eye(z.size))
        form = ratio_form(metric, scores, masked)
        above, below = (form.in_rows(part) for part in form.projection)
        assert above == pytest.approx((pairs * wins).sum(1) + (pairs * wins).sum(0), abs=1e-12)
        assert below == pytest.approx(pairs.sum(1) + pairs.sum(0), abs=1e-12)


@per_metric
def test_projections_add_up_to_the_form(metric: ContestMetric) -> None:
    scores = np.array(SCORES[3])
    degree = 2.0 if metric.name in {"auc", "balanced_accuracy"} else 1.0
    for bits in list(all_bits(scores.size))[::37]:
        form = ratio_form(metric, scores, MaskedLabels(bits, QUARTER))
        assert form.projection[0].sum() == pytest.approx(degree * form.numerator, abs=1e-10)
        assert form.projection[1].sum() == pytest.approx(degree * form.denominator, abs=1e-10)


@pytest.mark.parametrize("metric", LINEAR, ids=lambda metric: metric.name)
def test_derivatives_of_linear_forms(metric: ContestMetric) -> None:
    form = linear_coefficients(metric, np.array(SCORES[2]))
    total, positives = 0.3 / form.unit, 3.4
    by_total, by_positives = form.derivatives(total, positives, 8)

    def ratio(total: float, positives: float) -> float:
        return LinearForm._ratio(form, total, positives, 8)

    assert by_total * 1e-4 / form.unit == pytest.approx(
        (ratio(total + 5e-5 / form.unit, positives) - ratio(total - 5e-5 / form.unit, positives)), rel=1e-4
    )
    assert by_positives * 1e-4 == pytest.approx(
        ratio(total, positives + 5e-5) - ratio(total, positives - 5e-5), rel=1e-4, abs=1e-12
    )


@pytest.mark.parametrize("metric", LINEAR, ids=lambda metric: metric.name)
@pytest.mark.parametrize("positives", [-3.0, 0.0, 8.0, 20.0])
def test_linear_forms_survive_impossible_class_sizes(metric: ContestMetric, positives: float) -> None:
    form = linear_coefficients(metric, np.array(SCORES[2]))
    low, high = metric_range(metric)
    value = form.value_of(1e9, positives, 8)
    assert low <= value <= high
    assert np.isfinite(form.derivatives(10.0, positives, 8)).all()
    assert form.sampling_variance(value, positives, 8) >= 0.0


def test_average_precision_is_no_linear_form() -> None:
    with pytest.raises(ParameterError, match="use the masked final"):
        linear_coefficients(ContestMetric.checked("average_precision"), np.array([0.1, 0.2]))


@pytest.mark.parametrize(
    ("scores", "message"),
    [([0.1, np.nan], "finite"), ([0.1, np.inf], "finite"), ([0.1], "one column of 2"), ([0.1, 1.1], "probabilities")],
)
def test_scores_that_cannot_be_scored_are_refused(scores: list[float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        checked_scores(ContestMetric.checked("brier"), np.array(scores), 2)
