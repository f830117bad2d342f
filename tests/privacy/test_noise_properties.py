"""What holds for noise whatever the bits: shifts, mirrors, refusals, and the state that is left behind."""

# ruff: noqa: S311 - bits with a seed, so that a failure can be repeated
from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import ConfideError, ParameterError
from confide.privacy.noise import integers, reals
from confide.privacy.noise.bits import SYSTEM_BITS, BitSource, LazyUniform
from confide.privacy.noise.heavy_tailed import cauchy_on_grid, laplace_on_grid, student_t_on_grid
from confide.privacy.noise.integers import discrete_gaussian, discrete_laplace, float_at_least
from confide.privacy.noise.pareto import ParetoShape, pareto_on_grid
from confide.privacy.noise.reals import ExactReal, exact, exponential, maximum, working_precision

Draw = Callable[..., int]


def student_t3(value: Fraction, scale: Fraction | ExactReal, grid: Fraction, *, bits: BitSource) -> int:
    return student_t_on_grid(value, scale, grid, degrees_of_freedom=3, bits=bits)


def pareto(value: Fraction, scale: Fraction | ExactReal, grid: Fraction, *, bits: BitSource) -> int:
    shape = ParetoShape.symmetric(core=Fraction(1, 5), tail=Fraction(1, 50))
    return pareto_on_grid(value, scale, grid, shape=shape, bits=bits)


DRAWS: list[Draw] = [laplace_on_grid, cauchy_on_grid, student_t3, pareto]
each_draw = pytest.mark.parametrize("draw", DRAWS)

seeds = st.integers(0, 2**32)
values = st.fractions(-100, 100)
positives = st.fractions(Fraction(1, 10**6), 10**6)


def no_bits(count: int, /) -> int:
    raise AssertionError("bits were drawn")


# --- what bits do


@pytest.mark.few(1)
@each_draw
@given(seed=seeds, value=values, scale=positives, grid=positives, multiple=st.integers(-(10**30), 10**30))
def test_a_shift_by_a_multiple_of_the_grid_shifts_the_result(
    draw: Draw, seed: int, value: Fraction, scale: Fraction, grid: Fraction, multiple: int
) -> None:
    here = draw(value, scale, grid, bits=random.Random(seed).getrandbits)
    there = draw(value + multiple * grid, scale, grid, bits=random.Random(seed).getrandbits)
    assert there == here + multiple


@each_draw
@given(seed=seeds, value=values, scale=positives, grid=positives, factor=positives)
def test_units_do_not_matter(
    draw: Draw, seed: int, value: Fraction, scale: Fraction, grid: Fraction, factor: Fraction
) -> None:
    here = draw(value, scale, grid, bits=random.Random(seed).getrandbits)
    assert here == draw(factor * value, exact(scale) * factor, factor * grid, bits=random.Random(seed).getrandbits)


def mirrored(draw: Draw, seed: int) -> BitSource:
    """Bits that give the opposite variate: the other sign, 1 - U, or a cosine half a turn on."""
    rng, calls = random.Random(seed), iter(range(1000))

    def bits(count: int, /) -> int:
        drawn, call = rng.getrandbits(count), next(calls)
        if draw is laplace_on_grid:
            return drawn ^ 1 if call == 0 else drawn
        if draw in (cauchy_on_grid, pareto):
            return drawn ^ ((1 << count) - 1)
        return drawn ^ (1 << (count - 1)) if call == 1 else drawn

    return bits


@each_draw
@given(seed=seeds, value=values, scale=positives, grid=positives)
def test_a_mirrored_stream_mirrors_the_result(
    draw: Draw, seed: int, value: Fraction, scale: Fraction, grid: Fraction
) -> None:
    here = draw(value, scale, grid, bits=random.Random(seed).getrandbits)
    assert draw(-value, scale, grid, bits=mirrored(draw, seed)) == -here


@given(seed=seeds, steps=st.lists(st.integers(1, 200), min_size=1, max_size=5))
def test_a_uniform_number_stays_inside_what_was_known(seed: int, steps: list[int]) -> None:
    uniform, known = LazyUniform(random.Random(seed).getrandbits), 0
    with working_precision(2000):
        before = uniform.ball()
        assert before.contains(0)
        assert before.contains(1)
        for step in steps:
            known += step
            uniform.reveal(known)
            uniform.reveal(known - 1)
            ball = uniform.ball()
            assert before.contains(ball)
            assert ball.upper() - ball.lower() >= flint.arb((1, -known))
            assert ball.upper() - ball.lower() < flint.arb((3, -known - 1))
            before = ball


@each_draw
@pytest.mark.parametrize("bit", [0, 1])
def test_a_stuck_source_is_refused_or_its_noise_is_none(draw: Draw, bit: int) -> None:
    """A source that gives one bit for ever does not keep us for ever."""

    def stuck(count: int, /) -> int:
        return ((1 << count) - 1) * bit

    if bit == 1 and draw is laplace_on_grid:
        assert draw(Fraction(1, 3), Fraction(1), Fraction(1, 1000), bits=stuck) == 333
    else:
        with pytest.raises(ConfideError, match="source of random bits"):
            draw(Fraction(1, 3), Fraction(1), Fraction(1, 1000), bits=stuck)


