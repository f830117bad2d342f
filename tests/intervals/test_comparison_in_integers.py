"""Paired DeLong comparisons of whole rows in exact integers, against the sums of floating-point placements."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from confide.intervals.comparison import compare_aucs, compare_components
from confide.intervals.differences import compare_models
from confide.intervals.influence import linearise
from confide.intervals.placements import placements
from confide.sources.arrays import code_checked
from confide.sources.rows import CodedScores


def rows(size: int, models: int, digits: int | None, seed: int = 1) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    labels = rng.random(size) < 0.3
    shared = rng.standard_normal(size) + labels
    scores = {f"m{i}": shared + 0.5 * i * rng.standard_normal(size) for i in range(models)}
    return labels, scores if digits is None else {name: each.round(digits) for name, each in scores.items()}


@pytest.mark.few(1)
@pytest.mark.parametrize("size", [20, 300, 40_000])
@pytest.mark.parametrize("models", [2, 4])
@pytest.mark.parametrize("digits", [None, 1])
def test_integers_agree_with_floats(size: int, models: int, digits: int | None) -> None:
    labels, scores = rows(size, models, digits)
    found = compare_aucs(labels, scores)
    slow = compare_components(
        placements(labels, list(scores.values())), list(scores), level=0.95, method="paired DeLong"
    )
    np.testing.assert_allclose(found.aucs, slow.aucs, rtol=1e-13)
    np.testing.assert_allclose(found.covariance, slow.covariance, rtol=1e-9)
    assert found.degrees_of_freedom == slow.degrees_of_freedom
    assert found.chi_squared == pytest.approx(slow.chi_squared, rel=1e-8)
    for ours, theirs in zip(found.differences, slow.differences, strict=True):
        assert ours.standard_error == pytest.approx(theirs.standard_error, rel=1e-9)
        assert ours.p_value == pytest.approx(theirs.p_value, rel=1e-7, abs=1e-300)


def test_variance_by_the_formula_in_fractions() -> None:
    labels, scores = rows(60, 2, 1)
    first, second = scores.values()

    def kernel(x: float, y: float) -> Fraction:
        return Fraction(int(x > y) * 2 + int(x == y), 2)

    n, m = int(labels.sum()), int((~labels).sum())
    gain = [
        [kernel(a, c) - kernel(b, d) for c, d in zip(first[~labels], second[~labels], strict=True)]
        for a, b in zip(first[labels], second[labels], strict=True)
    ]
    of_positives = [sum(line) / m for line in gain]
    of_negatives = [sum(column) / n for column in zip(*gain, strict=True)]
    mean = sum(of_positives) / n
    variance = sum((v - mean) ** 2 for v in of_positives) / (n - 1) / n
    variance += sum((v - mean) ** 2 for v in of_negatives) / (m - 1) / m
    found = compare_aucs(labels, scores).differences[0]
    assert found.difference == pytest.approx(float(mean), rel=1e-14)
    assert found.standard_error == pytest.approx(float(variance) ** 0.5, rel=1e-14)


def test_one_exchanged_pair_has_the_exact_variance() -> None:
    labels, scores = rows(100_000, 1, None)
    second = scores["m0"].copy()
    second[[0, 1]] = second[[1, 0]]
    found = compare_aucs(labels, {"a": scores["m0"], "b": second}).differences[0]
    assert 0.0 < found.standard_error < 1e-4
    again = compare_aucs(labels[::-1], {"a": scores["m0"][::-1], "b": second[::-1]}).differences[0]
    assert (again.difference, again.standard_error) == (found.difference, found.standard_error)


def test_equal_scores_have_no_difference() -> None:
    labels, scores = rows(1_000, 1, None)
    found = compare_aucs(labels, {"a": scores["m0"], "b": np.exp(scores["m0"])}).differences[0]
    assert (found.difference, found.p_value) == (0.0, 1.0)


@pytest.mark.parametrize("digits", [None, 1])
def test_coded_scores_give_the_same_average_precision(digits: int | None) -> None:
    labels, scores = rows(3_000, 2, digits)
    coded = CodedScores(*code_checked(labels, scores["m1"]))
    plain, fast = (linearise("average_precision", labels, scores["m1"], None, each) for each in (None, coded))
    assert fast.value == pytest.approx(plain.value, rel=1e-14)
    np.testing.assert_allclose(fast.influence, plain.influence, rtol=1e-12, atol=1e-18)
    assert compare_models(labels, scores, "average_precision")[0].standard_error > 0.0
