"""Concentrated composition (zCDP) at one order: many small releases cost less together than the sum of their epsilons.

The releases of an account are counted in one of two ways, which is decided before their noise is drawn. Inside, a
release costs its rho: Gaussian noise states it, and pure epsilon implies `epsilon^2 / 2`. Outside, a release costs its
epsilon and delta. All together they cost

    epsilon = sum of epsilons outside + order * sum of rho + reserve,   delta = sum of deltas outside + delta

where `order` and `delta` are fixed before the first release. So prices add up as always, except for the reserve, which
the first rho costs once. A pure release is cheaper inside if its epsilon is below `2 / order`. It is counted there,
unless only counting it outside fits, for example where little is left and the reserve was not paid.

The order must not follow what was released: an analyst who could choose the best order after seeing answers would get
more than delta. That is why the account keeps the order that is best if all of epsilon is spent on rho.

Proof: concentration.proof.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from confide.errors import ParameterError
from confide.privacy.guarantee import Guarantee, stored_fraction
from confide.privacy.noise.reals import lower_log, upper_log

CONVERSION_SHARE = Fraction(9, 10)
"""Share of an account's delta that converts rho. The rest is for releases with a delta and no rho; it costs little."""

_STEPS = 200  # of a search whose interval shrinks by a third
_FINENESS = 1024  # the order's denominator: the rho that is lost by rounding it is below one in a million
_LARGEST = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Concentration:
    """The order and delta at which the rho of an account are converted to epsilon.

    >>> many = Concentration.for_account(Fraction(3), Fraction(1, 10**6))
    >>> round(float(many.rho_within(Fraction(3))), 4)
    0.1836
    """

    order: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if self.order <= 1:
            raise ParameterError(f"the order of a conversion must exceed 1; got {self.order}")
        if not 0 < self.delta < 1:
            raise ParameterError("zCDP gives an epsilon only for a delta between 0 and 1; give delta, for example 1e-6")

    @classmethod
    def for_budget(cls, epsilon: Fraction, delta: Fraction) -> Concentration:
        """Return the order that allows most rho if a budget is spent on rho alone."""
        if not 0 < delta < 1:
            raise ParameterError("zCDP gives an epsilon only for a delta between 0 and 1; give delta, for example 1e-6")
        whole, logarithm = float(epsilon), -math.log(delta) if delta > 1e-300 else float(upper_log(1 / delta))
        low, high = math.log(1e-3), math.log(_LARGEST)
        for _ in range(_STEPS):
            third = (high - low) / 3.0
            if _rho_at(low + third, whole, logarithm) < _rho_at(high - third, whole, logarithm):
                low += third
            else:
                high -= third
        order = 1 + Fraction(max(round(math.exp(low) * _FINENESS), 1), _FINENESS)
        return cls(order=order, delta=delta)

    @classmethod
    def for_account(cls, epsilon: Fraction, delta: Fraction) -> Concentration:
        """Return the order and delta at which an account with these caps converts rho."""
        return cls.for_budget(epsilon, CONVERSION_SHARE * delta)

    @property
    def reserve(self) -> Fraction:
        """Epsilon that conversion adds once, rounded up: Canonne, Kamath & Steinke (2020), proposition 12."""
        less = self.order - 1
        logarithms = upper_log(1 / self.delta) - lower_log(self.order) + less * upper_log(less / self.order)
        return max(logarithms / less, Fraction(0))

    def epsilon_of(self, rho: Fraction) -> Fraction:
        """Return the epsilon that a sum of rho amounts to, rounded up."""
        return self.order * rho + self.reserve if rho else Fraction(0)

    def rho_within(self, epsilon: Fraction) -> Fraction:
        """Return the largest rho that an epsilon allows; 0 if there is none."""
        return max(epsilon - self.reserve, Fraction(0)) / self.order

    def rho_of(self, guarantee: Guarantee) -> Fraction | None:
        """Return the rho that a release is counted with inside; None if it is counted outside."""
        if guarantee.rho is not None or guarantee.delta:
            return guarantee.rho
        return rho_of_pure(guarantee.epsilon) if guarantee.epsilon * self.order < 2 else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with exact fractions as text."""
        return {"order": str(self.order), "delta": str(self.delta)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Concentration:
        """Read plain data."""
        return cls(order=stored_fraction(plain["order"]), delta=stored_fraction(plain["delta"]))


def rho_of_pure(epsilon: Fraction) -> Fraction:
    """Return the rho of a pure guarantee: epsilon implies `epsilon^2 / 2` (Bun & Steinke 2016, proposition 1.4)."""
    return epsilon * epsilon / 2


def _rho_at(log_less: float, epsilon: float, logarithm: float) -> float:
    """Return the rho that an order allows, about: the order is `1 + exp(log_less)`."""
    less = math.exp(log_less)
    reserve = (logarithm - math.log1p(less)) / less + math.log(less) - math.log1p(less)
    return (epsilon - reserve) / (1.0 + less)
