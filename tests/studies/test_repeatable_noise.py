"""The study's noise has the distributions of the real one, and comes again with its seed.

The statistics are from fixed seeds, so they never fail by chance; their bounds are 4 standard errors.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from studies.repeatable_noise import generator_for, repeatable_noise

from confide.privacy.queries import Noise

MANY = 8_000
COSTS, RATE = (0, 1, 1, 3), Fraction(2, 3)


@pytest.fixture
def noise() -> Noise:
    return repeatable_noise(np.random.default_rng(5))


def assert_frequencies(found: Counter[object], expected: dict[object, float]) -> None:
    total = sum(found.values())
    assert set(found) <= set(expected)
    for outcome, probability in expected.items():
        error = math.sqrt(probability * (1.0 - probability) / total)
        assert abs(found[outcome] / total - probability) < 4.0 * error + 1e-12, outcome


def test_laplace_noise_is_discrete_laplace(noise: Noise) -> None:
    scale = Fraction(3, 2)
    ratio = math.exp(-1.0 / float(scale))
    expected: dict[object, float] = {10 + j: (1.0 - ratio) / (1.0 + ratio) * ratio ** abs(j) for j in range(-3, 4)}
    expected["beyond"] = 1.0 - sum(expected.values())
    drawn = noise.discrete_laplace((10,) * MANY, scale)
    assert_frequencies(Counter(value if value in expected else "beyond" for value in drawn), expected)


def in_turn(chances: dict[tuple[int, ...], dict[int, float]], k: int) -> dict[object, float]:
    """The probability of every order of k choices, from the chances of each choice among those left."""
    found: dict[object, float] = {}
    for order in permutations(range(len(COSTS)), k):
        left, probability = tuple(range(len(COSTS))), 1.0
        for choice in order:
            probability *= chances[left][choice]
            left = tuple(other for other in left if other != choice)
        found[order] = probability
    return found


def exponential(left: tuple[int, ...]) -> dict[int, float]:
    weights = {i: math.exp(-float(RATE) * COSTS[i]) for i in left}
    return {i: weight / sum(weights.values()) for i, weight in weights.items()}


def permute_and_flip(left: tuple[int, ...]) -> dict[int, float]:
    """Average over all orders in which coins may be flipped until one shows heads, the cheapest's always."""
    least = min(COSTS[i] for i in left)
    heads = {i: math.exp(-float(RATE) * (COSTS[i] - least)) for i in left}
    found = dict.fromkeys(left, 0.0)
    orders = list(permutations(left))
    for order in orders:
        reached = 1.0 / len(orders)
        for i in order:
            found[i] += reached * heads[i]
            reached *= 1.0 - heads[i]
    return found


@pytest.mark.parametrize(
    ("sampler", "chance"), [("exponential_top", exponential), ("permute_and_flip_top", permute_and_flip)]
)
def test_top_features_have_the_probabilities_of_choices_in_turn(noise: Noise, sampler: str, chance: object) -> None:
    assert callable(chance)
    draw = getattr(noise, sampler)
    found: Counter[object] = Counter(tuple(draw(COSTS, RATE, 2)) for _ in range(MANY))
    subsets = [left for size in (4, 3) for left in permutations(range(4), size) if list(left) == sorted(left)]
    assert_frequencies(found, in_turn({left: chance(left) for left in subsets}, 2))


def test_all_candidates_can_be_taken(noise: Noise) -> None:
    assert sorted(noise.permute_and_flip_top((5, 5, 0), Fraction(1), 3)) == [0, 1, 2]
    assert sorted(noise.exponential_top((5, 5, 0), Fraction(1), 3)) == [0, 1, 2]


def test_spherical_noise_has_gamma_lengths_and_no_direction(noise: Noise) -> None:
    grid, scale, dimensions = Fraction(1, 2**20), Fraction(1, 2), 3
    drawn = np.array([noise.spherical_laplace([Fraction(1)] * dimensions, scale, grid) for _ in range(MANY // 2)])
    shifts = drawn * float(grid) - 1.0
    lengths = np.linalg.norm(shifts, axis=1)
    assert abs(lengths.mean() - dimensions / 2) < 4.0 * math.sqrt(dimensions) / 2 / math.sqrt(lengths.size)
    assert abs(shifts.mean(axis=0)).max() < 4.0 * shifts.std() / math.sqrt(lengths.size)


def test_names_and_seeds_make_their_own_noise() -> None:
    def drawn(seed: int, *names: object) -> list[int]:
        return repeatable_noise(generator_for(seed, *names)).discrete_laplace((0,) * 20, Fraction(100))

    assert drawn(0, "sms", 1) == drawn(0, "sms", 1)
    assert len({tuple(drawn(*given)) for given in ((0, "sms", 1), (1, "sms", 1), (0, "sms", 2), (0, "sms1"))}) == 4
