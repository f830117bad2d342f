"""Reading what sites sent: of the size and kind that was asked for, or it is not read at all."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from confide.errors import ConfideError, FederationError
from confide.federation.modes.registry import mode_of
from confide.federation.question import Question
from confide.federation.tables import WIDE_BITS, SiteTable
from confide.intervals.private_counts import NoisePart
from confide.privacy.guarantee import Guarantee
from confide.privacy.mechanisms.strategies import Strategy, best_strategy
from confide.releases.release import Release
from confide.releases.shared_counts import combined_release, pooled_release, weighted_parts
from confide.releases.terms import Terms


def strategy_of(question: Question) -> Strategy:
    """What is measured of the cells in the private mode: a choice from public facts."""
    return best_strategy(len(question.public_grid))


def readable(question: Question, sent: object) -> bool:
    """Whether what a site sent for itself is what was asked for."""
    if not isinstance(sent, Mapping):
        return False
    try:
        mode_of(question).check_sent(question, sent)
    except (ConfideError, KeyError, TypeError, ValueError, OverflowError):
        return False
    return True


def summed_table(question: Question, total: Mapping[str, Any]) -> SiteTable:
    """The exact sum over all sites."""
    wide = tuple(int(value) % (1 << WIDE_BITS) for value in total["wide"])
    return SiteTable.from_words(question.public_grid, question.bins, _counts(total).astype(np.uint64), wide)


def own_release(question: Question, sent: Mapping[str, Any], level: float = 0.95) -> Release:
    """A site's own noisy counts, as a release from which everything else follows."""
    integers = sent["noisy_integers"]
    if not isinstance(integers, Sequence) or not all(isinstance(n, int) and abs(n) < 2**62 for n in integers):
        raise FederationError("noisy counts must be whole numbers")
    return _release(question, integers, question.own_epsilon, participants=1, honest=1, level=level)


def summed_release(question: Question, total: Mapping[str, Any], level: float = 0.95) -> Release:
    """The noisy sum over all sites, as a release from which everything else follows."""
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
    """The noisy sum over all sites, put together with the sites' own noisy counts where every site released them."""
    summed = summed_release(question, total, level)
    if not question.own_epsilon or set(sites) != set(question.sites):
        return summed
    own = [own_release(question, sent, level) for sent in sites.values()]
    return combined_release(summed, own, guarantee_of(question, question.exact_epsilon), level=level)


def noise_parts(question: Question) -> tuple[tuple[NoisePart, ...], tuple[NoisePart, ...]]:
    """The noise that the pooled counts will have, and that of each site's own; the last is empty where there are none.

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
    """What a part of the budget promises."""
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
