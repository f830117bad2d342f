"""The exponential mechanism chooses with the probabilities it says, and the same test refuses choices that do not.

The test: Pearson's chi-square over the candidates against the exact probabilities, refused at the rate `ALARM`.
Every candidate is expected 200 times or more, or never. The distribution is an approximation: of 200,000 right
samples of each case it refused 0.93 to 1.10 times as many as it should at the rates 1e-1, 1e-2 and 1e-3. Two tests
of right choices have no seed: a run of this file raises a false alarm with a probability of about 2e-7. The others
draw bits with fixed seeds, and always pass or always fail.

Power: a rate wrong by a sixth is refused with a probability above 0.99 (20,000 simulated samples of each case).
"""

# ruff: noqa: S311 - bits with a seed, so that a failure can be repeated
from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from confide.errors import ConfideError, ParameterError
from confide.privacy.noise.choice import exponential_choice

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ALARM = 1e-7
DRAWS = 8_000

CASES = {
    "one dearer than the other": ([0, 3, 1, 2, 5], Fraction(1, 2), None),
    "negative costs": ([-7, -5, -6], Fraction(3, 4), None),
    "all equal": ([4, 4, 4, 4], Fraction(9), None),
    "classes of many": ([2, 0, 2, 1, 1, 2, 0, 2, 2], Fraction(1), None),
    "multiplicities": ([0, 2, 2, 5], Fraction(2, 3), [3, 1, 6, 40]),
    "no rate": ([0, 10**15, 3], Fraction(0), [1, 2, 3]),
    "a small rate": ([0, 10**6, 10**6, 3 * 10**6], Fraction(1, 10**6), None),
    "hopeless candidates": ([0, 1, 400, 10**9, 2**61], Fraction(1, 3), None),
}
every_case = pytest.mark.parametrize("case", CASES)


def probabilities(costs: Sequence[int], rate: Fraction, sizes: Sequence[int] | None) -> FloatArray:
    weights = np.array(
        [
            size * math.exp(-rate * (cost - min(costs)))
            for cost, size in zip(costs, sizes or [1] * len(costs), strict=True)
        ]
    )
    shares: FloatArray = weights / weights.sum()
    return shares


def refused(chosen: Sequence[int], expected: FloatArray) -> bool:
    """Whether choices cannot have these probabilities; a candidate too rare to be expected must not appear."""
    observed, hoped = np.bincount(chosen, minlength=expected.size), expected * len(chosen)
    likely = hoped >= 200
    assert hoped[~likely].sum() < ALARM, "candidates between rare and impossible: take more draws"
    if observed[~likely].any():
        return True
    surprise = float(((observed[likely] - hoped[likely]) ** 2 / hoped[likely]).sum())
    return bool(stats.chi2.sf(surprise, likely.sum() - 1) < ALARM)


def draw(case: str, seed: int | None, rate: Fraction | None = None) -> list[int]:
    costs, right, sizes = CASES[case]
    options = {} if seed is None else {"bits": random.Random(seed).getrandbits}
    return [exponential_choice(costs, right if rate is None else rate, sizes, **options) for _ in range(DRAWS)]


@pytest.mark.few(1)
@pytest.mark.statistical
@every_case
def test_choices(case: str) -> None:
    assert not refused(draw(case, seed=1), probabilities(*CASES[case]))


@pytest.mark.few(1)
@pytest.mark.statistical
@pytest.mark.parametrize("case", ["one dearer than the other", "multiplicities"])
def test_choices_by_the_systems_bits(case: str) -> None:
    assert not refused(draw(case, seed=None), probabilities(*CASES[case]))


# --- broken twins


@pytest.mark.few(1)
@pytest.mark.statistical
@pytest.mark.parametrize("case", ["one dearer than the other", "multiplicities", "a small rate"])
def test_a_rate_wrong_by_a_sixth_is_refused(case: str) -> None:
    for factor in (Fraction(5, 6), Fraction(7, 6)):
        assert refused(draw(case, seed=2, rate=CASES[case][1] * factor), probabilities(*CASES[case]))


def twin(case: str, choose: Callable[[random.Random, list[float], IntArray], int]) -> bool:
    rng, (costs, rate, sizes) = random.Random(3), CASES[case]
    weights: list[float] = probabilities(costs, rate, None).tolist()
    return refused([choose(rng, weights, np.array(costs)) for _ in range(DRAWS)], probabilities(costs, rate, sizes))


