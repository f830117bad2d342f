"""Concentrated composition against every analyst of a game, OpenDP, the exact Gaussian and high precision."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from confide.errors import ParameterError
from confide.privacy.accounting import rho_for
from confide.privacy.concentration import Concentration, rho_of_pure
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours

BUDGETS = [
    (Fraction(1, 10), Fraction(1, 10**6)),
    (Fraction(1), Fraction(1, 10**6)),
    (Fraction(3), Fraction(1, 100)),
    (Fraction(20), Fraction(1, 10**9)),
]
GAME = (Fraction(3), Fraction(1, 100), Fraction(1, 50))  # epsilon, delta and the epsilon of one small question


def worst_delta(left_outside: Callable[[int], float], epsilon: float, step: float) -> float:
    """The largest delta that any analyst reaches, by enumeration of all states of a game.

    Questions are randomised response, whose loss is `step` or `-step`. After n of them the analyst may put the
    epsilon that is left outside into one last randomised response; below 0 none is left and the game is over.
    """
    outside: list[float] = []
    while (left := left_outside(len(outside))) >= 0:
        outside.append(left)
    right = np.exp(step) / (1 + np.exp(step))
    value = np.zeros(0)
    for n in reversed(range(len(outside))):
        loss = (2 * np.arange(n + 1) - n) * step
        last = np.exp(outside[n]) / (1 + np.exp(outside[n]))
        asked = last * excess(loss + outside[n], epsilon) + (1 - last) * excess(loss - outside[n], epsilon)
        best = np.maximum(excess(loss, epsilon), asked)
        value = np.maximum(best, right * value[1:] + (1 - right) * value[:-1]) if value.size else best
    return float(value[0])


def worst_marked_delta(left_outside: Callable[[int, int], float], epsilon: float, step: float) -> float:
    """The largest delta of any analyst who also chooses, before each question, whether it is counted inside.

    After n questions inside and m outside, the analyst may put what is left outside into one last randomised response;
    below 0 the last question was not granted.
    """
    inside = next(n for n in range(10_000) if left_outside(n, 0) < 0)
    outside = next(m for m in range(10_000) if left_outside(0, m) < 0)
    right = np.exp(step) / (1 + np.exp(step))
    values: dict[tuple[int, int], Any] = {}
    for n in reversed(range(inside)):
        for m in reversed(range(outside)):
            if (left := left_outside(n, m)) < 0:
                continue
            loss, last = (2 * np.arange(n + m + 1) - n - m) * step, np.exp(left) / (1 + np.exp(left))
            best = last * excess(loss + left, epsilon) + (1 - last) * excess(loss - left, epsilon)
            for after in (values.get((n + 1, m)), values.get((n, m + 1))):
                if after is not None:
                    best = np.maximum(best, right * after[1:] + (1 - right) * after[:-1])
            values[n, m] = best
    return float(values[0, 0][0])


def excess(loss: Any, epsilon: float) -> Any:
    return np.maximum(1 - np.exp(epsilon - loss), 0)


def priced(at: Concentration, rho: Fraction) -> Callable[[int], float]:
    epsilon, reserve, price = float(GAME[0]), float(at.reserve), float(at.order * rho)
    return lambda n: epsilon - (n * price + reserve if n else 0.0)


def test_no_analyst_of_the_game_reaches_delta() -> None:
    epsilon, delta, step = GAME
    at = Concentration.for_budget(epsilon, delta)
    assert 0.3 * delta < worst_delta(priced(at, rho_of_pure(step)), 3.0, 0.02) <= delta


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(3, 4)])
def test_the_game_catches_a_rho_that_is_too_small(share: Fraction) -> None:
    epsilon, delta, step = GAME
    at = Concentration.for_budget(epsilon, delta)
    assert worst_delta(priced(at, share * rho_of_pure(step)), 3.0, 0.02) > delta


def test_the_game_catches_a_reserve_that_is_left_out() -> None:
    epsilon, delta, step = GAME
    at = Concentration.for_budget(epsilon, delta)
    price = float(at.order * rho_of_pure(step))
    assert worst_delta(lambda n: 3.0 - n * price, 3.0, 0.02) > delta


def test_the_game_catches_an_order_that_follows_the_answers() -> None:
    """The best conversion of what was spent, at any time, is no filter: why the order is fixed beforehand."""
    _, delta, step = GAME
    orders = np.concatenate([np.linspace(1.5, 12, 400), np.geomspace(12, 400, 300)])
    reserves = np.array([float(Concentration(order=Fraction(order), delta=delta).reserve) for order in orders])

    def left(n: int) -> float:
        return 3.0 - float(np.min(orders * n * float(rho_of_pure(step)) + reserves)) if n else 3.0

    assert worst_delta(left, 3.0, 0.02) > 1.5 * delta


STEP = 0.1
MARKED = Concentration.for_budget(Fraction(3), GAME[1])


def left_by_proof(inside: int, outside: int, *, reserve: bool = True) -> float:
    """Epsilon that the condition of the proof leaves outside."""
    once = float(MARKED.reserve) if inside and reserve else 0.0
    return 3.0 - outside * STEP - float(MARKED.order) * inside * STEP**2 / 2 - once


def test_no_analyst_who_chooses_how_questions_are_counted_reaches_delta() -> None:
    assert 0.3 * GAME[1] < worst_marked_delta(left_by_proof, 3.0, STEP) <= GAME[1]


def test_the_game_catches_questions_outside_that_forget_those_inside() -> None:
    """To fit in either way by itself is not enough: the sums belong together."""

    def forgetful(inside: int, outside: int) -> float:
        return left_by_proof(0, outside) if left_by_proof(inside, 0) >= 0 else -1.0

    assert worst_marked_delta(forgetful, 3.0, STEP) > 2 * GAME[1]


def test_the_game_catches_marks_that_leave_out_the_reserve() -> None:
    assert worst_marked_delta(lambda n, m: left_by_proof(n, m, reserve=False), 3.0, STEP) > GAME[1]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_reserve_against_high_precision(epsilon: Fraction, delta: Fraction) -> None:
    at = Concentration.for_budget(epsilon, delta)
    with mpmath.workdps(60):
        a, d = (mpmath.mpf(one.numerator) / one.denominator for one in (at.order, delta))
        exact = (mpmath.log(1 / d) - mpmath.log(a) + (a - 1) * mpmath.log(1 - 1 / a)) / (a - 1)
        found = mpmath.mpf(at.reserve.numerator) / at.reserve.denominator
        assert exact <= found <= exact * (1 + mpmath.mpf(2) ** -50)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_whole_budget_of_rho_against_opendp(epsilon: Fraction, delta: Fraction) -> None:
    """OpenDP finds the best order for a rho. Ours must not promise less epsilon, and hardly more."""
    from opendp.combinators import make_zCDP_to_approxDP
    from opendp.domains import atom_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import absolute_distance
    from opendp.mod import disable_features, enable_features

    rho = Concentration.for_budget(epsilon, delta).rho_within(epsilon)
    enable_features("contrib")
    try:
        scale = float((1 / (2 * rho)) ** Fraction(1, 2))
        measurement: Any = make_gaussian(atom_domain(T="i64"), absolute_distance(T="i64"), scale=scale)
        converted: Any = make_zCDP_to_approxDP(measurement)
        theirs = converted.map(1).epsilon(float(delta))
    finally:
        disable_features("contrib")
    assert theirs == pytest.approx(float(epsilon), rel=1e-4)
    assert theirs <= float(epsilon) * (1 + 1e-9)
    assert rho > rho_for(epsilon, delta)  # the simpler conversion leaves less


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_exact_gaussian_keeps_the_promise_and_half_of_its_rho_would_not(epsilon: Fraction, delta: Fraction) -> None:
    """All Gaussian releases together are one, with the sum of their rho (Balle & Wang 2018, theorem 8)."""
    rho = float(Concentration.for_budget(epsilon, delta).rho_within(epsilon))
    assert gaussian_delta(rho, float(epsilon)) <= delta
    assert gaussian_delta(2 * rho, float(epsilon)) > delta


def gaussian_delta(rho: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(40):
        mean = mpmath.sqrt(2 * mpmath.mpf(rho))
        upper = mpmath.ncdf(mean / 2 - epsilon / mean)
        return upper - mpmath.exp(epsilon) * mpmath.ncdf(-mean / 2 - epsilon / mean)


def test_a_whole_budget_is_spent_exactly() -> None:
    for epsilon, delta in BUDGETS:
        at = Concentration.for_budget(epsilon, delta)
        assert at.epsilon_of(at.rho_within(epsilon)) == epsilon
        assert at.epsilon_of(Fraction(0)) == 0
        assert at.rho_within(at.reserve / 2) == 0


def test_pure_releases_are_counted_where_they_are_cheaper() -> None:
    at = Concentration(order=Fraction(10), delta=Fraction(1, 10**6))

    def of(**given: Any) -> Fraction | None:
        return at.rho_of(Guarantee(neighbours=Neighbours.REPLACE_ONE, **given))

    assert of(epsilon=Fraction(1, 10)) == Fraction(1, 200)
    assert of(epsilon=Fraction(1, 5)) is None  # 10 times 1/50 is 1/5: no gain
    assert of(epsilon=Fraction(1, 10), delta=Fraction(1, 10**9)) is None
    assert of(epsilon=Fraction(1), delta=Fraction(1, 10**9), rho=Fraction(1, 7)) == Fraction(1, 7)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ParameterError, match="order"):
        Concentration(order=Fraction(1), delta=Fraction(1, 10))
    for delta in (Fraction(0), Fraction(1)):
        with pytest.raises(ParameterError, match="give delta"):
            Concentration(order=Fraction(2), delta=delta)
        with pytest.raises(ParameterError, match="give delta"):
            Concentration.for_budget(Fraction(1), delta)
