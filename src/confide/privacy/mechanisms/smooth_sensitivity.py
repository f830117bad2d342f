"""Noise scaled to a smooth bound on the local sensitivity: Pareto, Student-t, and the papers' Cauchy and Laplace.

Proof: smooth_sensitivity.proof.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from confide.errors import ParameterError
from confide.privacy.noise.pareto import ParetoShape
from confide.privacy.noise.reals import ExactReal, lower_log, upper_log, upper_sqrt
from confide.privacy.queries import Family, RealQuery

DEGREES_OF_FREEDOM = 3
DEFAULT_SMOOTHNESS = Fraction(1, 10)
"""Beta over epsilon where no prevalence was guessed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Noise of a family with scale `multiplier * S`, where S is a beta-smooth bound; all of it public."""

    family: Family
    beta: Fraction
    multiplier: Fraction
    degrees_of_freedom: int = 0
    delta: Fraction = Fraction(0)
    shape: ParetoShape | None = None

    def query(self, value: Fraction, smooth_bound: ExactReal) -> RealQuery:
        """Query a value with this noise."""
        return RealQuery(
            value=value,
            scale=smooth_bound * self.multiplier,
            family=self.family,
            degrees_of_freedom=self.degrees_of_freedom,
            shape=self.shape,
        )


def pareto(epsilon: Fraction, beta: Fraction) -> Calibration:
    """Calibrate Pareto noise: epsilon-differentially private, with the least error that the proof's way allows."""
    if not 0 < beta < epsilon:
        raise ParameterError("beta must lie strictly between 0 and epsilon; lower beta")
    shape = ParetoShape.symmetric(core=beta / epsilon, tail=beta / epsilon)
    return Calibration(family="pareto", beta=beta, multiplier=1 / epsilon, shape=shape)


def student_t(epsilon: Fraction, beta: Fraction, degrees_of_freedom: int = DEGREES_OF_FREEDOM) -> Calibration:
    """Calibrate Student-t noise: epsilon-differentially private if `epsilon >= (d+1)/(2 sqrt d)/sigma + d beta`.

    Reference: Bun & Steinke (2019), Average-case averages, theorem 31.
    """
    d = degrees_of_freedom
    if not 0 < d * beta < epsilon:
        raise ParameterError("beta must lie strictly between 0 and epsilon / degrees of freedom; lower beta")
    return Calibration(
        family="student-t",
        beta=beta,
        multiplier=upper_sqrt(d) * Fraction(d + 1, 2 * d) / (epsilon - d * beta),
        degrees_of_freedom=d,
    )


def published_cauchy(epsilon: Fraction) -> Calibration:
    """Calibrate Cauchy noise as in Boyd, Lantz & Page (2015), theorem 2: `beta = epsilon/6`, scale `6S/epsilon`."""
    return Calibration(family="cauchy", beta=epsilon / 6, multiplier=6 / epsilon)


def published_laplace(epsilon: Fraction, delta: Fraction) -> Calibration:
    """Calibrate Laplace noise as in the same theorem: `beta = epsilon/(2 ln(2/delta))`, scale `2S/epsilon`.

    Only (epsilon, delta)-differentially private. The theorem holds for epsilon up to 1; beyond, where
    the published beta can break its promise, it is `ln(1 + epsilon/(2 ln(2/delta)))`. Beta is
    rounded down.
    """
    if not 0 < delta <= Fraction(1, 2):
        raise ParameterError("smooth Laplace noise needs delta above 0 and at most 1/2; give it, for example 1e-6")
    beta = epsilon / (2 * upper_log(2 / delta))
    return Calibration(
        family="laplace", beta=beta if epsilon <= 1 else lower_log(1 + beta), multiplier=2 / epsilon, delta=delta
    )
