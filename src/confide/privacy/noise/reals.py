"""Exact real numbers, and fractions proven to lie above or below them.

A noise scale such as `exp(-beta (q - 1))` is irrational, and a float near it is another scale with
another guarantee. An `ExactReal` is the number itself: an interval around it ("ball", FLINT's
`arb`) that can be made arbitrarily narrow. Ball arithmetic rounds outward, so that every statement made
from a ball's ends is a proof.

Proof: reals.proof.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

from confide.errors import ConfideError, ParameterError

if TYPE_CHECKING:
    from flint import arb, fmpq

LARGEST_EXPONENT = 2**20
SMALLEST_PRECISION = 128
LARGEST_PRECISION = 2**20

# FLINT has one precision for the whole process. Threads that evaluate at once would change it under each other, which
# is never wrong (balls enclose at any precision) but can keep a ball wide for ever.
_PRECISION = threading.RLock()


def _flint() -> Any:
    """Return FLINT, which is loaded for the first number: terms and results are read without it."""
    import flint

    return flint


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Evaluate balls at a precision of `bits`, one thread at a time, and put the former precision back."""
    with _PRECISION, _flint().ctx.workprec(bits):
        yield


def precisions(first: int = SMALLEST_PRECISION, last: int = LARGEST_PRECISION) -> Iterator[int]:
    """Ever doubled precisions, up to one at which nothing sensible is left undecided."""
    while first <= last:
        yield first
        first *= 2


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExactReal:
    """A real number, given by a function that encloses it in a ball at the working precision.

    The balls must become as narrow as one likes as the precision grows. Whether two such numbers are
    equal cannot be decided, so they are not compared; and as a scale may be computed from private data,
    printing one does not show the number.

    >>> from fractions import Fraction
    >>> scale = Fraction(3, 2) * exponential(Fraction(-1, 10)) / 7
    >>> float(lower_bound(scale)) <= 1.5 * 0.9048374180359595 / 7 <= float(upper_bound(scale))
    True
    """

    enclose: Callable[[], arb]

    def ball(self, precision: int) -> arb:
        """Enclose the number at a precision of so many bits."""
        with working_precision(precision):
            return self.enclose()

    def __mul__(self, other: ExactReal | Fraction | int) -> ExactReal:
        factor = as_real(other)
        return ExactReal(lambda: self.enclose() * factor.enclose())

    __rmul__ = __mul__

    def __truediv__(self, other: ExactReal | Fraction | int) -> ExactReal:
        if not isinstance(other, ExactReal):
            return self * (1 / as_fraction(other, "a divisor"))
        return ExactReal(lambda: self.enclose() / other.enclose())

    def is_positive(self) -> bool:
        """Return whether the number is proven to be greater than 0; one below 2^-4000 or so is not."""
        return any(bool(self.ball(precision) > 0) for precision in precisions(last=4096))


def as_fraction(value: Fraction | int, name: str) -> Fraction:
    """Return an exact number as a fraction, refusing floats, which stand for numbers near the one meant."""
    if isinstance(value, bool) or not isinstance(value, Fraction | int):
        raise ParameterError(f"{name} must be an exact number, a Fraction or an int, got {type(value).__name__}")
    return value if isinstance(value, Fraction) else Fraction(value)


def as_real(value: ExactReal | Fraction | int) -> ExactReal:
    """Return a fraction as an exact real, and an exact real as it is."""
    return value if isinstance(value, ExactReal) else exact(value)


def exact(value: Fraction | int) -> ExactReal:
    """Return the rational number itself."""
    rational = _rational(value)
    return ExactReal(lambda: _flint().arb(rational))


def exponential(value: Fraction | int) -> ExactReal:
    """`exp(value)`."""
    rational = _rational(value)
    return ExactReal(lambda: _flint().arb(rational).exp())


def logarithm(value: Fraction | int) -> ExactReal:
    """Return the natural logarithm of a positive number."""
    rational = _rational(value)
    if rational <= 0:
        raise ParameterError("only numbers greater than 0 have a logarithm")
    return ExactReal(lambda: _flint().arb(rational).log())


def square_root(value: Fraction | int) -> ExactReal:
    """Return the square root of a number that is not negative."""
    rational = _rational(value)
    if rational < 0:
        raise ParameterError("only numbers that are not negative have a square root")
    return ExactReal(lambda: _flint().arb(rational).sqrt())


def maximum(first: ExactReal | Fraction | int, *others: ExactReal | Fraction | int) -> ExactReal:
    """Return the greatest of several numbers: of balls [a, b] and [c, d] it is [max(a, c), max(b, d)]."""
    reals = [as_real(real) for real in (first, *others)]
    return ExactReal(lambda: reduce(_flint().arb.max, (real.enclose() for real in reals)))


def lower_bound(real: ExactReal) -> Fraction:
    """A fraction at most the number, within 2^-60 of it relative to its size."""
    return _bounds(real)[0]


def upper_bound(real: ExactReal) -> Fraction:
    """A fraction at least the number, within 2^-60 of it relative to its size."""
    return _bounds(real)[1]


def lower_exponential(value: Fraction | int) -> Fraction:
    """A fraction at most `exp(value)`, within 2^-60 of it relative to its size."""
    return lower_bound(exponential(_writable(value)))


def upper_exponential(value: Fraction | int) -> Fraction:
    """A fraction at least `exp(value)`, within 2^-60 of it relative to its size.

    >>> from fractions import Fraction
    >>> float(upper_exponential(Fraction(1)))
    2.718281828459045
    """
    return upper_bound(exponential(_writable(value)))


def lower_log(value: Fraction | int) -> Fraction:
    """A fraction at most `log(value)`, within 2^-60 of it relative to its size; 0 at 1."""
    return lower_bound(logarithm(value))


def upper_log(value: Fraction | int) -> Fraction:
    """A fraction at least `log(value)`, within 2^-60 of it relative to its size; 0 at 1."""
    return upper_bound(logarithm(value))


def lower_sqrt(value: Fraction | int) -> Fraction:
    """A fraction at most `sqrt(value)`, within 2^-60 of it relative to its size."""
    return lower_bound(square_root(value))


def upper_sqrt(value: Fraction | int) -> Fraction:
    """A fraction at least `sqrt(value)`, within 2^-60 of it relative to its size."""
    return upper_bound(square_root(value))


def _rational(value: Fraction | int) -> fmpq:
    fraction = as_fraction(value, "an exact number")
    rational: fmpq = _flint().fmpq(fraction.numerator, fraction.denominator)
    return rational


def _writable(value: Fraction | int) -> Fraction:
    """Refuse an exponent whose exponential has more digits than a machine should be asked to write."""
    exponent = as_fraction(value, "an exponent")
    if abs(exponent) > LARGEST_EXPONENT:
        raise ParameterError(f"an exponent must lie within ±{LARGEST_EXPONENT:,} for its exponential to be written out")
    return exponent


def _bounds(real: ExactReal) -> tuple[Fraction, Fraction]:
    for precision in precisions():
        with working_precision(precision):
            ball = real.enclose()
            if not ball.is_finite():
                continue
            lower, upper = _fraction_of(ball.lower()), _fraction_of(ball.upper())
        if (upper - lower) * 2**60 <= min(abs(lower), abs(upper)):
            return lower, upper
    raise ConfideError("an exact number cannot be told from 0 or is not finite, so no bound near it can be given")


def _fraction_of(exact_ball: arb) -> Fraction:
    mantissa, exponent = exact_ball.man_exp()
    return int(mantissa) * Fraction(2) ** int(exponent)
