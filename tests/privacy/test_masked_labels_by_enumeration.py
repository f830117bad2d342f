"""Masked labels keep their promise: by the exact probability of every outcome, and against mpmath for many epsilons."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from confide.errors import LabelError, ParameterError
from confide.privacy.mechanisms.masked_labels import flip_probability, masked_labels
from confide.privacy.noise.flips import PLACES
from confide.privacy.noise.reals import lower_exponential, upper_exponential
from confide.privacy.queries import Noise

EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(2), Fraction(7, 2))
PART = Fraction(1, 2**PLACES)

Labels = tuple[bool, ...]
Law = dict[Labels, Fraction]


def given_flips(pattern: Labels, count: int, probability: Fraction) -> NDArray[np.bool_]:
    assert count == len(pattern)
    return np.array(pattern, dtype=np.bool_)


def law(labels: Labels, epsilon: Fraction) -> Law:
    """The probability of every mask, by giving the mechanism every pattern of flips with its exact probability."""
    query = masked_labels(np.array(labels, dtype=np.bool_), epsilon)
    found: Law = {}
    for pattern in product((False, True), repeat=len(labels)):
        noise = Noise(flips=partial(given_flips, pattern))
        chance = Fraction(1)
        for flipped in pattern:
            chance *= query.probability if flipped else 1 - query.probability
        mask = tuple(query.draw(noise).tolist())
        found[mask] = found.get(mask, Fraction(0)) + chance
    return found


def neighbours(labels: Labels) -> Iterator[Labels]:
    for place in range(len(labels)):
        yield (*labels[:place], not labels[place], *labels[place + 1 :])


def largest_ratio(first: Law, second: Law) -> Fraction:
    assert first.keys() == second.keys()
    return max(first[mask] / second[mask] for mask in first)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_no_outcome_is_likelier_than_epsilon_allows(rows: int, epsilon: Fraction) -> None:
    """For all labels, all neighbours and all outcomes; and the bound is attained but for 2^-50."""
    laws = {labels: law(labels, epsilon) for labels in product((False, True), repeat=rows)}
    for labels, chances in laws.items():
        assert sum(chances.values()) == 1
        for other in neighbours(labels):
            ratio = largest_ratio(chances, laws[other])
            assert ratio <= lower_exponential(epsilon)
            assert ratio * (1 + Fraction(1, 2**50)) > upper_exponential(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_two_masks_of_one_charge_break_the_promise(epsilon: Fraction) -> None:
    """The broken twin: the ratio of two masks is the square, which is above what one charge allows."""
    ratio = largest_ratio(law((True,), epsilon), law((False,), epsilon))
    assert ratio**2 > upper_exponential(epsilon)
    assert ratio**2 <= lower_exponential(2 * epsilon)


@given(epsilon=st.fractions(Fraction(1, 10**6), 60) | st.integers(61, 10**6).map(Fraction))
@example(epsilon=Fraction(1, 10**6))
@example(epsilon=Fraction(44361419555836498, 10**15))  # where 1 / (1 + exp(epsilon)) passes 2^-64
@example(epsilon=Fraction(45))
def test_the_probability_is_the_least_multiple_that_suffices(epsilon: Fraction) -> None:
    probability = flip_probability(epsilon)
    with mpmath.workprec(600):
        needed = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator))
        parts = probability * 2**PLACES
        assert parts.denominator == 1
        assert parts >= needed * mpmath.mpf(2) ** PLACES > parts - 1
    assert probability < Fraction(1, 2)


def test_an_epsilon_that_is_no_exact_positive_number_is_refused() -> None:
    for epsilon in (Fraction(0), Fraction(-1)):
        with pytest.raises(ParameterError, match="greater than 0"):
            flip_probability(epsilon)
    with pytest.raises(ParameterError, match="exact number"):
        flip_probability(1.0)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="tell nothing"):
        flip_probability(Fraction(1, 2**70))


@pytest.mark.parametrize("labels", [[True], np.array([1, 0]), np.array([[True]]), np.array(["yes"])])
def test_labels_that_are_no_bits_are_refused_and_not_shown(labels: object) -> None:
    with pytest.raises(LabelError, match="true and false") as refusal:
        masked_labels(labels, Fraction(1))  # type: ignore[arg-type]
    assert "yes" not in str(refusal.value)
