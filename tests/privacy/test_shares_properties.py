"""Shares of noise whatever the bits: exact at the edges of decisions, modulo 2^64, refusals before any bit is drawn."""

# ruff: noqa: S311 - bits with a seed, so that a failure can be repeated
from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import ConfideError, ParameterError
from confide.privacy.mechanisms.noise_shares import alone_epsilon, shared_counts
from confide.privacy.noise.shares import laplace_share, within_64_bits
from confide.privacy.queries import Noise, ShareQuery
from tests.noises import FORBIDDEN, SILENT, Deaf, seeded

seeds = st.integers(0, 2**32)
scales = st.fractions(Fraction(1, 100), 10**6)
numbers = st.integers(1, 1000)


def no_bits(count: int, /) -> int:
    raise AssertionError("bits were drawn")


# --- what bits do


@given(seed=seeds, scale=scales, honest=numbers, value=st.integers(-(2**62), 2**62))
def test_the_value_does_not_change_the_noise(seed: int, scale: Fraction, honest: int, value: int) -> None:
    (noise,) = laplace_share([0], scale, honest, bits=random.Random(seed).getrandbits)
    (noisy,) = laplace_share([value], scale, honest, bits=random.Random(seed).getrandbits)
    assert noisy == value + noise


@given(seed=seeds, scale=scales, honest=numbers)
def test_other_signs_mirror_the_noise(seed: int, scale: Fraction, honest: int) -> None:
    def turned(rng: random.Random) -> Callable[[int], int]:
        return lambda count: rng.getrandbits(count) ^ (count == 1)

    here = laplace_share([0] * 3, scale, honest, bits=random.Random(seed).getrandbits)
    assert laplace_share([0] * 3, scale, honest, bits=turned(random.Random(seed))) == [-noise for noise in here]


class Script:
    """Bits written down beforehand, and then those of a seed; `asked` says how many at a time."""

    def __init__(self, *given: tuple[int, int]) -> None:
        self.given = list(given)
        self.rest = random.Random(1)
        self.asked: list[int] = []

    def __call__(self, count: int, /) -> int:
        self.asked.append(count)
        if not self.given:
            return self.rest.getrandbits(count)
        expected, value = self.given.pop(0)
        assert count == expected
        return value

    @property
    def jumps(self) -> int:
        """Every jump ends with the coin of its sign."""
        return self.asked.count(1)


def tail(scale: Fraction, honest: int, n: int) -> mpmath.mpf:
    """The chance of more than n jumps."""
    p = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    return mpmath.gammainc(n + 1, 0, -2 * mpmath.log(1 - p) / honest, regularized=True)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("digits", [128, 256, 512])
def test_digits_decide_exactly_where_the_chances_end(n: int, digits: int) -> None:
    """A uniform number that begins as `P(N > n)` does is followed until it leaves it: below, one jump more."""
    scale, honest = Fraction(7, 3), 3
    with mpmath.workdps(400):
        scaled = tail(scale, honest, n) * 2**64
        first = int(mpmath.floor(scaled))
        rest = int(mpmath.floor((scaled - first) * 2**digits))
    steps = [128, *(step for step in (128, 256) if step < digits)]  # how many digits are drawn at a time
    pieces = [(64, first)]
    for end, step in zip(np.cumsum(steps).tolist(), steps, strict=True):
        pieces.append((step, (rest >> (digits - end)) % 2**step))
    for shift, expected in ((-1, n + 1), (1, n)):
        size, last = pieces[-1]
        script = Script(*pieces[:-1], (size, last + shift))
        laplace_share([0], scale, honest, bits=script)
        assert script.jumps == expected
        assert script.asked[: len(pieces)] == [size for size, _ in pieces]


def test_the_first_digits_alone_decide_beside_the_ends() -> None:
    scale, honest = Fraction(7, 3), 3
    with mpmath.workdps(100):
        first = int(mpmath.floor(tail(scale, honest, 0) * 2**64))
    for drawn, expected in ((first - 1, 1), (first + 1, 0), (2**64 - 1, 0)):
        script = Script((64, drawn))
        laplace_share([0], scale, honest, bits=script)
        assert script.jumps == expected
        assert script.asked == [64, *[128, 128, 1] * expected]


@pytest.mark.parametrize("zeros", [10, 60, 100])
def test_chances_below_the_first_digits_are_there(zeros: int) -> None:
    """64 zeros, and more of them: as many jumps as the chances say, far beyond the table."""
    scale, honest = Fraction(1), 2
    script = Script((64, 0), (128, 2 ** (127 - zeros)))
    laplace_share([0], scale, honest, bits=script)
    with mpmath.workdps(200):
        uniform = mpmath.mpf(2) ** (-65 - zeros)
        expected = next(n for n in range(200) if tail(scale, honest, n) < uniform)
    assert script.jumps == expected
    assert expected > 12


def test_sums_are_taken_modulo_2_to_the_64() -> None:
    """A jump wider than 64 bits have room for: V begins with 256 zeros and a one, and U is all but 1."""
    ones = [(size, 2**size - 1) for size in (128, 128, 256)]
    zeros = [(128, 0), (128, 0), (256, 2**255)]
    drawn = [piece for both in zip(ones, zeros, strict=True) for piece in both]
    (noisy,) = laplace_share([2**62], Fraction(2**55), 1000, bits=Script((64, 2**57), *drawn, (1, 1)))
    with mpmath.workdps(400):
        p, mixed, height = mpmath.exp(-(mpmath.mpf(2) ** -55)), 1 - mpmath.mpf(2) ** -512, mpmath.mpf(2) ** -257
        width = 1 + int(mpmath.floor(mpmath.log(height) / mpmath.log(1 - (1 - p) ** mixed)))
    assert 2**62 + width >= 2**63
    assert noisy == 2**62 + width - 2**64


