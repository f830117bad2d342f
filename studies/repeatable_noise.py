"""Noise in floats from a seed, so that a study of public data is fast and can be repeated. Never for a release.

Whoever knows the seed can take the noise off again, and floats that look like Laplace noise give values away even to
those who do not. A study publishes nothing private, so neither matters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import ParameterError
from confide.privacy.noise.pareto import ParetoShape
from confide.privacy.noise.reals import ExactReal, as_real, lower_bound
from confide.privacy.queries import Noise
from confide.releases.smooth_sensitivity import noise_of

LARGEST_SEED = 2**63 - 1


def checked_seed(seed: object) -> int:
    """Return the seed. Refuse a wrong one."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        raise ParameterError(f"seed must be a whole number from 0 to {LARGEST_SEED:,}; got {seed!r}")
    return seed


def generator_for(seed: int, *names: object) -> np.random.Generator:
    """Return a generator for a name. It does not depend on other draws.

    >>> int(generator_for(0, "sms", 3).integers(1000))
    321
    """
    digest = blake2b("\n".join(map(str, names)).encode(), digest_size=16).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])


def repeatable_noise(generator: np.random.Generator) -> Noise:
    """Return samplers of selecting, training, AUC and curves that draw from a generator; others stay the system's."""
    return Noise(
        discrete_laplace=_laplace(generator),
        pareto_between=_pareto_between(generator),
        exponential_top=_exponential_top(generator),
        permute_and_flip_top=_permute_and_flip_top(generator),
        spherical_laplace=_spherical_laplace(generator),
    )


def _laplace(generator: np.random.Generator) -> Callable[[Sequence[int], Fraction], list[int]]:
    """Draw discrete Laplace noise as the difference of two geometric variates."""

    def add(values: Sequence[int], scale: Fraction) -> list[int]:
        stop = -np.expm1(-1.0 / float(scale))
        drawn = generator.geometric(stop, (2, len(values)))
        noisy: list[int] = (np.asarray(values, dtype=np.int64) + drawn[0] - drawn[1]).tolist()
        return noisy

    return add


def _pareto_between(generator: np.random.Generator) -> Callable[..., int]:
    """Draw noise of a Pareto shape by inversion, and cut the sum."""

    def add(
        value: Fraction, scale: Fraction | ExactReal, grid: Fraction, *, shape: ParetoShape, lowest: int, highest: int
    ) -> int:
        drawn = float(noise_of(shape).quantile(generator.random(1))[0])
        reached = float(value) + drawn * float(lower_bound(as_real(scale)))
        return min(max(round(reached / float(grid)), lowest), highest)

    return add


def _exponential_top(generator: np.random.Generator) -> Callable[[ArrayLike, Fraction, int], list[int]]:
    """Choose the k highest after Gumbel noise, which equals k choices by the exponential mechanism in turn."""

    def choose(costs: ArrayLike, rate: Fraction, k: int) -> list[int]:
        heights = generator.gumbel(size=np.size(costs)) - float(rate) * np.asarray(costs, dtype=np.float64)
        chosen: list[int] = np.argsort(-heights)[:k].tolist()
        return chosen

    return choose


def _permute_and_flip_top(generator: np.random.Generator) -> Callable[[ArrayLike, Fraction, int], list[int]]:
    """Choose k candidates in turn: every candidate left flips its coin, and one of those with heads is chosen.

    Candidates of equal cost have equal coins, so it is enough to draw the number of heads in each class of them.
    """

    def choose(costs: ArrayLike, rate: Fraction, k: int) -> list[int]:
        levels, members = np.unique(np.asarray(costs, dtype=np.int64), return_inverse=True)
        shuffled = generator.permutation(members.size)
        waiting = np.split(shuffled[np.argsort(members[shuffled], kind="stable")], np.cumsum(np.bincount(members))[:-1])
        groups = [group.tolist() for group in waiting]
        left = np.array([len(group) for group in groups], dtype=np.int64)
        dearer = float(rate) * (levels - levels[0])
        return [_turn(generator, groups, left, dearer) for _ in range(k)]

    return choose


def _turn(
    generator: np.random.Generator, groups: list[list[int]], left: NDArray[np.int64], dearer: NDArray[np.float64]
) -> int:
    cheapest = int(np.argmax(left > 0))
    heads = generator.binomial(left[cheapest:], np.exp(dearer[cheapest] - dearer[cheapest:]))
    shown = np.cumsum(heads)
    group = cheapest + int(np.searchsorted(shown, generator.integers(shown[-1]), side="right"))
    left[group] -= 1
    return groups[group].pop()


def _spherical_laplace(generator: np.random.Generator) -> Callable[[Sequence[Fraction], Fraction, Fraction], list[int]]:
    """Return a uniform direction times a length with the Gamma distribution."""

    def add(values: Sequence[Fraction], scale: Fraction, grid: Fraction) -> list[int]:
        normal = generator.standard_normal(len(values))
        length = generator.gamma(len(values)) * float(scale / grid)
        shifts = normal * (length / np.linalg.norm(normal))
        return [round(value / grid) + round(shift) for value, shift in zip(values, shifts.tolist(), strict=True)]

    return add