def test_permute_and_flip_is_refused() -> None:
    """OpenDP's noisy maximum for pure epsilon: private too, but another distribution."""

    def choose(rng: random.Random, weights: list[float], costs: IntArray) -> int:
        noisy = [math.log(weight) - math.log(1.0 - rng.random()) for weight in weights]
        return int(np.argmax(noisy))

    assert twin("one dearer than the other", choose)


def test_the_first_of_a_class_alone_is_refused() -> None:
    def choose(rng: random.Random, weights: list[float], costs: IntArray) -> int:
        chosen = rng.choices(range(len(costs)), weights)[0]
        return int(np.flatnonzero(costs == costs[chosen])[0])

    assert twin("classes of many", choose)


def test_classes_drawn_as_if_of_one_are_refused() -> None:
    def choose(rng: random.Random, weights: list[float], costs: IntArray) -> int:
        classes, first = np.unique(costs, return_index=True)
        chosen = classes[rng.choices(range(classes.size), [weights[k] for k in first])[0]]
        return rng.choice(np.flatnonzero(costs == chosen).tolist())

    assert twin("classes of many", choose)


def test_multiplicities_that_are_ignored_are_refused() -> None:
    assert twin("multiplicities", lambda rng, weights, costs: rng.choices(range(len(costs)), weights)[0])


# --- what holds for every draw


def test_lists_and_arrays_choose_alike() -> None:
    costs = [5, 0, 3, 3]
    for seed in range(50):
        bits = [random.Random(seed).getrandbits for _ in range(2)]
        listed = exponential_choice(costs, Fraction(1, 7), bits=bits[0])
        assert listed == exponential_choice(np.array(costs), Fraction(1, 7), bits=bits[1])


def test_a_common_cost_changes_nothing() -> None:
    for seed in range(50):
        bits = [random.Random(seed).getrandbits for _ in range(2)]
        chosen = exponential_choice([4, 0, 2], Fraction(1, 3), bits=bits[0])
        assert chosen == exponential_choice([4 - 2**50, -(2**50), 2 - 2**50], Fraction(1, 3), bits=bits[1])


def test_a_hopeless_candidate_is_found_where_the_bits_say_so() -> None:
    """U = 1 - 2^-300 lies in the last class, of weight e^-200, which the first 128 digits leave out."""
    asked: list[int] = []

    def bits(count: int) -> int:
        known = sum(asked)
        asked.append(count)
        digits = (1 << 1000) - (1 << 700)
        return (digits >> (1000 - known - count)) & ((1 << count) - 1) if known + count <= 1000 else 0

    assert exponential_choice([0, 200], Fraction(1), bits=bits) == 1
    assert len(asked) > 1


def test_one_candidate_needs_no_bits() -> None:
    def none(count: int) -> int:
        raise AssertionError("bits were drawn")

    assert exponential_choice([7], Fraction(1), bits=none) == 0


def test_every_candidate_can_be_chosen() -> None:
    assert set(Counter(exponential_choice([0] * 7, Fraction(1)) for _ in range(1000))) == set(range(7))


@pytest.mark.parametrize(
    ("costs", "rate", "sizes", "message"),
    [
        ([], Fraction(1), None, "costs must not be empty"),
        ([0.5, 1.0], Fraction(1), None, "costs must be a sequence of integers"),
        (np.array([0.5, 1.0]), Fraction(1), None, "costs must be a sequence of integers"),
        ([0, 2**62], Fraction(1), None, "costs must lie within"),
        (np.array([0, -(2**63)]), Fraction(1), None, "costs must lie within"),
        ([0, 1], 0.5, None, "rate must be an exact number"),
        ([0, 1], Fraction(-1), None, "rate must not be negative"),
        ([0, 1], Fraction(1), [1], "multiplicities must be whole numbers"),
        ([0, 1], Fraction(1), [1, 0], "multiplicities must be whole numbers"),
    ],
)
def test_refusals(costs: Sequence[int], rate: Fraction, sizes: Sequence[int] | None, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        exponential_choice(costs, rate, sizes)


@pytest.mark.parametrize("bit", [0, 1])
def test_bits_that_are_all_the_same_end_in_an_error(bit: int) -> None:
    stuck = lambda count: ((1 << count) - 1) * bit  # noqa: E731 - one expression
    if bit:
        with pytest.raises(ConfideError, match="the same bit for ever"):
            exponential_choice([0, 1], Fraction(1), bits=stuck)
    else:
        assert exponential_choice([0, 1], Fraction(1), bits=stuck) == 0
