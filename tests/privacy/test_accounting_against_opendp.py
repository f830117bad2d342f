"""Composition and concentrated guarantees against high precision, OpenDP and the optimal composition theorem."""

from __future__ import annotations

import sys
from fractions import Fraction
from math import comb
from typing import Any

import mpmath
import pytest

from confide import Guarantee, Neighbours
from confide.errors import ParameterError, UsageError
from confide.privacy.accounting import epsilon_for, rho_for, tight_epsilon, total

EPSILONS = [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(20)]
DELTAS = [Fraction(1, 10**12), Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 2), Fraction(999, 1000)]
RHOS = [Fraction(1, 10**6), Fraction(1, 50), Fraction(1), Fraction(30)]


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def implied(rho: mpmath.mpf, delta: Fraction) -> mpmath.mpf:
    """Bun & Steinke (2016), proposition 1.3, as written there."""
    return rho + 2 * mpmath.sqrt(rho * mpmath.log(1 / real(delta)))


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_rho_against_high_precision(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_for(epsilon, delta)
    with mpmath.workdps(80):
        assert implied(real(rho), delta) <= real(epsilon)  # never in the user's favour
        logarithm = mpmath.log(1 / real(delta))
        best = (mpmath.sqrt(logarithm + real(epsilon)) - mpmath.sqrt(logarithm)) ** 2
        assert real(rho) >= best * (1 - mpmath.mpf(10) ** -9)  # and hardly less than there is


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", RHOS)
def test_epsilon_against_high_precision(rho: Fraction, delta: Fraction) -> None:
    epsilon = epsilon_for(rho, delta)
    with mpmath.workdps(80):
        exact = implied(real(rho), delta)
        assert exact <= real(epsilon) <= exact * (1 + mpmath.mpf(2) ** -55)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_there_and_back_never_gains(epsilon: Fraction, delta: Fraction) -> None:
    back = epsilon_for(rho_for(epsilon, delta), delta)
    assert back <= epsilon * (1 + Fraction(1, 2**50))
    assert back >= epsilon * (1 - Fraction(1, 10**6))


@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 10**6), Fraction(1, 100)])
@pytest.mark.parametrize("rho", RHOS)
def test_epsilon_against_opendp(rho: Fraction, delta: Fraction) -> None:
    """OpenDP converts by the tighter bound of Canonne, Kamath & Steinke: ours must not lie below it."""
    from opendp.combinators import make_zCDP_to_approxDP
    from opendp.domains import atom_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import absolute_distance
    from opendp.mod import disable_features, enable_features

    scale = float((1 / (2 * rho)) ** Fraction(1, 2))
    enable_features("contrib")
    try:
        measurement: Any = make_gaussian(atom_domain(T="i64"), absolute_distance(T="i64"), scale=scale)
        converted: Any = make_zCDP_to_approxDP(measurement)
        theirs = converted.map(1).epsilon(float(delta))
    finally:
        disable_features("contrib")
    ours = float(epsilon_for(rho, delta))
    assert theirs * (1 - 1e-9) <= ours <= 2.0 * theirs + 0.01


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1), Fraction(2)])
def test_without_a_delta_there_is_no_gaussian(delta: Fraction) -> None:
    with pytest.raises(ParameterError, match="delta between 0 and 1; give delta"):
        rho_for(Fraction(1), delta)
    with pytest.raises(ParameterError, match="delta between 0 and 1; give delta"):
        epsilon_for(Fraction(1), delta)


def test_an_epsilon_too_small_for_any_rho_is_refused() -> None:
    with pytest.raises(ParameterError, match="raise epsilon"):
        rho_for(Fraction(1, 10**30), Fraction(1, 10**6))


def optimal_delta(epsilon: float, times: int, whole: float) -> mpmath.mpf:
    """The least delta at which `times` queries of pure epsilon are together `whole`-private.

    Kairouz, Oh & Viswanath (2015), theorem 3.3, as a function of the total epsilon: randomised response
    is the worst, and its privacy loss is `(times - 2 flips) epsilon`.
    """
    with mpmath.workdps(30):
        e = mpmath.mpf(epsilon)
        scale = (1 + mpmath.exp(e)) ** times
        return mpmath.fsum(
            comb(times, flips)
            * max(mpmath.exp((times - flips) * e) - mpmath.exp(whole) * mpmath.exp(flips * e), mpmath.mpf(0))
            / scale
            for flips in range(times + 1)
        )


def optimal_epsilon(epsilon: float, times: int, delta: float) -> float:
    low, high = 0.0, epsilon * times
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (middle, high) if optimal_delta(epsilon, times, middle) > delta else (low, middle)
    return high


def pure(epsilon: Any, times: int, **terms: Any) -> list[Guarantee]:
    return [Guarantee(**{"epsilon": epsilon, "neighbours": Neighbours.REPLACE_ONE, **terms})] * times


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("epsilon", "times", "delta"), [(0.1, 100, 1e-6), (0.01, 500, 1e-9), (0.5, 30, 1e-3), (1, 4, 1e-5), (2, 1, 1e-6)]
)
def test_tight_composition_against_the_optimal_theorem(epsilon: float, times: int, delta: float) -> None:
    """Nothing below the optimum can hold, so what is found must not lie below it, rounding errors included."""
    exact = optimal_epsilon(epsilon, times, delta)
    found = tight_epsilon(pure(epsilon, times), delta)
    assert exact * (1 - 1e-12) <= found <= min(exact * 1.02 + 2e-4 * times, epsilon * times * (1 + 1e-12))


def test_tight_composition_pays_for_many_and_costs_nothing_for_few() -> None:
    assert tight_epsilon(pure("0.1", 100), "1e-6") < 7
    for times in (1, 2):
        assert tight_epsilon(pure("0.1", times), "1e-9") <= float(total(pure("0.1", times)).epsilon)


def test_tight_composition_of_different_guarantees_lies_between_the_largest_and_the_sum() -> None:
    mixed = [*pure("0.1", 20), *pure(1, 1, delta="1e-8")]
    assert 1.0 < tight_epsilon(mixed, "1e-6") < 3.0
    assert tight_epsilon(mixed, "1e-6") == pytest.approx(tight_epsilon(mixed[::-1], "1e-6"), rel=1e-9)


def test_tight_composition_needs_more_delta_than_was_promised_away() -> None:
    with_delta = pure(1, 2, delta="1e-6")
    with pytest.raises(ParameterError, match="give a larger"):
        tight_epsilon(with_delta, "2e-6")
    with pytest.raises(ParameterError, match="give a larger"):
        tight_epsilon(pure(1, 3), 0)
    with pytest.raises(ParameterError, match="delta must"):
        tight_epsilon(pure(1, 3), 1)


def test_tight_composition_of_different_relations_is_refused() -> None:
    mixed = [*pure(1, 1), *pure(1, 1, neighbours=Neighbours.LABEL_ONLY)]
    with pytest.raises(ParameterError, match="in_account_of"):
        tight_epsilon(mixed, "1e-6")


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dp_accounting", "dp_accounting.pld"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"pip install 'confide\[pld\]'"):
        tight_epsilon(pure("0.1", 3), "1e-6")
