"""Interface of the noise of a private question: what its two answers cost, and how it is drawn and read.

A site gives two answers: its share of the noisy sum and, with a `site_share` above 0, noisy counts of its own. All that
is asked here follows from the question.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from confide.privacy.mechanisms.strategies import Strategy, best_strategy
from confide.releases.share_noise import GAUSSIAN, ShareNoise
from confide.releases.terms import Terms

if TYPE_CHECKING:
    from confide.federation.question import Question
    from confide.privacy.guarantee import Guarantee
    from confide.privacy.mechanisms.private_counts import Cells
    from confide.privacy.queries import GaussianShareQuery, ShareQuery

PUBLIC = ("grid of scores",)
"""Facts that a private answer takes as public."""


@dataclass(frozen=True, slots=True)
class PrivateNoise(ABC):
    """Noise of a private question.

    `unit` in methods is the unit of a guarantee: that of the question, or that of a site's ledger.
    """

    question: Question
    family: ClassVar[str]

    @property
    def has_own(self) -> bool:
        """True if each site also releases noisy counts of its own."""
        return bool(Fraction(self.question.site_share or 0))

    @property
    def strategy(self) -> Strategy:
        """Sums of cells that noise is added to; they follow from the number of cells."""
        return best_strategy(len(self.question.public_grid), gaussian=self.family == GAUSSIAN)

    @property
    def levels(self) -> int:
        """Number of these sums that one row takes part in."""
        return self.strategy.levels(len(self.question.public_grid))

    @property
    @abstractmethod
    def pooled_shares(self) -> ShareNoise:
        """Noise of the sum over all sites."""

    @property
    @abstractmethod
    def own_shares(self) -> ShareNoise:
        """Noise of a site's own counts, as one whole share."""

    @property
    @abstractmethod
    def worth_epsilon(self) -> float:
        """Epsilon at which one trusted curator's Laplace noise would be as large as that of the pooled counts."""

    @abstractmethod
    def check(self) -> None:
        """Refuse parts that no release could have."""

    @abstractmethod
    def share(self, cells: Cells) -> ShareQuery | GaussianShareQuery:
        """Return the query for a site's share of the sum."""

    @abstractmethod
    def own_options(self) -> dict[str, Any]:
        """Return price and mechanism of a site's own counts, as `prepare_curves` takes them."""

    @abstractmethod
    def sum_terms(self) -> dict[str, Any]:
        """Return the terms that size the noise of the sum, for the identity of a share."""

    @abstractmethod
    def guarantee(self, *, unit: str | None = None, public: Sequence[str] = PUBLIC) -> Guarantee:
        """Return the guarantee of both answers together."""

    @abstractmethod
    def pooled_guarantee(self, *, unit: str | None = None, public: Sequence[str] = PUBLIC) -> Guarantee:
        """Return the guarantee of the sum."""

    @abstractmethod
    def own_guarantee(self) -> Guarantee:
        """Return the guarantee of a site's own counts."""

    @abstractmethod
    def alone_words(self) -> str:
        """Return what a site's own noise alone protects by, against everybody else together."""

    @abstractmethod
    def price_words(self) -> str:
        """Return the price of both answers."""

    @abstractmethod
    def part_words(self) -> tuple[str, str]:
        """Return the prices of a site's own counts and of the sum."""

    @abstractmethod
    def divided_words(self) -> str:
        """Return how the price is divided between the two answers, in a sentence; empty if there is nothing to say."""

    @abstractmethod
    def described_price(self) -> Iterator[tuple[str, str]]:
        """Yield the price and the noise in words, each a name and a value."""

    @abstractmethod
    def several_sites_words(self) -> str:
        """Return what is left to a person with rows at several sites."""

    def _terms(self, epsilon: Fraction, delta: Fraction | int = 0, unit: str | None = None) -> Terms:
        given = self.question.terms()
        return Terms.checked(epsilon=epsilon, delta=delta, **({**given, "unit": unit} if unit else given))
