"""Laplace, Cauchy and Student-t noise on a grid, without floating point.

Each function here returns the integer `j` for which `j * grid` is the grid point nearest to

    value + scale * X

where X is the ideal continuous variate. This is the ideal mechanism followed by rounding: no float
stands in for a real number anywhere, so what is proven of the ideal mechanism holds for the result,
because rounding to a grid that does not depend on the data is post-processing. (Noise computed in
floats leaks its input through its last digits [1]_. The sum must be rounded, never the noise.)

How: X is a function of uniform numbers whose binary digits are drawn as they are needed. The digits
known so far put each of them in an interval; ball arithmetic turns the intervals into one that holds
`value + scale * X`. If all of it is nearest to a single grid point, that is the answer, whatever the
digits not yet drawn will be; else more are drawn. Two grid points are never equally near but with
probability zero, and then digits would be drawn without end.

The time taken depends, slightly, on the noise and on how near the sum falls to the middle between two
grid points: keep the duration of a release from those who must not learn the value.

Proof: heavy_tailed.proof.md.

References
----------
.. [1] I. Mironov, "On significance of the least significant bits for differential privacy", CCS 2012.
.. [2] R. W. Bailey, "Polar generation of random variates with the t-distribution", Mathematics of
   Computation 62 (1994), 779-781.

"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb, fmpq

from confide.errors import ConfideError, ParameterError
from confide.privacy.noise.bits import SYSTEM_BITS, BitSource, LazyUniform
from confide.privacy.noise.reals import LARGEST_PRECISION, ExactReal, as_fraction, exact, precisions, working_precision

# Digits beyond those drawn, so that the width of a ball comes from what is not drawn yet and not from rounding.
GUARD = 64

Variate = Callable[..., arb]


def laplace_on_grid(
    value: Fraction, scale: Fraction | ExactReal, grid: Fraction, *, bits: BitSource = SYSTEM_BITS
) -> int:
    """Add Laplace noise of density `exp(-|x|) / 2` times `scale`, and round to the grid.

    `X = ±log U`, the sign a fair bit.

    >>> from fractions import Fraction
    >>> laplace_on_grid(Fraction(3, 4), Fraction(1, 100), Fraction(1, 1000), bits=lambda count: 1 << (count - 1))
    757
    """
    step = checked_step(value, scale, grid)
    negative = bits(1) == 0

    def standard(uniform: arb) -> arb:
        return uniform.log() if negative else -uniform.log()

    return nearest_grid_point(value / grid, step, standard, (LazyUniform(bits),))


def cauchy_on_grid(
    value: Fraction, scale: Fraction | ExactReal, grid: Fraction, *, bits: BitSource = SYSTEM_BITS
) -> int:
    """Add Cauchy noise of density `1 / (pi (1 + x^2))` times `scale`, and round to the grid.

    `X = tan(pi (U - 1/2)) = -cot(pi U)`.
    """
    step = checked_step(value, scale, grid)
    return nearest_grid_point(value / grid, step, lambda uniform: -uniform.cot_pi(), (LazyUniform(bits),))


def student_t_on_grid(
    value: Fraction,
    scale: Fraction | ExactReal,
    grid: Fraction,
    *,
    degrees_of_freedom: int,
    bits: BitSource = SYSTEM_BITS,
) -> int:
    """Add Student-t noise of `d` degrees of freedom times `scale`, and round to the grid.

    `X = sqrt(d (U^(-2/d) - 1)) cos(2 pi V)`, exact for every d [2]_. One degree of freedom is Cauchy noise.
    """
    step = checked_step(value, scale, grid)
    d = _checked_degrees(degrees_of_freedom)
    power = fmpq(-2, d)

    def standard(radial: arb, angular: arb) -> arb:
        # U^(-2/d) - 1 without the cancellation near U = 1.
        return ((radial.log() * power).expm1() * d).sqrt() * (angular * 2).cos_pi()

    return nearest_grid_point(value / grid, step, standard, (LazyUniform(bits), LazyUniform(bits)))


def nearest_grid_point(
    centre: Fraction,
    step: ExactReal,
    standard: Variate,
    uniforms: tuple[LazyUniform, ...],
    *,
    most_bits: int = LARGEST_PRECISION,
) -> int:
    """Return the integer nearest to `centre + step * X`: the floor of that plus one half."""
    whole, rest = divmod(2 * centre.numerator + centre.denominator, 2 * centre.denominator)
    offset = fmpq(rest, 2 * centre.denominator)
    for count in precisions(last=most_bits):
        for uniform in uniforms:
            uniform.reveal(count)
        with working_precision(count + GUARD):
            noisy = step.enclose() * standard(*(uniform.ball() for uniform in uniforms)) + offset
            floor = noisy.floor().unique_fmpz()
        if floor is not None:
            return whole + int(floor)
    raise ConfideError(
        f"no grid point is certain after {most_bits:,} random bits. Either the source of random bits gives the same "
        "bit for ever, or the grid is finer than the noise by a factor that no result can carry: choose a coarser grid"
    )


def checked_step(value: Fraction, scale: Fraction | ExactReal, grid: Fraction) -> ExactReal:
    """Return the scale in units of the grid. Errors show neither value nor scale: both may come from private data."""
    as_fraction(value, "value")
    if as_fraction(grid, "grid") <= 0:
        raise ParameterError(f"grid must be greater than 0, got {grid}")
    if not isinstance(scale, ExactReal):
        scale = as_fraction(scale, "scale")
        if scale <= 0:
            raise ParameterError("scale must be greater than 0: without noise nothing is private")
        return exact(scale / grid)
    if not scale.is_positive():
        raise ParameterError("scale must be a finite number greater than 0: without noise nothing is private")
    return scale / grid


def _checked_degrees(degrees_of_freedom: int) -> int:
    if isinstance(degrees_of_freedom, bool) or not isinstance(degrees_of_freedom, int) or degrees_of_freedom < 1:
        raise ParameterError(f"degrees_of_freedom must be a whole number of at least 1, got {degrees_of_freedom!r}")
    return degrees_of_freedom
