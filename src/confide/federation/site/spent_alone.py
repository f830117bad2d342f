"""Epsilon of some of a site's private answers by themselves: those of a study, or those of a period.

A ledger that adds up epsilon needs no more than a sum. In one that adds up rho (zCDP), a part of the charges does not
cost a part of the account's epsilon, as the conversion costs something for each part anew. So each limit counts what it
limits by itself, at the delta of the account: the answers fit if

- all have Laplace noise, and their epsilons add up to at most the limit, or
- all rho add up to at most `rho_for(limit, delta)`, where epsilon of Laplace noise counts as `epsilon^2 / 2`.

This holds for the answers that are charged to a study or period, whoever asks, and in whatever order. Let L be their
privacy loss; they are given while either condition holds. In runs that end with the first one, L is at most the limit.
In runs that end with the second one, L exceeds it with a chance of at most delta, as the supermartingale of zCDP counts
every answer by its rho; runs that end with the first one add nothing to that chance.

Limit and delta must not follow answers: a policy that is changed after results were seen promises less. Answers that
another study paid for are stored, and cost nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from confide.errors import FederationError, ParameterError
from confide.ledger.budget import NOTHING, Budget
from confide.privacy.accounting import epsilon_for, rho_for
from confide.privacy.concentration import rho_of_pure
from confide.privacy.guarantee import stored_fraction
from confide.privacy.noise.reals import upper_sqrt

if TYPE_CHECKING:
    from confide.federation.question import Question
    from confide.ledger.entries import Entry


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of answers: the epsilon of each with Laplace noise, and the rho of those with Gaussian noise."""

    pure: tuple[Fraction, ...] = ()
    rho: Fraction = Fraction(0)

    @classmethod
    def of_charges(cls, charges: Iterable[Entry]) -> Prices:
        """Return the prices that a site's ledger holds."""
        return sum((_charged(charge) for charge in charges), cls())

    @classmethod
    def of_question(cls, question: Question, price: Budget) -> Prices:
        """Return the price of a question, given the ledger's: that of what is not stored yet."""
        if price == NOTHING:
            return cls()
        if question.delta:
            return cls(rho=_stated(price.rho))
        return cls(pure=(question.exact_epsilon if price.rho else price.epsilon,))

    def __add__(self, other: Prices) -> Prices:
        return Prices(pure=(*self.pure, *other.pure), rho=self.rho + other.rho)

    @property
    def added(self) -> Fraction:
        """Sum of the epsilons."""
        return sum(self.pure, Fraction(0))

    @property
    def all_rho(self) -> Fraction:
        """Rho of all answers."""
        return self.rho + sum(map(rho_of_pure, self.pure), Fraction(0))

    def fit(self, limit: Fraction, delta: Fraction) -> bool:
        """Return whether all together cost at most a limit, at this delta; delta 0 if the ledger adds up epsilon."""
        if not self.rho and self.added <= limit:
            return True
        return bool(delta) and self.all_rho <= _largest_rho(limit, delta)

    def epsilon(self, delta: Fraction) -> Fraction:
        """Return the epsilon of all together, rounded up: the smaller one of both ways to count, for people."""
        if not delta or not self.all_rho:
            return self.added
        converted = epsilon_for(self.all_rho, delta)
        return converted if self.rho else min(self.added, converted)


def _largest_rho(limit: Fraction, delta: Fraction) -> Fraction:
    try:
        return rho_for(limit, delta)
    except ParameterError:  # too small a limit for any rho at this delta
        return Fraction(0)


def _charged(charge: Entry) -> Prices:
    amount, guarantee = charge.amount, charge.request_data["guarantee"]
    if stored_fraction(guarantee["delta"]):  # Gaussian noise: Laplace noise has no delta
        return Prices(rho=_stated(amount.rho))
    if not amount.rho:
        return Prices(pure=(amount.epsilon,))
    epsilon = stored_fraction(guarantee["epsilon"])
    return Prices(pure=(epsilon if rho_of_pure(epsilon) == amount.rho else upper_sqrt(2 * amount.rho),))


def _stated(rho: Fraction) -> Fraction:
    """Return the rho of Gaussian noise; refuse a price without one, which would count as nothing."""
    if not rho:
        raise FederationError(
            "the site's ledger has a price with delta and without rho, which its limits cannot count; restore the "
            "ledger from a backup"
        )
    return rho
