"""Exact noise and exact bounds, against mpmath at thousands of bits.

A stream of bits here is the binary expansion of known numbers, so that the ideal variate can be
computed from the same numbers by other code, at a precision that leaves no doubt.
"""

# ruff: noqa: S311 - bits with a seed, so that a failure can be repeated
from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from confide.privacy.noise import reals
from confide.privacy.noise.bits import BitSource
from confide.privacy.noise.heavy_tailed import cauchy_on_grid, laplace_on_grid, student_t_on_grid
from confide.privacy.noise.pareto import ParetoShape, Side, pareto_between, pareto_on_grid
from confide.privacy.noise.reals import ExactReal, exponential, maximum, square_root

DIGITS = 4096
SHAPES = {
    "pareto": ParetoShape.symmetric(core=Fraction(1, 5), tail=Fraction(1, 50)),
    "pareto without core": ParetoShape.symmetric(core=Fraction(0), tail=Fraction(1, 7)),
    "pareto on two sides": ParetoShape(
        above=Side(core=Fraction(1, 3)), below=Side(core=Fraction(2, 5), tail=Fraction(1, 9))
    ),
}
LAWS = ("laplace", "cauchy", "t1", "t2", "t3", "t4", "t5", "t40", *SHAPES)
ONE_UNIFORM = ("laplace", "cauchy", *SHAPES)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    with mpmath.workprec(bits):
        yield


