"""Price of Gaussian questions in a site's account that adds up rho, from public facts alone.

A question's rho is converted to epsilon at an order that the account fixed before its first charge, from its limits
`epsilon_in_all` and `delta_in_all` (see `privacy.concentration`). The conversion costs epsilon once, with the first
question. The limits of a site are its own: those of a new site and the question's delta stand in for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from confide.federation.gaussian_noise import GaussianNoise
from confide.federation.private_noise import noise_of
from confide.federation.question import Question
from confide.privacy.concentration import Concentration
from confide.privacy.guarantee import shown

MANY = 20
"""Number of questions whose price together is stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPrice:
    """Price of questions of one rho in an account with these limits."""

    rho: Fraction
    epsilon_in_all: Fraction
    delta_in_all: Fraction

    @classmethod
    def of(cls, question: Question) -> AccountPrice | None:
        """Return the price of a question with Gaussian noise; None for other questions.

        The account has the epsilon of a new site, or as much as the question has, and the question's delta.

        >>> terms = {"study": "s", "model": "m", "mode": "private", "sites": ("a", "b", "c")}
        >>> price = AccountPrice.of(Question.checked(**terms, epsilon="1/2", noise="gaussian", delta="1e-6"))
        >>> [round(float(each), 2) for each in (price.first, price.later, price.of_many(20))]
        [1.39, 0.04, 2.15]
        """
        noise = noise_of(question) if question.noise is not None else None
        if not isinstance(noise, GaussianNoise):
            return None
        from confide.federation.policy import Policy  # brings the ledger with it

        limit = max(Policy().epsilon_in_all, Fraction(math.ceil(question.exact_epsilon)))
        return cls(rho=noise.rho, epsilon_in_all=limit, delta_in_all=noise.delta)

    @property
    def conversion(self) -> Concentration:
        """Order and delta at which the account converts rho."""
        return Concentration.for_account(self.epsilon_in_all, self.delta_in_all)

    @property
    def first(self) -> Fraction:
        """Epsilon that the first question with Gaussian noise costs."""
        return self.of_many(1)

    @property
    def later(self) -> Fraction:
        """Epsilon that each later question costs."""
        return self.conversion.order * self.rho

    def of_many(self, questions: int) -> Fraction:
        """Return the epsilon of so many questions together."""
        return self.conversion.epsilon_of(questions * self.rho)

    def in_words(self) -> str:
        """Return the prices, and the limits of the account that they hold for."""
        return (
            f"The first Gaussian question costs epsilon {cents(self.first)} in a site's account, each later one like "
            f"this about {cents(self.later)}: the account adds up rho, and converts it to epsilon. "
            f"{self.account_words()}"
        )

    def account_words(self) -> str:
        """Return the limits of the account."""
        return (
            f"This holds for an account with epsilon_in_all = {shown(self.epsilon_in_all)} and delta_in_all = "
            f"{shown(self.delta_in_all)}, which converts rho at delta {shown(self.conversion.delta)}; with other "
            "limits the prices differ."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "epsilon_in_all": float(self.epsilon_in_all),
            "delta_in_all": float(self.delta_in_all),
            "rho": float(self.rho),
            "epsilon_first": float(self.first),
            "epsilon_later": float(self.later),
            f"epsilon_of_{MANY}": float(self.of_many(MANY)),
        }


def cents(epsilon: Fraction) -> str:
    """Write an epsilon with two decimals, rounded up, or with four digits if it is smaller."""
    if epsilon < Fraction(1, 100):
        return shown(epsilon, up=True)
    return f"{math.ceil(epsilon * 100) / 100:.2f}"
