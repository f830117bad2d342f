"""Noise from a shared seed is no noise: what a coordinator reads from noisy scores when it knows where they came from.

In the R packages that accompany Schalk et al. (2024), every site seeds its generator with a number that is derived from
one that the coordinator sends to all of them, and adds the normal numbers that follow to its sorted scores. So all
sites have the same noise, the longer list going on where a shorter one ends:

- Who knows the seed, or the number it is derived from, draws the same noise and takes it off: every score is exact.
- Who does not know it can try seeds: a wrong one leaves scores that no model gives, outside [0, 1].
- Who knows no seed but one site's scores, as a hospital knows its own, has the noise, and so all other sites' scores.
- And who knows nothing has exact differences between the scores of any two sites.

None of this applies where each site draws from its system's generator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from itertools import combinations
from typing import TypeAlias

import numpy as np

from confide.counts import FloatArray
from confide.errors import ParameterError

SeededNoise: TypeAlias = Callable[[int, int], FloatArray]
"""The first so many standard normal numbers that follow a seed: `(seed, count)`."""

_TOLERANCE = 1e-9  # scores that were sent through floats


def seed_from_number(number: float) -> int:
    """A seed as the packages derive it: the decimal digits among the first nine of a number's hash in hexadecimal.

    They hash with SHA-1; which hash it is makes no difference, as everybody can compute it.

    >>> seed_from_number(0.177211) < 10**9
    True
    """
    digest = sha256(repr(float(number)).encode()).hexdigest()[:9]
    return int("".join(letter for letter in digest if letter.isdigit()) or "0")


def seeded_normals(seed: int, count: int) -> FloatArray:
    """What a generator gives after a seed."""
    return np.random.default_rng(seed).standard_normal(count)


def without_noise(
    sent: Sequence[FloatArray], scale: float, seed: int, *, noise: SeededNoise = seeded_normals
) -> tuple[FloatArray, ...]:
    """Take the noise of a seed off what each site sent; the scores are exact if the seed is the sites'.

    >>> scores = np.array([0.2, 0.4, 0.9])
    >>> without_noise([scores + 5.0 * seeded_normals(7, 3)], 5.0, 7)[0].round(9)
    array([0.2, 0.4, 0.9])
    """
    drawn = scale * noise(seed, max(map(len, _checked(sent, 1))))
    return tuple(scores - drawn[: len(scores)] for scores in sent)


def fitting_seeds(
    sent: Sequence[FloatArray],
    scale: float,
    candidates: Iterable[int],
    *,
    noise: SeededNoise = seeded_normals,
    lowest: float = 0.0,
    highest: float = 1.0,
) -> tuple[int, ...]:
    """The seeds among candidates that leave possible scores: within bounds, and ascending as they were sorted."""

    def possible(scores: FloatArray) -> bool:
        inside = scores[0] >= lowest - _TOLERANCE and scores[-1] <= highest + _TOLERANCE
        return bool(inside and (np.diff(scores) >= -_TOLERANCE).all())

    return tuple(seed for seed in candidates if all(map(possible, without_noise(sent, scale, seed, noise=noise))))


def differences(sent: Sequence[FloatArray]) -> FloatArray:
    """What each site's scores exceed the first site's by, place by place: exact where sites share their noise."""
    shortest = min(map(len, _checked(sent, 2)))
    return np.array([scores[:shortest] - sent[0][:shortest] for scores in sent[1:]])


def from_known_site(sent: Sequence[FloatArray], known: int, scores: FloatArray) -> tuple[FloatArray, ...]:
    """The other sites' scores for one that knows its own, as far as its own list goes.

    `known` is its place in the list, `scores` its exact scores in the order in which they were sent.
    """
    shared = _checked(sent, 2)[known] - scores
    return tuple(noisy[: len(shared)] - shared[: len(noisy)] for place, noisy in enumerate(sent) if place != known)


def shared_noise(sent: Sequence[FloatArray], scores: Sequence[FloatArray]) -> bool:
    """Whether two sites or more have the same noise, as an auditor finds out who may see the scores."""
    noises = (noisy - exact for noisy, exact in zip(_checked(sent, 2), scores, strict=True))
    return any(
        np.allclose(one[: len(other)], other[: len(one)], rtol=0.0, atol=_TOLERANCE)
        for one, other in combinations(noises, 2)
    )


def _checked(sent: Sequence[FloatArray], least: int) -> Sequence[FloatArray]:
    if len(sent) < least or not all(len(scores) for scores in sent):
        raise ParameterError(f"give the noisy scores of at least {least} sites, none of them empty")
    return sent
