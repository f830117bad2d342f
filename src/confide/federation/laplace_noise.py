"""Laplace noise of a private question: a pure guarantee, whose epsilon is divided between the two answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from confide.federation.noise_terms import PUBLIC, PrivateNoise
from confide.privacy.guarantee import shown, three_digits
from confide.privacy.mechanisms.noise_shares import alone_epsilon, shared_counts
from confide.releases.share_noise import LAPLACE, LaplaceShares

if TYPE_CHECKING:
    from confide.privacy.guarantee import Guarantee
    from confide.privacy.mechanisms.private_counts import Cells
    from confide.privacy.queries import ShareQuery


@dataclass(frozen=True, slots=True)
class LaplaceNoise(PrivateNoise):
    """Discrete Laplace noise: a pure guarantee, whose epsilon is divided between the two answers."""

    family: ClassVar[str] = LAPLACE

    @property
    def pooled_shares(self) -> LaplaceShares:
        """Noise of the sum over all sites."""
        return self._shares(self.question.pooled_epsilon, self.question.honest)

    @property
    def own_shares(self) -> LaplaceShares:
        """Noise of a site's own counts."""
        return self._shares(self.question.own_epsilon, 1)

    @property
    def worth_epsilon(self) -> float:
        """Epsilon of a trusted curator.

        The sum has the noise of `sites / honest` shares; the sites' own counts, which are averaged in, have one each.
        """
        asked = self.question
        pooled, own = float(asked.pooled_epsilon), float(asked.own_epsilon)
        return math.sqrt((asked.honest * pooled**2 + own**2) / len(asked.sites)) / asked.rows_per_person

    def check(self) -> None:
        """Refuse parts of epsilon that no release could have."""
        for part in (self.question.own_epsilon, self.question.pooled_epsilon):
            if part:
                self._terms(part)

    def share(self, cells: Cells) -> ShareQuery:
        """Return the query for a site's share of the sum."""
        epsilon = self._terms(self.question.pooled_epsilon).epsilon
        return shared_counts(cells, epsilon, honest=self.question.honest, strategy=self.strategy)

    def own_options(self) -> dict[str, Any]:
        """Return the epsilon of a site's own counts."""
        return {"epsilon": self.question.own_epsilon}

    def sum_terms(self) -> dict[str, Any]:
        """Return the epsilon of the sum."""
        return {"epsilon": str(self.question.pooled_epsilon)}

    def guarantee(self, *, unit: str | None = None, public: Sequence[str] = PUBLIC) -> Guarantee:
        """Return the guarantee of both answers together."""
        return self._terms(self.question.exact_epsilon, unit=unit).guarantee(public=public)

    def pooled_guarantee(self, *, unit: str | None = None, public: Sequence[str] = PUBLIC) -> Guarantee:
        """Return the guarantee of the sum."""
        return self._terms(self.question.pooled_epsilon, unit=unit).guarantee(public=public)

    def own_guarantee(self) -> Guarantee:
        """Return the guarantee of a site's own counts."""
        return self._terms(self.question.own_epsilon).guarantee(public=PUBLIC)

    def alone_words(self) -> str:
        """Return the epsilon of one share and of the site's own counts."""
        asked = self.question
        row = alone_epsilon(asked.pooled_epsilon / asked.rows_per_person, asked.honest, levels=self.levels)
        return f"epsilon {three_digits(asked.own_epsilon + asked.rows_per_person * row)}"

    def price_words(self) -> str:
        """Return epsilon."""
        return f"epsilon {self.question.epsilon}"

    def part_words(self) -> tuple[str, str]:
        """Return both epsilons."""
        return f"epsilon {shown(self.question.own_epsilon)}", f"epsilon {shown(self.question.pooled_epsilon)}"

    def divided_words(self) -> str:
        """Return the parts of epsilon."""
        if not self.has_own:
            return ""
        own, pooled = shown(self.question.own_epsilon), shown(self.question.pooled_epsilon)
        return f"Epsilon {own} is for each site's own results, {pooled} for the sum."

    def described_price(self) -> Iterator[tuple[str, str]]:
        """Yield epsilon and its parts."""
        asked = self.question
        own, pooled = shown(asked.own_epsilon), shown(asked.pooled_epsilon)
        yield "epsilon", f"{shown(asked.exact_epsilon)} at each site: {own} for its own results, {pooled} for the sum"

    def several_sites_words(self) -> str:
        """Return that epsilons add up."""
        return "A person with rows at several sites pays at each of them: the epsilons add up."

    def _shares(self, epsilon: Fraction, honest: int) -> LaplaceShares:
        return LaplaceShares(scale=self.levels / self._terms(epsilon).epsilon, honest=honest)
