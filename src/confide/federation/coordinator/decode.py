"""Reading of sites' answers: sums, and what a site sent for itself. Anything else than asked for is refused."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from confide.errors import FederationError
from confide.federation.private_noise import noise_of
from confide.federation.question import Question
from confide.federation.tables import WIDE_BITS, SiteTable
from confide.intervals.private_counts import NoisePart
from confide.privacy.guarantee import Guarantee
from confide.privacy.mechanisms.strategies import Strategy
from confide.releases.release import Release
from confide.releases.share_noise import GAUSSIAN, ShareNoise
from confide.releases.shared_counts import combined_release, pooled_release, weighted_parts


def strategy_of(question: Question) -> Strategy:
    """Return which sums of cells are measured in the private mode; it follows from noise and number of cells."""
    return noise_of(question).strategy


def summed_table(question: Question, total: Mapping[str, Any]) -> SiteTable:
    """Return the exact sum of all sites' tables."""
    wide = tuple(int(value) % (1 << WIDE_BITS) for value in total["wide"])
    return SiteTable.from_words(question.public_grid, question.bins, _counts(total).astype(np.uint64), wide)


def own_release(question: Question, sent: Mapping[str, Any], level: float = 0.95) -> Release:
    """Return a site's own noisy counts as a release, from which curves and numbers follow."""
    integers = sent["noisy_integers"]
    if not isinstance(integers, Sequence) or not all(isinstance(n, int) and abs(n) < 2**62 for n in integers):
        raise FederationError("noisy counts must be whole numbers")
    noise = noise_of(question)
    return _release(question, integers, noise.own_shares, noise.own_guarantee(), participants=1, level=level)


def summed_release(question: Question, total: Mapping[str, Any], level: float = 0.95) -> Release:
    """Return the noisy sum over all sites as a release, from which curves and numbers follow."""
    noise, counts = noise_of(question), _counts(total).tolist()
    sites = len(question.sites)
    return _release(question, counts, noise.pooled_shares, noise.pooled_guarantee(), participants=sites, level=level)


def pooled_counts(
    question: Question, total: Mapping[str, Any], sites: Mapping[str, Mapping[str, Any]], level: float = 0.95
) -> Release:
    """Return the noisy sum, averaged with the sites' own noisy counts where every site released them."""
    summed = summed_release(question, total, level)
    noise = noise_of(question)
    if not noise.has_own or set(sites) != set(question.sites):
        return summed
    own = [own_release(question, sent, level) for sent in sites.values()]
    return combined_release(summed, own, noise.guarantee(), level=level)


def noise_parts(question: Question) -> tuple[tuple[NoisePart, ...], tuple[NoisePart, ...]]:
    """Return the noise of the pooled counts and of a site's own counts; the latter is empty if there are none.

    Both follow from the question alone.
    """
    noise, sites = noise_of(question), len(question.sites)

    def part(law: ShareNoise, shares: float) -> NoisePart:
        return NoisePart(scale=float(law.scale), shares=shares, weight=1.0, gaussian=law.family == GAUSSIAN)

    summed = part(noise.pooled_shares, sites / question.honest)
    if not noise.has_own:
        return (summed,), ()
    own = part(noise.own_shares, 1.0)
    return weighted_parts(summed, replace(own, shares=float(sites))), (own,)


def _release(
    question: Question,
    integers: Sequence[int],
    noise: ShareNoise,
    guarantee: Guarantee,
    *,
    participants: int,
    level: float,
) -> Release:
    return pooled_release(
        integers,
        grid=question.public_grid,
        strategy=strategy_of(question),
        noise=noise,
        guarantee=guarantee,
        participants=participants,
        level=level,
    )


def _counts(total: Mapping[str, Any]) -> Any:
    return np.frombuffer(base64.b64decode(total["counts"], validate=True), dtype="<i8").astype(np.int64)
