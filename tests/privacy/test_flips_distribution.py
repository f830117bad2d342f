"""Flips have exactly their probability: by the bits at its edge, and by counting draws of the operating system's bits.

Two tests draw without a seed. Each refuses right flips with a probability below 2e-7 (binomial tails at 1e-7 each,
exact), so this file raises a false alarm with a probability below 1e-6. Power: the broken twins are refused with a
probability above 0.999 at the number of draws used.
"""

# ruff: noqa: S311 - bits with a seed, so that a failure can be repeated
from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from confide.errors import ParameterError
from confide.privacy.noise.flips import PLACES, flips
from confide.privacy.queries import SYSTEM_NOISE, FlipQuery, Noise
from tests.noises import FORBIDDEN, seeded

ALARM = 1e-7
DRAWS = 400_000
PART = Fraction(1, 2**PLACES)
probabilities = st.integers(1, 2**PLACES - 1).map(lambda parts: parts * PART)


def written(*drawn: int) -> Noise:
    """Noise whose bits are these integers of 64 bits, the first for the first row."""
    together = sum(number << (PLACES * place) for place, number in enumerate(drawn))

    def bits(count: int, /) -> int:
        assert count == PLACES * len(drawn)
        return together

    return Noise(flips=lambda count, probability: flips(count, probability, bits=bits))


@given(probability=probabilities)
def test_a_row_flips_for_exactly_as_many_numbers_as_its_probability_says(probability: Fraction) -> None:
    """At the last number below the edge and at the first one on it, and at both ends."""
    edge = int(probability * 2**PLACES)
    noise = written(0, edge - 1, edge, 2**PLACES - 1)
    assert noise.flips(4, probability).tolist() == [True, True, False, False]


@given(seed=st.integers(0, 2**32), probability=probabilities, labels=st.lists(st.booleans(), max_size=40))
def test_labels_do_not_change_the_flips(seed: int, probability: Fraction, labels: list[bool]) -> None:
    values = np.array(labels, dtype=np.bool_)
    drawn = FlipQuery(values=values, probability=probability).draw(seeded(seed))
    assert (drawn ^ values).tolist() == seeded(seed).flips(len(labels), probability).tolist()


def test_each_row_takes_bits_of_its_own_whatever_the_block() -> None:
    """More rows than one block holds: the flips are those of all bits in turn."""
    rows, probability = 2**16 + 1000, Fraction(1, 4)
    drawn = flips(rows, probability, bits=random.Random(4).getrandbits)
    source = random.Random(4)
    expected: list[bool] = []
    for size in (2**16, 1000):
        whole = source.getrandbits(PLACES * size).to_bytes(8 * size, "little")
        numbers = (int.from_bytes(whole[8 * place : 8 * place + 8], "little") for place in range(size))
        expected += [number < 2 ** (PLACES - 2) for number in numbers]
    assert drawn.tolist() == expected


def test_many_draws_are_rows_of_their_own() -> None:
    query = FlipQuery(values=np.array([True, False, True]), probability=Fraction(1, 4))
    drawn = query.draw_many(5, seeded(1))
    assert drawn.shape == (5, 3)
    assert (drawn ^ query.values).reshape(-1).tolist() == seeded(1).flips(15, Fraction(1, 4)).tolist()


@pytest.mark.parametrize(
    "probability", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3, 2), Fraction(1, 3), PART / 2]
)
def test_other_probabilities_are_refused_before_bits_are_drawn(probability: Fraction) -> None:
    with pytest.raises(ParameterError, match="multiple of 2"):
        flips(3, probability)
    with pytest.raises(ParameterError, match="multiple of 2"):
        FlipQuery(values=np.array([True]), probability=probability).draw(FORBIDDEN)


def test_floats_and_labels_that_are_no_bits_are_refused() -> None:
    with pytest.raises(ParameterError, match="exact number"):
        flips(1, 0.25)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="true and false"):
        FlipQuery(values=np.array([1, 0]), probability=Fraction(1, 4))


def test_a_query_shows_no_label() -> None:
    assert "True" not in repr(FlipQuery(values=np.array([True, True]), probability=Fraction(1, 4)))


def refused(drawn: NDArray[np.bool_], probability: float) -> bool:
    """Whether flips of rows, in pairs, cannot have this probability or depend on each other."""
    pairs = drawn.reshape(-1, 2)
    unequal = 2.0 * probability * (1.0 - probability)
    counts = (
        (int(drawn.sum()), drawn.size, probability),
        (int((pairs[:, 0] ^ pairs[:, 1]).sum()), len(pairs), unequal),
    )
    return any(stats.binomtest(*count).pvalue < ALARM for count in counts)


@pytest.mark.statistical
@pytest.mark.parametrize("probability", [Fraction(1, 4), Fraction(1, 64)])
def test_the_systems_flips_have_their_probability(probability: Fraction) -> None:
    assert not refused(SYSTEM_NOISE.flips(DRAWS, probability), float(probability))


@pytest.mark.statistical
def test_flips_that_are_a_little_too_rare_or_come_in_pairs_are_refused() -> None:
    rng = random.Random(6)
    rare = flips(DRAWS, Fraction(62, 256), bits=rng.getrandbits)
    paired = np.repeat(flips(DRAWS // 2, Fraction(1, 4), bits=rng.getrandbits), 2)
    assert refused(rare, 0.25)
    assert refused(paired, 0.25)
