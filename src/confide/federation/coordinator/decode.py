"""Reading of sites' answers: sums, and what a site sent for itself. Anything else than asked for is refused."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from confide.errors import FederationError
from confide.federation.question import Question
from confide.federation.tables import WIDE_BITS, SiteTable
from confide.intervals.private_counts import NoisePart
from confide.privacy.guarantee import Guarantee
from confide.privacy.mechanisms.strategies import Strategy, best_strategy
from confide.releases.release import Release
from confide.releases.shared_counts import combined_release, pooled_release, weighted_parts
from confide.releases.terms import Terms


def strategy_of(question: Question) -> Strategy:
    """Return which sums of cells are measured in the private mode; it follows from the number of cells."""
    return best_strategy(len(question.public_grid))


def summed_table(question: Question, total: Mapping[str, Any]) -> SiteTable:
    """Return the exact sum of all sites' tables."""
    wide = tuple(int(value) % (1 << WIDE_BITS) for value in total["wide"])
    return SiteTable.from_words(question.public_grid, question.bins, _counts(total).astype(np.uint64), wide)


def own_release(question: Question, sent: Mapping[str, Any], level: float = 0.95) -> Release:
    """Return a site's own noisy counts as a release, from which curves and numbers follow."""
    integers = sent["noisy_integers"]
    if not isinstance(integers, Sequence) or not all(isinstance(n, int) and abs(n) < 2**62 for n in integers):
        raise FederationError("noisy counts must be whole numbers")
    return _release(question, integers, question.own_epsilon, participants=1, honest=1, level=level)


def summed_release(question: Question, total: Mapping[str, Any], level: float = 0.95) -> Release:
    """Return the noisy sum over all sites as a release, from which curves and numbers follow."""
    sites = len(question.sites)
    return _release(
        question,
        _counts(total).tolist(),
        question.pooled_epsilon,
        participants=sites,
        honest=question.honest,
        level=level,
    )


def pooled_counts(
    question: Question, total: Mapping[str, Any], sites: Mapping[str, Mapping[str, Any]], level: float = 0.95
) -> Release:
    """Return the noisy sum, averaged with the sites' own noisy counts where every site released them."""
    summed = summed_release(question, total, level)
    if not question.own_epsilon or set(sites) != set(question.sites):
        return summed
    own = [own_release(question, sent, level) for sent in sites.values()]
    return combined_release(summed, own, guarantee_of(question, question.exact_epsilon), level=level)


def noise_parts(question: Question) -> tuple[tuple[NoisePart, ...], tuple[NoisePart, ...]]:
    """Return the noise of the pooled counts and of a site's own counts; the latter is empty if there are none.

    Both follow from the question alone.
    """
    sites, levels = len(question.sites), strategy_of(question).levels(len(question.public_grid))

    def part(epsilon: Fraction, shares: float) -> NoisePart:
        exact = Terms.checked(epsilon=epsilon, **question.terms()).epsilon
        return NoisePart(scale=float(levels / exact), shares=shares, weight=1.0)

    summed = part(question.pooled_epsilon, sites / question.honest)
    if not question.own_epsilon:
        return (summed,), ()
    own = part(question.own_epsilon, 1.0)
    return weighted_parts(summed, replace(own, shares=float(sites))), (own,)


def guarantee_of(question: Question, epsilon: Fraction) -> Guarantee:
    """Return the guarantee of a part of the budget."""
    return Terms.checked(epsilon=epsilon, **question.terms()).guarantee(public=("grid of scores",))


def _release(
    question: Question, integers: Sequence[int], epsilon: Fraction, *, participants: int, honest: int, level: float
) -> Release:
    terms = Terms.checked(epsilon=epsilon, **question.terms())
    strategy, grid = strategy_of(question), question.public_grid
    return pooled_release(
        integers,
        grid=grid,
        strategy=strategy,
        scale=strategy.levels(len(grid)) / terms.epsilon,
        guarantee=terms.guarantee(public=("grid of scores",)),
        participants=participants,
        honest=honest,
        level=level,
    )


def _counts(total: Mapping[str, Any]) -> Any:
    return np.frombuffer(base64.b64decode(total["counts"], validate=True), dtype="<i8").astype(np.int64)