def real(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


# --- streams


@dataclass
class Expansions:
    """A source that hands out the digits of given uniform numbers, in turn, after a sign if there is one."""

    uniforms: tuple[int, ...]
    sign: int | None = None
    used: list[int] = field(default_factory=list)
    turn: int = 0

    def __call__(self, count: int, /) -> int:
        if self.sign is not None and not self.used:
            assert count == 1
            self.used = [0] * len(self.uniforms)
            return self.sign
        self.used = self.used or [0] * len(self.uniforms)
        which = self.turn % len(self.uniforms)
        self.turn += 1
        self.used[which] += count
        assert self.used[which] <= DIGITS
        return (self.uniforms[which] >> (DIGITS - self.used[which])) & ((1 << count) - 1)


def draw(law: str, value: Fraction, scale: Fraction | ExactReal, grid: Fraction, bits: BitSource) -> int:
    if law == "laplace":
        return laplace_on_grid(value, scale, grid, bits=bits)
    if law == "cauchy":
        return cauchy_on_grid(value, scale, grid, bits=bits)
    if law in SHAPES:
        return pareto_on_grid(value, scale, grid, shape=SHAPES[law], bits=bits)
    return student_t_on_grid(value, scale, grid, degrees_of_freedom=int(law[1:]), bits=bits)


def stream(law: str, *uniforms: int, sign: int = 1) -> Expansions:
    """A stream for a law from the first one or two of the numbers."""
    if law == "laplace":
        return Expansions(uniforms[:1], sign)
    return Expansions(uniforms[: 1 if law in ONE_UNIFORM else 2])


def ideal(law: str, bits: Expansions) -> Any:
    """The continuous variate, from the textbook's inverse or polar form."""
    u, *others = (mpmath.mpf(digits) / 2**DIGITS for digits in bits.uniforms)
    if law == "laplace":
        return -mpmath.log(u) if bits.sign else mpmath.log(u)
    if law == "cauchy":
        return mpmath.tan(mpmath.pi * (u - mpmath.mpf(1) / 2))
    if law in SHAPES:
        return pareto(SHAPES[law], u)
    d = int(law[1:])
    return mpmath.sqrt(d * (u ** (-mpmath.mpf(2) / d) - 1)) * mpmath.cos(2 * mpmath.pi * others[0])


def masses(side: Side) -> tuple[Any, Any]:
    """The integrals of `exp(-K)` from 0 to 1 and from 1 on, by their antiderivatives."""
    core, tail = real(side.core), real(side.tail)
    inside = 1 - (1 - core) ** (1 / core) if core else 1 - mpmath.exp(-1)
    return inside, at_one(side) * (1 + tail)


def at_one(side: Side) -> Any:
    core = real(side.core)
    return (1 - core) ** (1 / core - 1) if core else mpmath.exp(-1)


def distance(side: Side, beyond: Any) -> Any:
    """The distance from zero beyond which there is a mass: each antiderivative, solved for its end."""
    core, tail = real(side.core), real(side.tail)
    inside, outside = masses(side)
    if beyond < outside:
        ratio = outside / beyond
        return ((1 + tail) * ratio**tail - 1) / tail if tail else 1 + mpmath.log(ratio)
    within = inside + outside - beyond
    return (1 - (1 - within) ** core) / core if core else -mpmath.log(1 - within)


def pareto(shape: ParetoShape, u: Any) -> Any:
    above, below = sum(masses(shape.above)), sum(masses(shape.below))
    place = u * (above + below)
    return distance(shape.above, place) if place < above else -distance(shape.below, above + below - place)


def nearest(law: str, value: Fraction, scale: Any, grid: Fraction, bits: Expansions) -> int:
    position = (real(value) + scale * ideal(law, bits)) / real(grid) + mpmath.mpf(1) / 2
    assert abs(position - mpmath.nint(position)) > mpmath.ldexp(1, -mpmath.mp.prec // 2), "the reference is in doubt"
    return int(mpmath.floor(position))


def some_uniform(rng: random.Random) -> int:
    return rng.getrandbits(DIGITS)


# --- agreement


@pytest.mark.few(2)
@pytest.mark.parametrize("law", LAWS)
def test_thousands_of_draws_equal_1500_bit_arithmetic(law: str) -> None:
    rng = random.Random(law)
    with precision(1500):
        for _ in range(500):
            value = Fraction(rng.randrange(-(10**6), 10**6), rng.randrange(1, 10**6))
            scale = Fraction(rng.randrange(1, 10**4), rng.randrange(1, 10**4))
            grid = Fraction(1, rng.randrange(1, 10**9))
            bits = stream(law, some_uniform(rng), some_uniform(rng), sign=rng.getrandbits(1))
            expected = nearest(law, value, real(scale), grid, bits)
            assert draw(law, value, scale, grid, bits) == expected


@pytest.mark.parametrize("law", LAWS)
def test_irrational_scales_equal_1500_bit_arithmetic(law: str) -> None:
    rng, value, grid = random.Random(law), Fraction(2, 3), Fraction(1, 10**7)
    beta = Fraction(1, 30)
    scale = maximum(*(exponential(-beta * q) * Fraction(3, 2 + q) for q in range(4)), Fraction(1, 9)) * square_root(2)
    with precision(1500):
        terms = [mpmath.exp(-real(beta) * q) * 3 / (2 + q) for q in range(4)]
        reference = max(*terms, real(Fraction(1, 9))) * mpmath.sqrt(2)
        for _ in range(100):
            bits = stream(law, some_uniform(rng), some_uniform(rng), sign=rng.getrandbits(1))
            expected = nearest(law, value, reference, grid, bits)
            assert draw(law, value, scale, grid, bits) == expected


def uniform_of(law: str, variate: Any, angular: int) -> int:
    """The digits of the first uniform number that gives a variate, the second being given."""
    if law == "laplace":
        u = mpmath.exp(-abs(variate))
    elif law == "cauchy":
        u = mpmath.mpf(1) / 2 + mpmath.atan(variate) / mpmath.pi
    elif law in SHAPES:
        above, total = SHAPES[law].above, sum(masses(SHAPES[law].above)) + sum(masses(SHAPES[law].below))
        tail = real(above.tail)
        ratio = (1 + tail * variate) / (1 + tail)
        assert variate > 1
        u = masses(above)[1] * (ratio ** (-1 / tail) if tail else mpmath.exp(1 - variate)) / total
    else:
        d, cosine = int(law[1:]), mpmath.cos(2 * mpmath.pi * mpmath.mpf(angular) / 2**DIGITS)
        u = (1 + (variate / cosine) ** 2 / d) ** (-mpmath.mpf(d) / 2)
    return int(mpmath.floor(mpmath.ldexp(u, DIGITS)))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("distance", [100, 260, 1000])
@pytest.mark.parametrize("irrational", [False, True])
def test_streams_next_to_a_rounding_boundary(law: str, distance: int, irrational: bool) -> None:
    """Sums within 2^-distance of the middle between two grid points: more bits are drawn, and decide rightly."""
    rng, value, grid, cell = random.Random(distance), Fraction(5, 7), Fraction(1, 1000), 2000
    scale: Fraction | ExactReal = exponential(Fraction(-1)) if irrational else Fraction(1, 3)
    with precision(DIGITS + 200):
        reference = mpmath.exp(-1) if irrational else real(Fraction(1, 3))
        boundary = (real(grid) * (cell + mpmath.mpf(1) / 2) - real(value)) / reference
        # Below a quarter the cosine is positive, as the variate is.
        angular = some_uniform(rng) >> 3
        for side, expected in ((-1, cell), (1, cell + 1)):
            bits = stream(law, uniform_of(law, boundary + side * mpmath.ldexp(1, -distance), angular), angular)
            assert nearest(law, value, reference, grid, bits) == expected
            assert draw(law, value, scale, grid, bits) == expected
            assert max(bits.used) > distance


UNIFORMS = [(law, which) for law in LAWS for which in range(1 if law in ONE_UNIFORM else 2)]


@pytest.mark.parametrize(("law", "which"), UNIFORMS)
@pytest.mark.parametrize("run", [1, 127, 128, 129, 255, 300])
@pytest.mark.parametrize("ones", [False, True])
def test_streams_that_begin_with_a_run(law: str, which: int, run: int, ones: bool) -> None:
    """The first digits all zeros or all ones: sums beyond 2^200, or nearly no noise at all."""
    rng = random.Random(run)
    uniforms = [some_uniform(rng), some_uniform(rng)]
    tail = some_uniform(rng) >> (run + 1)
    # The digit after the run ends it.
    uniforms[which] = (((1 << run) - 1) << (DIGITS - run)) | tail if ones else (1 << (DIGITS - run - 1)) | tail
    value, scale, grid = Fraction(1, 3), Fraction(2, 7), Fraction(1, 1000)
    bits = stream(law, *uniforms)
    with precision(2500):
        expected = nearest(law, value, real(scale), grid, bits)
    assert draw(law, value, scale, grid, bits) == expected
    if law in ("cauchy", "t1") and which == 0 and run == 300 and not (ones and law == "t1"):
        assert abs(expected) > 2**200


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("away", [3, 130, 300, 1000])
def test_a_value_in_the_middle_between_two_grid_points(side: int, away: int) -> None:
    """Noise decides, however little of it there is."""
    grid = Fraction(1, 10)
    bits = stream("cauchy", (1 << (DIGITS - 1)) + side * (1 << (DIGITS - away)))
    assert draw("cauchy", 7 * grid + grid / 2, Fraction(1, 10**6), grid, bits) == (7 if side < 0 else 8)
    assert bits.used[0] >= away - 1


@pytest.mark.parametrize("law", SHAPES)
@pytest.mark.parametrize("away", [100, 200, 1000])
def test_streams_next_to_the_end_of_a_piece(law: str, away: int) -> None:
    """Uniform numbers within 2^-away of zero noise, or of the distance where core and tail meet, on either side."""
    shape, value, scale, grid = SHAPES[law], Fraction(2, 7), Fraction(1, 3), Fraction(1, 10**9)
    with precision(2500):
        (_, outer), (_, lower) = masses(shape.above), masses(shape.below)
        above, below = sum(masses(shape.above)), sum(masses(shape.below))
        for end in (outer, above, above + below - lower):
            for side in (-1, 1):
                u = int(mpmath.floor(mpmath.ldexp(end / (above + below) + side * mpmath.ldexp(1, -away), DIGITS)))
                bits = stream(law, u)
                assert draw(law, value, scale, grid, bits) == nearest(law, value, real(scale), grid, bits)
                assert bits.used[0] >= min(away, 128)


def test_noise_that_is_cut_is_the_same_noise_cut() -> None:
    rng, shape = random.Random(5), SHAPES["pareto"]
    seen = set()
    for _ in range(200):
        u, value = some_uniform(rng), Fraction(rng.randrange(101), 100)
        free = pareto_on_grid(value, Fraction(1, 3), Fraction(1, 8), shape=shape, bits=stream("pareto", u))
        cut = pareto_between(
            value, Fraction(1, 3), Fraction(1, 8), shape=shape, lowest=0, highest=8, bits=stream("pareto", u)
        )
        assert cut == min(max(free, 0), 8)
        seen.add((free > cut) - (free < cut))
    assert seen == {-1, 0, 1}


# --- bounds

VALUES = [
    *(Fraction(n, d) for n in (1, 2, 9, 10**6, 10**30 + 1) for d in (1, 3, 7, 10**30)),
    1 + Fraction(1, 3 * 2**75),  # the first precision is not enough for the promised width
    1 + Fraction(1, 2**200),
    1 - Fraction(1, 10**100),
    Fraction(1, 10**300),
]
TOLERANCE = Fraction(1, 2**60)


def assert_bounds(lower: Fraction, upper: Fraction, function: Callable[[Any], Any], value: Fraction) -> None:
    with precision(4000):
        # Evaluated 2000 bits beyond any of the inputs: the reference's own error is far below every margin.
        exact = function(real(value))
        assert real(lower) <= exact <= real(upper)
        assert real(upper) - real(lower) <= real(TOLERANCE) * abs(exact)


@pytest.mark.parametrize("value", VALUES)
def test_bounds_against_mpmath(value: Fraction) -> None:
    assert_bounds(reals.lower_log(value), reals.upper_log(value), mpmath.log, value)
    for signed in (value, -value):
        if value < 20_000:
            assert_bounds(reals.lower_exponential(signed), reals.upper_exponential(signed), mpmath.exp, signed)
    # The second has a fraction for its root.
    for radicand in (value, value * value):
        assert_bounds(reals.lower_sqrt(radicand), reals.upper_sqrt(radicand), mpmath.sqrt, radicand)


def test_bounds_that_are_exact() -> None:
    assert reals.lower_log(1) == reals.upper_log(1) == 0
    assert reals.lower_exponential(0) == reals.upper_exponential(0) == 1
    assert reals.lower_sqrt(0) == reals.upper_sqrt(0) == 0
    assert reals.lower_sqrt(Fraction(9, 4)) == reals.upper_sqrt(Fraction(9, 4)) == Fraction(3, 2)


def test_a_float_is_not_a_bound() -> None:
    """The twin that rounds to nearest is caught on one side or the other."""
    value = Fraction(10)
    with pytest.raises(AssertionError):
        assert_bounds(Fraction(math.exp(10)), Fraction(math.exp(10)), mpmath.exp, value)


def test_arithmetic_of_exact_reals_against_mpmath() -> None:
    number = Fraction(3, 7) * exponential(Fraction(-1, 3)) / square_root(2) * 5 / Fraction(11, 2)
    with precision(1000):
        exact = real(Fraction(3, 7)) * mpmath.exp(-real(Fraction(1, 3))) / mpmath.sqrt(2) * 5 / mpmath.mpf("5.5")
        assert real(reals.lower_bound(number)) < exact < real(reals.upper_bound(number))
        assert real(reals.upper_bound(number)) - real(reals.lower_bound(number)) < exact * real(TOLERANCE)
