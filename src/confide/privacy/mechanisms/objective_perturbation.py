"""Logistic regression whose loss is tilted at random: objective perturbation, at a lower price than published.

Chaudhuri, Monteleoni & Sarwate (2011), algorithm 2, without their assumption that the minimum is found exactly: as in
Iyengar et al. (2019), a little noise covers how far the computed weights may be from it. The price of the change of
variables, `log(1 + 1/(4 regularization))` as published, is paid only where it is due: a row whose second derivative
matters has a gradient that is short. Proof: objective_perturbation.proof.md.

References
----------
.. [1] K. Chaudhuri, C. Monteleoni and A. D. Sarwate, "Differentially private empirical risk minimization", JMLR 12
   (2011), 1069-1109.
.. [2] R. Iyengar, J. P. Near, D. Song, O. Thakkar, A. Thakurta and L. Wang, "Towards practical differentially private
   convex optimization", IEEE S&P 2019.

"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from flint import arb

from confide.errors import ParameterError
from confide.privacy.guarantee import shown
from confide.privacy.mechanisms.logistic_minimum import TILT_BITS, distance_bound, near_minimum
from confide.privacy.mechanisms.unit_rows import UnitRows
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import ExactReal, exact, lower_exponential, square_root, upper_bound, upper_log
from confide.privacy.queries import SYSTEM_NOISE, Noise, SphericalQuery

ROUNDING_SHARE = Fraction(1, 100)
"""The share of epsilon that pays for not finding the minimum exactly."""

_HALVINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TiltedQuery:
    """Weights to be released where the loss, tilted at random, is least, with a little noise of their own.

    The tilt has a density proportional to `exp(-|b| / tilt_scale)`, the noise on the weights one proportional to
    `exp(-|z| / weight_scale)`.
    """

    rows: UnitRows = field(repr=False)
    regularization: Fraction
    tilt_scale: Fraction
    weight_scale: Fraction

    def draw(self, noise: Noise = SYSTEM_NOISE) -> tuple[Fraction, ...]:
        """Release the weights once."""
        upright = (Fraction(0),) * self.rows.width
        tilt = noise.spherical_laplace(upright, self.tilt_scale, Fraction(1, 2**TILT_BITS))
        found = near_minimum(self.rows, self.regularization, tilt)
        return SphericalQuery(values=found, scale=self.weight_scale).draw(noise)

    def draw_many(self, times: int, noise: Noise = SYSTEM_NOISE) -> list[tuple[Fraction, ...]]:
        """Release independently many times, as an audit does."""
        return [self.draw(noise) for _ in range(times)]


def objective_perturbation(
    rows: UnitRows, regularization: Fraction, epsilon: Fraction, neighbours: Neighbours
) -> TiltedQuery:
    """Query the weights that minimise the regularised loss after a random tilt."""
    rounding = epsilon * ROUNDING_SHARE
    return TiltedQuery(
        rows=rows,
        regularization=regularization,
        tilt_scale=1 / tilt_rate(regularization, epsilon - rounding, neighbours),
        weight_scale=2 * distance_bound(regularization) / rounding,
    )


def tilt_rate(regularization: Fraction, epsilon: Fraction, neighbours: Neighbours) -> Fraction:
    """Return the largest `1 / scale` of the tilt, rounded down, with which the exact minimum costs epsilon at most.

    Refuses what no tilt can give, by these public parameters alone.
    """
    most = epsilon / 2 if neighbours == Neighbours.REPLACE_ONE else epsilon
    if neighbours == Neighbours.LABEL_ONLY or regularization * most >= 1:
        return most
    fits, fails = Fraction(0), most
    if upper_log(1 + 1 / (4 * regularization)) < epsilon:
        for _ in range(_HALVINGS):
            middle = (fits + fails) / 2
            if _price(middle, regularization, neighbours) <= epsilon:
                fits = middle
            else:
                fails = middle
    if fits == 0:
        least = 1 / (4 * (lower_exponential(epsilon) - 1))
        raise ParameterError(
            f"objective perturbation with regularization {shown(regularization)} cannot be had for this epsilon: take "
            f"a regularization of at least {_rounded_up(least)}, a larger epsilon, or output perturbation"
        )
    return fits


def row_price(rate: Fraction, regularization: Fraction) -> Fraction:
    """`max over p in [0, 1] of rate p + log(1 + p (1-p) / regularization)`, rounded up.

    That is what one row more or less costs. The expression is concave in p; at p = 1 it still ascends, so that the
    maximum is there, if `rate >= 1/regularization`.
    """
    if rate * regularization >= 1:
        return rate
    root = square_root(rate**2 + 4 + 4 * rate**2 * regularization)

    def price() -> arb:
        top = (root.enclose() + exact(rate - 2).enclose()) / exact(2 * rate).enclose()
        bend = 1 + top * (1 - top) / exact(regularization).enclose()
        return top * exact(rate).enclose() + bend.log()

    return upper_bound(ExactReal(price))


def _price(rate: Fraction, regularization: Fraction, neighbours: Neighbours) -> Fraction:
    """Return the price of neighbours; under replace-one the removed row adds the price of its gradient."""
    return row_price(rate, regularization) + (rate if neighbours == Neighbours.REPLACE_ONE else 0)


def _rounded_up(value: Fraction) -> str:
    """Round up to three digits."""
    unit = Fraction(10) ** (math.floor(math.log10(value)) - 2)
    return f"{float(math.ceil(value / unit) * unit):.3g}"
