"""Noise of a private question: Laplace or Gaussian, and what each promises.

A site gives two answers: its share of the noisy sum and, with a `site_share` above 0, noisy counts of its own. All that
is asked here follows from the question.

Epsilon and delta allow one rho (zCDP). Rho adds up, so that both answers together have the epsilon and delta of the
question. Of many questions the rho add up too, in a ledger of composition zcdp, and cost much less than the sum of
their epsilons.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from confide.errors import ParameterError, did_you_mean
from confide.privacy.accounting import epsilon_for, rho_for
from confide.privacy.guarantee import checked_delta, checked_epsilon, shown, three_digits
from confide.privacy.mechanisms.gaussian_shares import share_variance, shared_gaussian_counts, shares_rho
from confide.privacy.mechanisms.noise_shares import alone_epsilon, shared_counts
from confide.privacy.mechanisms.strategies import Strategy, best_strategy
from confide.privacy.noise.reals import upper_sqrt
from confide.releases.shared_counts import GAUSSIAN, LAPLACE, GaussianShares, LaplaceShares, ShareNoise
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


NOISES = (LAPLACE, GAUSSIAN)

MOST_DELTA = Fraction(1, 1000)
"""Largest delta of a question and of a policy."""


def noise_of(question: Question) -> PrivateNoise:
    """Return the noise of a private question."""
    return GaussianNoise(question) if question.noise == GAUSSIAN else LaplaceNoise(question)


def checked_noise(noise: object, delta: object) -> dict[str, str | None]:
    """Return noise and delta as a question has them; Laplace noise, the default, is not mentioned."""
    if noise not in (None, *NOISES):
        hint = did_you_mean(str(noise), NOISES)
        raise ParameterError(f"`noise` must be one of {', '.join(NOISES)}; got {noise!r}. {hint}".rstrip())
    if noise != GAUSSIAN:
        if delta is not None:
            raise ParameterError("`delta` is for Gaussian noise: ask with `noise=gaussian`, or leave `delta` out")
        return {"noise": None, "delta": None}
    if delta is None:
        raise ParameterError("Gaussian noise needs `delta`, far below 1 / rows, for example 1e-6")
    exact = checked_small_delta(delta)
    if not exact:
        raise ParameterError("Gaussian noise needs a `delta` above 0, for example 1e-6; or ask with `noise=laplace`")
    return {"noise": GAUSSIAN, "delta": str(exact)}


def checked_small_delta(value: object) -> Fraction:
    """Return delta, refusing one above `MOST_DELTA`: a mechanism that shows each row with that chance has it."""
    delta = checked_delta(value)
    if delta > MOST_DELTA:
        raise ParameterError(
            f"delta must be at most {shown(MOST_DELTA)}: delta is the chance that the promise fails; give one far "
            f"below 1 / rows, such as 1e-6. Got {value!r}"
        )
    return delta
