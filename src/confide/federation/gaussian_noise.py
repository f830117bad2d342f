"""Gaussian noise of a private question: a concentrated guarantee, whose rho is divided between the two answers.

Epsilon and delta allow one rho (zCDP). Rho adds up, so that both answers together have the epsilon and delta of the
question. Of many questions the rho add up too, in a ledger of composition zcdp, and cost much less than the sum of
their epsilons.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from confide.federation.noise_terms import PUBLIC, PrivateNoise
from confide.privacy.accounting import epsilon_for, rho_for
from confide.privacy.guarantee import checked_epsilon, shown, three_digits
from confide.privacy.mechanisms.gaussian_shares import share_variance, shared_gaussian_counts, shares_rho
from confide.privacy.noise.reals import upper_sqrt
from confide.releases.share_noise import GAUSSIAN, GaussianShares

if TYPE_CHECKING:
    from confide.privacy.guarantee import Guarantee
    from confide.privacy.mechanisms.private_counts import Cells
    from confide.privacy.queries import GaussianShareQuery

_FINE = 10**9  # the epsilons of both answers are rounded to so many parts, as they identify what a ledger stored


@dataclass(frozen=True, slots=True)
class GaussianNoise(PrivateNoise):
    """Discrete Gaussian noise: a concentrated guarantee, whose rho is divided between the two answers."""

    family: ClassVar[str] = GAUSSIAN

    @property
    def delta(self) -> Fraction:
        """Delta at which the question's rho has its epsilon."""
        return Fraction(self.question.delta or 0)

    @property
    def rho(self) -> Fraction:
        """Rho of both answers together, for all rows of a person: the largest that epsilon and delta allow."""
        return rho_for(self.question.exact_epsilon, self.delta)

    @property
    def own_epsilon(self) -> Fraction:
        """Epsilon of a site's own counts at the same delta: that of their part of rho, rounded down; 0 without them."""
        if not self.has_own:
            return Fraction(0)
        part = epsilon_for(Fraction(self.question.site_share or 0) * self.rho, self.delta)
        return checked_epsilon(Fraction(math.floor(part * _FINE), _FINE))

    @property
    def own_rho(self) -> Fraction:
        """Rho of a site's own counts; 0 if there are none. For persons with several rows it is a little less."""
        if not self.has_own:
            return Fraction(0)
        terms = self._terms(self.own_epsilon, self.delta)
        return self.question.rows_per_person**2 * rho_for(terms.epsilon, terms.delta)

    @property
    def pooled_rho(self) -> Fraction:
        """Rho of the sum: all that the sites' own counts leave."""
        return self.rho - self.own_rho

    @property
    def pooled_shares(self) -> GaussianShares:
        """Noise of the sum over all sites."""
        honest = self.question.honest
        variance = share_variance(self._row(self.pooled_rho), honest, levels=self.levels)
        return GaussianShares(variance=variance, honest=honest)

    @property
    def own_shares(self) -> GaussianShares:
        """Noise of a site's own counts: the variance of `concentrated_counts`."""
        scale = upper_sqrt(Fraction(self.levels) / (2 * self._row(self.own_rho)))
        return GaussianShares(variance=scale * scale, honest=1)

    @property
    def worth_epsilon(self) -> float:
        """Epsilon of a trusted curator whose Laplace noise has the same variance, `2 / epsilon^2`, on one level."""
        asked = self.question
        pooled, own = float(self._row(self.pooled_rho)), float(self._row(self.own_rho))
        return 2.0 * math.sqrt((asked.honest * pooled + own) / len(asked.sites))

    def check(self) -> None:
        """Refuse an epsilon that is too small for Gaussian noise at this delta, or for persons with so many rows."""
        self.guarantee()
        self.pooled_guarantee()
        if self.has_own:
            self.own_guarantee()
        _ = self.pooled_shares

    def share(self, cells: Cells) -> GaussianShareQuery:
        """Return the query for a site's share of the sum."""
        return shared_gaussian_counts(cells, self.pooled_shares.variance, self.strategy)

    def own_options(self) -> dict[str, Any]:
        """Return epsilon and delta of a site's own counts."""
        return {"epsilon": self.own_epsilon, "delta": self.delta, "mechanism": GAUSSIAN}

    def sum_terms(self) -> dict[str, Any]:
        """Return the rho of the sum; noise and delta are among the question's terms."""
        return {"epsilon": None, "rho": str(self.pooled_rho)}

    def guarantee(self, *, unit: str | None = None, public: Sequence[str] = PUBLIC) -> Guarantee:
        """Return the guarantee of both answers together."""
        return self._guarantee(self.question.exact_epsilon, self.rho, unit, public)

    def pooled_guarantee(self, *, unit: str | None = None, public: Sequence[str] = PUBLIC) -> Guarantee:
        """Return the guarantee of the sum; its epsilon is rounded up, but never above that of the question."""
        epsilon = Fraction(math.ceil(epsilon_for(self.pooled_rho, self.delta) * _FINE), _FINE)
        return self._guarantee(min(epsilon, self.question.exact_epsilon), self.pooled_rho, unit, public)

    def own_guarantee(self) -> Guarantee:
        """Return the guarantee of a site's own counts."""
        return self._guarantee(self.own_epsilon, self.own_rho, None, PUBLIC)

    def alone_words(self) -> str:
        """Return the epsilon, at the question's delta, of one share and of the site's own counts."""
        share = shares_rho(self.pooled_shares.variance, 1, levels=self.levels)
        assert share is not None  # noqa: S101  # one share always has a bound
        alone = self.own_rho + self.question.rows_per_person**2 * share
        return f"epsilon {three_digits(epsilon_for(alone, self.delta))}, delta {shown(self.delta)}"

    def price_words(self) -> str:
        """Return epsilon, delta and rho."""
        return f"epsilon {self.question.epsilon}, delta {shown(self.delta)} (rho {shown(self.rho, up=True)})"

    def part_words(self) -> tuple[str, str]:
        """Return both rho."""
        return f"rho {shown(self.own_rho, up=True)}" if self.has_own else "rho 0", (
            f"rho {shown(self.pooled_rho, up=True)}"
        )

    def divided_words(self) -> str:
        """Return rho and its parts."""
        whole = f"Its rho (zCDP), which the sites' ledgers add up, is {shown(self.rho, up=True)}"
        if not self.has_own:
            return f"{whole}."
        own, pooled = self.part_words()
        return f"{whole}: {own} for each site's own results, {pooled} for the sum."

    def described_price(self) -> Iterator[tuple[str, str]]:
        """Yield epsilon and delta, rho and its parts, and the noise."""
        own, pooled = self.part_words()
        yield "epsilon, delta", f"{shown(self.question.exact_epsilon)}, {shown(self.delta)} at each site"
        yield "rho", f"{shown(self.rho, up=True)}: {own} for its own results, {pooled} for the sum"
        yield "noise", "discrete Gaussian; the site's ledger adds up rho, which costs less for many questions"

    def several_sites_words(self) -> str:
        """Return that a group of rows costs the square of its size."""
        return (
            "A person with rows at several sites is protected less: at n sites, the rho of the sum counts n^2 times, "
            "and that of the sites' own results adds up."
        )

    def _row(self, rho: Fraction) -> Fraction:
        """Return the rho of single rows: k rows of a person make `k^2 rho`."""
        return rho / self.question.rows_per_person**2

    def _guarantee(self, epsilon: Fraction, rho: Fraction, unit: str | None, public: Sequence[str]) -> Guarantee:
        terms = self._terms(epsilon, self.delta, unit)
        return terms.guarantee(needs_delta=True, public=public, rho=self._row(rho))
