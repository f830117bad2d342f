"""Attacks on noisy scores whose noise comes from a seed that all sites share.

In the R packages that accompany Schalk et al. (2024), the coordinator sends a number to all sites. Every site derives
the same seed from it and adds the normal numbers that follow to its sorted scores. So all sites have the same noise;
a longer list continues where a shorter one ends. This allows four attacks:

- Somebody who knows the seed draws the same noise and subtracts it. Every score is exact.
- Somebody who does not know the seed tries seeds. A wrong seed leaves impossible scores, outside [0, 1].
- A site knows its own scores. It computes the noise, and from it the other sites' scores.
- Anybody computes the exact differences between the scores of two sites.

None of them works where each site draws from its system's generator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import combinations
from typing import TypeAlias

import numpy as np

from confide.counts import FloatArray
from confide.errors import ParameterError

SeededNoise: TypeAlias = Callable[[int, int], FloatArray]
"""Function `(seed, count)` that returns the first `count` standard normal numbers after a seed."""

_TOLERANCE = 1e-9  # scores that were sent through floats


def seed_from_number(number: float) -> int:
    """Derive a seed as the packages do: the decimal digits among the first nine of a number's hash in hexadecimal.

    The packages hash with SHA-1. The choice of hash makes no difference, since everybody can compute it.

    >>> seed_from_number(0.177211) < 10**9
    True
    """
    digest = sha256(repr(float(number)).encode()).hexdigest()[:9]
    return int("".join(letter for letter in digest if letter.isdigit()) or "0")


def seeded_normals(seed: int, count: int) -> FloatArray:
    """Return the first `count` standard normal numbers of a generator with this seed."""
    return np.random.default_rng(seed).standard_normal(count)


def without_noise(
    sent: Sequence[FloatArray], scale: float, seed: int, *, noise: SeededNoise = seeded_normals
) -> tuple[FloatArray, ...]:
    """Subtract the noise of a seed from what each site sent. The result is exact if the seed is right.

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
    """Return the candidate seeds that leave possible scores: within bounds, and in ascending order."""

    def possible(scores: FloatArray) -> bool:
        inside = scores[0] >= lowest - _TOLERANCE and scores[-1] <= highest + _TOLERANCE
        return bool(inside and (np.diff(scores) >= -_TOLERANCE).all())

    return tuple(seed for seed in candidates if all(map(possible, without_noise(sent, scale, seed, noise=noise))))


def differences(sent: Sequence[FloatArray]) -> FloatArray:
    """Subtract the first site's scores from those of each other site. The result is exact where sites share noise."""
    shortest = min(map(len, _checked(sent, 2)))
    return np.array([scores[:shortest] - sent[0][:shortest] for scores in sent[1:]])


def from_known_site(sent: Sequence[FloatArray], known: int, scores: FloatArray) -> tuple[FloatArray, ...]:
    """Recover the other sites' scores from one site's exact scores, up to the length of its list.

    `known` is this site's place in `sent`; `scores` are its exact scores in the order in which they were sent.
    """
    shared = _checked(sent, 2)[known] - scores
    return tuple(noisy[: len(shared)] - shared[: len(noisy)] for place, noisy in enumerate(sent) if place != known)


def shared_noise(sent: Sequence[FloatArray], scores: Sequence[FloatArray]) -> bool:
    """Tell whether two or more sites have the same noise. Needs the exact scores."""
    noises = (noisy - exact for noisy, exact in zip(_checked(sent, 2), scores, strict=True))
    return any(
        np.allclose(one[: len(other)], other[: len(one)], rtol=0.0, atol=_TOLERANCE)
        for one, other in combinations(noises, 2)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedAttack:
    """Largest errors of scores that were recovered from simulated sites.

    `known_seed` is the coordinator's error, `known_site` that of a site that knows its own scores. `fitting_seeds` of
    `seeds_tried` seeds leave possible scores. `own_noise` is the site's error if each site draws its own noise.
    """

    sites: int
    scale: float
    known_seed: float
    known_site: float
    seeds_tried: int
    fitting_seeds: int
    own_noise: float

    def to_dict(self) -> dict[str, float]:
        """Return plain data."""
        return asdict(self)


_TRIED = 1000
_NUMBER = 0.177211  # what the coordinator sends, such as a sensitivity


def attack_simulated_sites(*, sites: int, rows: int, scale: float, seed: int) -> SeedAttack:
    """Simulate sites whose noise comes from a shared seed, and attack what they send.

    >>> attack = attack_simulated_sites(sites=3, rows=50, scale=0.4, seed=0)
    >>> attack.known_seed < 1e-9, attack.known_site < 1e-9, attack.fitting_seeds, attack.own_noise > 0.1
    (True, True, 1, True)
    """
    if not (np.isfinite(scale) and scale > 0.0):
        raise ParameterError(f"`scale` must be a number above 0; got {scale:g}")
    rng = np.random.default_rng(seed)
    exact = [np.sort(rng.beta(2.0, 3.0, rows + 5 * site)) for site in range(sites)]
    shared = seed_from_number(_NUMBER)
    sent = [scores + scale * seeded_normals(shared, len(scores)) for scores in exact]
    own = [scores + scale * rng.standard_normal(len(scores)) for scores in exact]
    first = max(shared - _TRIED // 2, 0)
    return SeedAttack(
        sites=sites,
        scale=scale,
        known_seed=_largest_error(without_noise(sent, scale, shared), exact),
        known_site=_largest_error(from_known_site(sent, 0, exact[0]), exact[1:]),
        seeds_tried=_TRIED,
        fitting_seeds=len(fitting_seeds(sent, scale, range(first, first + _TRIED))),
        own_noise=_largest_error(from_known_site(own, 0, exact[0]), exact[1:]),
    )


def _largest_error(recovered: Sequence[FloatArray], exact: Sequence[FloatArray]) -> float:
    errors = [np.abs(ours - scores[: len(ours)]).max() for ours, scores in zip(recovered, exact, strict=True)]
    return float(max(errors))


def _checked(sent: Sequence[FloatArray], least: int) -> Sequence[FloatArray]:
    if len(sent) < least or not all(len(scores) for scores in sent):
        raise ParameterError(f"give the noisy scores of at least {least} sites, none of them empty")
    return sent
