"""Evaluation has an answer for scores of any kind: tiny gaps, huge or tiny sizes, few distinct ones, constants."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import confide

PLACES = (0.0, 5e-324, 1e-310, 1e-300, 1e-17, 1e-7, 1e-6, 0.1, 0.3, 0.5, 0.7, 1 - 1e-6, 1 - 1e-7, 1.0)
OUTSIDE = (-1e308, -1.0, -1e-320, 1.5, 1e16, 1e300, 1e308)


def nearby(place: float, steps: int) -> float:
    """Move by some of the smallest steps that floats have."""
    for _ in range(abs(steps)):
        place = math.nextafter(place, math.inf if steps > 0 else -math.inf)
    return place


def scores_of(places: tuple[float, ...]) -> st.SearchStrategy[list[float]]:
    """Draw lists of up to 30 scores, of few distinct ones within rounding of some places, or with tiny gaps."""
    rounded = st.builds(nearby, st.sampled_from(places), st.integers(-3, 3))
    shifted = st.builds(
        lambda place, exponent: place + math.copysign(10.0**exponent, 0.5 - place),
        st.sampled_from(places),
        st.floats(-18.0, -1.0),
    )
    few = st.lists(st.one_of(rounded, shifted), min_size=1, max_size=12)
    return few.flatmap(lambda some: st.lists(st.sampled_from(some), min_size=4, max_size=30))


def probabilities() -> st.SearchStrategy[list[float]]:
    return scores_of(PLACES).map(lambda scores: [min(max(score, 0.0), 1.0) for score in scores])


def numbers(value: Any) -> Iterator[float]:
    """Yield every number of a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, float):
        yield value


def check(scores: list[float]) -> None:
    """Evaluate: nothing fails or warns, and every number that is shown is a number."""
    labels = np.arange(len(scores)) % 3 == 0
    found = confide.evaluate(labels, np.array(scores)).to_dict()
    assert all(math.isfinite(number) for number in numbers(found))


@pytest.mark.long
@given(probabilities())
@example([0.1, 0.10000000000000002, 0.3, 0.30000000000000004] * 3)
@example([1e-6, 1e-6 * (1 + 1e-15), 1 - 1e-6, 1 - 1.000000001e-6])
@example([0.1, 0.10000000000000002] * 2)
@example([5e-324, 0.0, 0.0, 0.0])
@example([0.3] * 6)
def test_probabilities(scores: list[float]) -> None:
    check(scores)


@pytest.mark.long
@given(scores_of(PLACES + OUTSIDE))
@example([1e308, 1.0000000000000002e308, -1e308, 0.0])
@example([5e-324, 0.0, -5e-324, 5e-324])
def test_scores_of_any_size(scores: list[float]) -> None:
    check(scores)