# --- refusals


@each_draw
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"grid": Fraction(0)}, "grid must be greater than 0"),
        ({"grid": Fraction(-1, 2)}, "grid must be greater than 0"),
        ({"grid": 0.5}, "grid must be an exact number"),
        ({"scale": Fraction(0)}, "scale must be greater than 0"),
        ({"scale": Fraction(-12345)}, "scale must be greater than 0"),
        ({"scale": exact(0)}, "scale must be a finite number greater than 0"),
        ({"scale": exact(-12345)}, "scale must be a finite number greater than 0"),
        ({"scale": exact(1) / (exponential(1) * 0)}, "scale must be a finite number greater than 0"),
        ({"scale": 12345.5}, "scale must be an exact number"),
        ({"value": 12345.5}, "value must be an exact number"),
        ({"value": True}, "value must be an exact number"),
        ({"value": float("nan")}, "value must be an exact number"),
    ],
)
def test_bad_parameters_draw_no_bits_and_show_nothing_private(draw: Draw, wrong: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"value": Fraction(1, 2), "scale": Fraction(1), "grid": Fraction(1, 10)}
    with pytest.raises(ParameterError, match=message) as caught:
        draw(**(good | wrong), bits=no_bits)
    assert "12345" not in str(caught.value)


@pytest.mark.parametrize("d", [0, -1, 1.0, True, "3"])
def test_degrees_of_freedom_are_whole_and_positive(d: Any) -> None:
    with pytest.raises(ParameterError, match="degrees_of_freedom must be a whole number of at least 1"):
        student_t_on_grid(Fraction(0), Fraction(1), Fraction(1), degrees_of_freedom=d, bits=no_bits)


@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian])
@pytest.mark.parametrize(
    ("given_values", "scale", "message"),
    [
        ([1], Fraction(0), "scale must be greater than 0"),
        ([1], Fraction(-3), "scale must be greater than 0"),
        ([1], 2.0, "scale must be an exact number"),
        ([1], float("inf"), "scale must be an exact number"),
        ([1], Fraction(2**55 + 1), "scale must be at most 2\\^55"),
        ([0, 2**62 + 1], Fraction(1), "values must lie within ±2\\^62"),
        ([-(2**62) - 1], Fraction(1), "values must lie within ±2\\^62"),
        ([1, 2.5], Fraction(1), "values must be a sequence of integers"),
        ([float("nan")], Fraction(1), "values must be a sequence of integers"),
        ([None], Fraction(1), "values must be a sequence of integers"),
        ([np.True_], Fraction(1), "values must be a sequence of integers"),
        (7, Fraction(1), "values must be a sequence of integers"),
        ([True], Fraction(1), "values must be integers, not true and false"),
    ],
)
def test_bad_integers_are_refused(draw: Callable[..., list[int]], given_values: Any, scale: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        draw(given_values, scale)
    assert str(2**62 + 1) not in str(caught.value)


def test_reals_refuse_what_has_no_answer() -> None:
    for refuse in (
        lambda: reals.upper_log(0),
        lambda: reals.lower_log(-1),
        lambda: reals.upper_sqrt(-1),
        lambda: reals.upper_exponential(2**20 + 1),
        lambda: reals.lower_exponential(-(2**20) - 1),
        lambda: exact(0.5),  # type: ignore[arg-type]
        lambda: reals.upper_exponential(0.5),  # type: ignore[arg-type]
    ):
        with pytest.raises(ParameterError):
            refuse()
    with pytest.raises(ZeroDivisionError):
        exact(1) / 0
    with pytest.raises(ConfideError, match="not finite"):
        reals.upper_bound(exact(1) / exact(0))


# --- integers


@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian])
def test_integer_noise_is_added_to_each_value(draw: Callable[..., list[int]]) -> None:
    # At this scale another integer than the value itself has a chance below exp(-1000).
    wanted = [0, 5, -7, 2**62, -(2**62)]
    assert draw(wanted, Fraction(1, 1000)) == wanted
    assert draw(np.array(wanted), Fraction(1, 1000)) == wanted
    assert draw([], Fraction(1)) == []
    assert all(type(noisy) is int for noisy in draw(np.arange(5), Fraction(3)))
    # The largest values and scale stay clear of the ends of 64 bits; the chance of the contrary is below 1e-50.
    assert max(abs(noisy) for noisy in draw(wanted, Fraction(2**55))) < 2**63 - 1


@given(st.fractions(min_value=Fraction(1, 10**400), max_value=2**55))
def test_the_float_is_the_smallest_that_is_no_less(scale: Fraction) -> None:
    rounded = float_at_least(scale)
    assert Fraction(rounded) >= scale
    assert Fraction(math.nextafter(rounded, 0.0)) < scale