@given(st.integers(-(2**80), 2**80), st.integers(-(2**80), 2**80))
def test_a_remainder_can_be_taken_before_or_after_a_sum(first: int, second: int) -> None:
    assert -(2**63) <= within_64_bits(first) < 2**63
    assert (within_64_bits(first) - first) % 2**64 == 0
    assert within_64_bits(within_64_bits(first) + within_64_bits(second)) == within_64_bits(first + second)


def test_hardly_any_noise_is_hardly_ever_drawn() -> None:
    # Another integer than the value has a chance below exp(-1000), whatever the epsilon up to the largest.
    wanted = [0, 5, -7, 2**62, -(2**62)]
    for scale in (Fraction(1, 1000), Fraction(1, 10**6), Fraction(1, 10**15)):
        assert laplace_share(wanted, scale, 3) == wanted
    assert laplace_share([], Fraction(1), 3) == []
    assert all(type(noisy) is int for noisy in laplace_share(np.arange(5), Fraction(30), 2))  # type: ignore[arg-type]


def test_a_stuck_source_is_refused() -> None:
    with pytest.raises(ConfideError, match="source of random bits"):
        laplace_share([1], Fraction(1), 3, bits=lambda count: 0)
    assert laplace_share([1], Fraction(1), 3, bits=lambda count: 2**count - 1) == [1]


@pytest.mark.parametrize("good_calls", [0, 1, 2])
def test_the_precision_is_put_back_when_the_source_fails(good_calls: int) -> None:
    calls = iter(range(good_calls))

    def failing(count: int, /) -> int:
        if next(calls, None) is None:
            raise OSError("no entropy")
        assert flint.ctx.prec == 77
        return 0

    with flint.ctx.workprec(77):
        with pytest.raises(OSError, match="no entropy"):
            laplace_share([1], Fraction(1), 3, bits=failing)
        assert flint.ctx.prec == 77


# --- refusals


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scale": Fraction(0)}, "scale must be greater than 0"),
        ({"scale": Fraction(-3)}, "scale must be greater than 0"),
        ({"scale": 2.0}, "scale must be an exact number"),
        ({"scale": Fraction(2**55 + 1)}, "scale must be at most 2\\^55"),
        ({"honest": 0}, "honest must be a whole number from 1 to 1,000"),
        ({"honest": -2}, "honest must be a whole number"),
        ({"honest": 1001}, "honest must be a whole number"),
        ({"honest": 2.0}, "honest must be a whole number"),
        ({"honest": True}, "honest must be a whole number"),
    ],
)
def test_bad_parameters_are_refused_before_a_bit_is_drawn(wrong: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"scale": Fraction(1), "honest": 3}
    with pytest.raises(ParameterError, match=message):
        laplace_share([1], **(good | wrong), bits=no_bits)
    with pytest.raises(ParameterError, match=message):
        ShareQuery(values=(1,), **(good | wrong))


@pytest.mark.parametrize("values", [[2**62 + 1], [1, 2.5], [True], 7])
def test_bad_values_are_refused_and_not_shown(values: Any) -> None:
    with pytest.raises(ParameterError, match="values must") as caught:
        laplace_share(values, Fraction(1), 3, bits=no_bits)
    assert str(2**62 + 1) not in str(caught.value)


@pytest.mark.parametrize("shares", [0, -1, 1.0, True, "2"])
def test_shares_are_whole_and_positive(shares: Any) -> None:
    with pytest.raises(ParameterError, match="shares must be a whole number of at least 1"):
        alone_epsilon(Fraction(1), 3, shares=shares)
    with pytest.raises(ParameterError, match="honest must"):
        alone_epsilon(Fraction(1), 0)


# --- the query


def test_a_query_shows_no_values_and_draws_from_the_noise_it_is_given() -> None:
    query = shared_counts(np.array([[12345, 2], [3, 4]]), Fraction(1, 2), honest=3)
    assert "12345" not in repr(query)
    assert query.draw(SILENT) == (12345, 2, 3, 4)
    assert query.draw_many(2, SILENT) == [(12345, 2, 3, 4)] * 2
    deaf = Deaf()
    assert query.draw(deaf.noise()) == (7, 10, 13, 16)
    assert deaf.heard == [("share", 4, Fraction(2), 3)]
    with pytest.raises(pytest.fail.Exception, match="noise was drawn"):
        query.draw(FORBIDDEN)


def test_draws_are_independent_and_repeat_with_their_bits() -> None:
    query = ShareQuery(values=(0, 100), scale=Fraction(50), honest=2)
    noises = [Noise(laplace_share=partial(laplace_share, bits=random.Random(3).getrandbits)) for _ in range(2)]
    first, second = (query.draw_many(40, noise) for noise in noises)
    assert first == second
    assert len(set(first)) > 20
    assert query.draw_many(40) != query.draw_many(40)
    assert len(set(query.draw_many(40, seeded(3)))) > 20


@given(
    epsilon=st.fractions(Fraction(1, 1000), 10),
    honest=st.integers(2, 1000),
    levels=st.integers(1, 12),
    share=st.integers(1, 1000),
)
def test_fewer_shares_promise_less_but_never_nothing(epsilon: Fraction, honest: int, levels: int, share: int) -> None:
    shares = 1 + share % (honest - 1)
    alone = alone_epsilon(epsilon, honest, shares=shares, levels=levels)
    assert epsilon < alone
    assert alone <= float(epsilon) + levels * float(np.log(honest / shares)) + 1e-9
    assert alone_epsilon(epsilon, honest, shares=shares + 1, levels=levels) < alone
