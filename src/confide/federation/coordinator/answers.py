"""What the coordinator does in each mode: it reads what sites sent, and works out the model's performance.

Anything else than was asked for is refused.
"""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from confide.errors import ConfideError, DataError, FederationError
from confide.federation.coordinator.performance import Performance, pooled_exact, pooled_grouped, pooled_private
from confide.federation.modes.exact import DisclosureControl, SecureSum
from confide.federation.modes.mode import Mode
from confide.federation.modes.noisy_scores import (
    NoisyScores,
    NoisyScoresMode,
    PlacementSums,
    pooled_noisy_scores,
    validated,
)
from confide.federation.modes.private import Private
from confide.federation.private_noise import noise_of
from confide.federation.protocol import Message, Outcome
from confide.federation.question import Question
from confide.federation.tables import WIDE_BITS, DisclosedTable, SiteTable
from confide.privacy.guarantee import Guarantee
from confide.privacy.noisy_counts import NoisePart
from confide.releases.curves import curves_of
from confide.releases.release import Release
from confide.releases.shared_counts import GAUSSIAN, ShareNoise, combined_release, pooled_release, weighted_parts


class PooledAnswers(ABC):
    """What the coordinator does in one mode."""

    mode: ClassVar[type[Mode]]

    def check_first_reply(self, reply: Message) -> None:  # noqa: B027 - in most modes sites send nothing then
        """Raise FederationError if what a site sent in round 1 beside its key cannot be used."""

    def second_request(self, replies: list[Message]) -> dict[str, Any]:
        """Return what the coordinator sends in round 2 beside the offers, from the replies of round 1."""
        return {}

    @abstractmethod
    def check_sent(self, question: Question, sent: Mapping[str, Any]) -> None:
        """Raise an error if what a site sent for itself is not what was asked for."""

    def can_read(self, question: Question, sent: object) -> bool:
        """Return whether what a site sent for itself is what was asked for."""
        if not isinstance(sent, Mapping):
            return False
        try:
            self.check_sent(question, sent)
        except (ConfideError, KeyError, TypeError, ValueError, OverflowError):
            return False
        return True

    @abstractmethod
    def performance(self, outcome: Outcome, level: float) -> Performance:
        """Return the model's performance over the rows of all sites."""

    def site_performances(self, outcome: Outcome, level: float) -> dict[str, Performance]:
        """Return the model's performance at each site whose own results may be seen."""
        return {}


class PooledDisclosureControl(PooledAnswers):
    """Groups of rows of each site."""

    mode = DisclosureControl

    def check_sent(self, question: Question, sent: Mapping[str, Any]) -> None:
        """Read the groups."""
        _groups(question, sent)

    def performance(self, outcome: Outcome, level: float) -> Performance:
        """Pool the groups of all sites."""
        return _grouped(outcome, tuple(outcome.sites), level)

    def site_performances(self, outcome: Outcome, level: float) -> dict[str, Performance]:
        """Work out each site's results from its groups alone."""
        return {site: _grouped(outcome, (site,), level) for site in outcome.sites}


def _grouped(outcome: Outcome, sites: tuple[str, ...], level: float) -> Performance:
    question = outcome.question
    return pooled_grouped({site: _groups(question, outcome.sites[site]) for site in sites}, level=level)


def _groups(question: Question, sent: Mapping[str, Any]) -> DisclosedTable:
    return DisclosedTable.from_dict(sent, grid=question.public_grid, minimum=question.minimum_cell or 1)


class PooledSecureSum(PooledAnswers):
    """Sum of the sites' masked tables."""

    mode = SecureSum

    def check_sent(self, question: Question, sent: Mapping[str, Any]) -> None:
        """Refuse everything: in this mode a site sends nothing for itself."""
        raise FederationError("a site sent results of its own, which this mode does not have")

    def performance(self, outcome: Outcome, level: float) -> Performance:
        """Work out everything from the sum of the sites' tables."""
        if outcome.total is None:
            raise DataError("the outcome has no sum over sites; run the validation again")
        return pooled_exact(summed_table(outcome.question, outcome.total), level=level)


class PooledPrivate(PooledAnswers):
    """Noisy sum over the sites, and noisy counts of each."""

    mode = Private

    def check_sent(self, question: Question, sent: Mapping[str, Any]) -> None:
        """Read a site's own noisy counts."""
        own_release(question, sent)

    def performance(self, outcome: Outcome, level: float) -> Performance:
        """Work out everything from the noisy sum, put together with the sites' own noisy counts."""
        if outcome.total is None:
            raise DataError("the outcome has no sum over sites; run the validation again")
        return _noisy(pooled_counts(outcome.question, outcome.total, outcome.sites, level), level)

    def site_performances(self, outcome: Outcome, level: float) -> dict[str, Performance]:
        """Work out each site's results from its own noisy counts."""
        sent = outcome.sites.items()
        return {site: _noisy(own_release(outcome.question, own, level), level) for site, own in sent}


def _noisy(raw: Release, level: float) -> Performance:
    return pooled_private(curves_of(raw, level=level), level=level)


class PooledNoisyScores(PooledAnswers):
    """Noisy scores of round 1, and sums of placements of round 2."""

    mode = NoisyScoresMode

    def check_first_reply(self, reply: Message) -> None:
        """Read the noisy scores."""
        NoisyScores.from_dict(reply.get("noisy"))

    def second_request(self, replies: list[Message]) -> dict[str, Any]:
        """Return the noisy scores of all sites."""
        return {"pooled": pooled_noisy_scores([reply.get("noisy") for reply in replies])}

    def check_sent(self, question: Question, sent: Mapping[str, Any]) -> None:
        """Read the sums."""
        PlacementSums.from_dict(sent)

    def performance(self, outcome: Outcome, level: float) -> Performance:
        """Fit the ROC-GLM to the sums over all sites."""
        first, *others = (PlacementSums.from_dict(sent) for sent in outcome.sites.values())
        found = validated(sum(others, first), level=level)
        return Performance(level=level, auc=found.auc, roc_glm=found.curve)


POOLED_ANSWERS: Mapping[str, PooledAnswers] = MappingProxyType(
    {
        answers.mode.name: answers
        for answers in (PooledDisclosureControl(), PooledSecureSum(), PooledPrivate(), PooledNoisyScores())
    }
)
"""What the coordinator does in each mode, by the mode's name."""


def pooled_answers(question: Question) -> PooledAnswers:
    """Return what the coordinator does in the mode of a question."""
    return POOLED_ANSWERS[question.mode]


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
        strategy=noise_of(question).strategy,
        noise=noise,
        guarantee=guarantee,
        participants=participants,
        level=level,
    )


def _counts(total: Mapping[str, Any]) -> Any:
    return np.frombuffer(base64.b64decode(total["counts"], validate=True), dtype="<i8").astype(np.int64)