@pytest.mark.parametrize("enabled", [False, True])
def test_the_users_opendp_features_are_left_alone(enabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    import opendp.mod

    before = {"honest-but-curious"} | ({"contrib"} if enabled else set())
    monkeypatch.setattr(opendp.mod, "GLOBAL_FEATURES", set(before))
    discrete_laplace([1], Fraction(1))
    discrete_gaussian([1], Fraction(1))
    assert before == opendp.mod.GLOBAL_FEATURES
    with pytest.raises(KeyError), integers._contributed_features():
        raise KeyError
    assert before == opendp.mod.GLOBAL_FEATURES


# --- exact reals


@given(st.lists(values, min_size=1, max_size=5), st.sampled_from([30, 53, 128]))
def test_the_ball_of_a_maximum_holds_it_tightly(numbers: list[Fraction], precision: int) -> None:
    with working_precision(precision):
        ball = maximum(*numbers).enclose()
        assert ball.contains(flint.fmpq(max(numbers).numerator, max(numbers).denominator))
        assert ball.rad() <= (abs(ball) + 1) * flint.arb((1, 3 - precision))


def test_the_maximum_of_overlapping_balls() -> None:
    wide = ExactReal(lambda: flint.arb(1, 2))
    narrow = ExactReal(lambda: flint.arb(2, 0.5))
    ball = maximum(wide, narrow).ball(53)
    assert ball.contains(flint.arb(2.25, 0.75))
    assert float(ball.lower()) == pytest.approx(1.5, abs=1e-6)
    assert float(ball.upper()) == pytest.approx(3.0, abs=1e-6)


def test_equal_numbers_have_a_maximum() -> None:
    number = exponential(Fraction(1, 3))
    assert reals.lower_bound(number) <= reals.upper_bound(maximum(number, number))
    assert reals.lower_bound(maximum(number, number)) <= reals.upper_bound(number)


def test_printing_a_number_does_not_show_it() -> None:
    assert not set("12345") & set(repr(exact(12345)).split(" at ")[0])


# --- what is left behind


@pytest.fixture
def precision_of_the_user() -> Iterator[int]:
    with flint.ctx.workprec(77):
        yield 77


@each_draw
def test_the_precision_is_put_back(draw: Draw, precision_of_the_user: int) -> None:
    draw(Fraction(1), exponential(Fraction(-1)), Fraction(1, 10**60), bits=SYSTEM_BITS)
    assert flint.ctx.prec == precision_of_the_user
    reals.upper_log(Fraction(7, 3))
    assert flint.ctx.prec == precision_of_the_user


@each_draw
@pytest.mark.parametrize("good_calls", [0, 1, 2, 3])
def test_the_precision_is_put_back_when_the_source_fails(
    draw: Draw, good_calls: int, precision_of_the_user: int
) -> None:
    calls = iter(range(good_calls))

    def failing(count: int, /) -> int:
        if next(calls, None) is None:
            raise OSError("no entropy")
        assert flint.ctx.prec == precision_of_the_user
        return 0

    with pytest.raises(OSError, match="no entropy"):
        draw(Fraction(1), Fraction(1), Fraction(1, 10), bits=failing)
    assert flint.ctx.prec == precision_of_the_user


def test_the_precision_is_put_back_when_a_scale_fails(precision_of_the_user: int) -> None:
    def fail() -> flint.arb:
        raise RuntimeError("no such number")

    with pytest.raises(RuntimeError, match="no such number"):
        cauchy_on_grid(Fraction(1), ExactReal(fail), Fraction(1), bits=no_bits)
    assert flint.ctx.prec == precision_of_the_user


def test_threads_do_not_disturb_each_other() -> None:
    """Draws that need very different precisions, at once and in turn, are the same."""
    scale = maximum(exponential(Fraction(-1, 3)), Fraction(1, 2))

    def many(seed: int) -> list[int]:
        bits, grid = random.Random(seed).getrandbits, Fraction(1, 10 ** (1 + 100 * (seed % 3)))
        return [DRAWS[seed % 3](Fraction(2, 7), scale, grid, bits=bits) for _ in range(300)]

    before = flint.ctx.prec
    in_turn = [many(seed) for seed in range(6)]
    with ThreadPoolExecutor(6) as pool:
        at_once = list(pool.map(many, range(6)))
    assert at_once == in_turn
    assert flint.ctx.prec == before


def test_a_waiting_source_holds_nobody_up() -> None:
    """Bits are drawn outside the lock: a source that waits for another thread's draw is not a deadlock."""
    other_is_done = threading.Event()

    def patient(count: int, /) -> int:
        assert other_is_done.wait(timeout=300)
        return random.Random(count).getrandbits(count)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(laplace_on_grid, Fraction(0), Fraction(1), Fraction(1, 10), bits=patient)
        laplace_on_grid(Fraction(0), Fraction(1), Fraction(1, 10))
        other_is_done.set()
        assert isinstance(waiting.result(timeout=300), int)
