"""Adding guarantees up: exact sums, concentrated guarantees, and a tighter bound for many small queries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from confide.errors import ParameterError, UsageError
from confide.privacy.guarantee import Guarantee, checked_delta
from confide.privacy.noise.integers import float_at_least
from confide.privacy.noise.reals import lower_sqrt, upper_log, upper_sqrt


def total(guarantees: Iterable[Guarantee]) -> Guarantee:
    """Compose guarantees by adding epsilons and deltas; queries may be chosen one after the other.

    All must hide the same thing: the same neighbours and unit. A guarantee for persons with many rows holds for those
    with fewer, so the total is for persons with as many rows as every guarantee covers. Concentrated guarantees add up
    as such where every one is given so, but the sum of epsilons is what is promised.
    """
    every = list(guarantees)
    if not every:
        raise ParameterError("there is nothing to add up; give at least one guarantee")
    first = every[0]
    for other in every[1:]:
        if (other.neighbours, other.unit) != (first.neighbours, first.unit):
            raise ParameterError(
                "guarantees with different neighbours or units do not add up; convert them with in_account_of first"
            )
    concentrated = [guarantee.rho for guarantee in every if guarantee.rho is not None]
    return Guarantee(
        epsilon=sum((guarantee.epsilon for guarantee in every), Fraction(0)),
        delta=sum((guarantee.delta for guarantee in every), Fraction(0)),
        neighbours=first.neighbours,
        unit=first.unit,
        public=tuple(dict.fromkeys(fact for guarantee in every for fact in guarantee.public)),
        rho=sum(concentrated, Fraction(0)) if len(concentrated) == len(every) else None,
        rows_per_person=min(guarantee.rows_per_person for guarantee in every),
    )


def split_evenly(epsilon: Fraction, parts: int) -> tuple[Fraction, ...]:
    """Divide a budget into equal parts that add up exactly."""
    return (epsilon / parts,) * parts


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, rounded down, whose zCDP implies (epsilon, delta).

    rho-zCDP implies `epsilon = rho + 2 sqrt(rho log(1/delta))` (Bun & Steinke 2016, proposition
    1.3), so `sqrt(rho) = sqrt(L + epsilon) - sqrt(L)` with `L = log(1/delta)`.
    """
    if not 0 < delta < 1:
        raise ParameterError("Gaussian noise needs delta between 0 and 1; give delta, for example 1e-6")
    logarithm = upper_log(1 / delta)
    root = lower_sqrt(logarithm + epsilon) - upper_sqrt(logarithm)
    rho = root * root
    floor = Fraction(rho.numerator * _FINE // rho.denominator, _FINE)
    if floor <= 0:
        raise ParameterError("epsilon is too small for Gaussian noise at this delta; raise epsilon or use Laplace")
    return floor


def epsilon_for(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the epsilon, rounded up, that rho-zCDP implies at a delta."""
    if not 0 < delta < 1:
        raise ParameterError("zCDP gives an epsilon only for a delta between 0 and 1; give delta, for example 1e-6")
    return rho + 2 * upper_sqrt(rho * upper_log(1 / delta))


def tight_epsilon(guarantees: Sequence[Guarantee], delta: object) -> float:
    """A tighter epsilon for all together at a total delta, by composing privacy loss distributions.

    Each guarantee enters as the worst mechanism that has it, so the bound holds whatever the
    mechanisms were, and also if queries depended on earlier answers. But the number of queries, and the
    price of each, must be fixed before the first. It pays for many
    small queries; for few it equals their sum. Needs the extra `confide[pld]`.
    """
    allowed = checked_delta(delta)
    whole = total(guarantees)
    if allowed <= whole.delta + 2 * _FLOAT_ERROR:
        raise ParameterError(
            "delta must exceed the sum of the guarantees' deltas, and be at least 1e-11; give a larger one"
        )
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError:
        raise UsageError("tight composition needs dp-accounting: pip install 'confide[pld]'") from None
    composed = None
    for (epsilon, own), times in _repeated(guarantees).items():
        worst = privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(float_at_least(epsilon), float_at_least(own))
        ).self_compose(times)
        composed = worst if composed is None else composed.compose(worst)
    assert composed is not None  # noqa: S101  # total() refused an empty list
    result = float(composed.get_epsilon_for_delta(float(allowed - _FLOAT_ERROR)))
    return min(math.nextafter(result, math.inf), float_at_least(whole.epsilon))


def _repeated(guarantees: Sequence[Guarantee]) -> dict[tuple[Fraction, Fraction], int]:
    times: dict[tuple[Fraction, Fraction], int] = {}
    for guarantee in guarantees:
        kind = (guarantee.epsilon, guarantee.delta)
        times[kind] = times.get(kind, 0) + 1
    return times


_FINE = 2**80
_FLOAT_ERROR = Fraction(5, 10**12)  # dp-accounting adds floats: its deltas are not nearer than this
