"""Spherical Laplace noise on a grid: for a vector whose Euclidean length can change, without floating point.

`spherical_laplace_on_grid` returns the integers `j` for which the points `j * grid` are the grid points nearest to the
coordinates of

    values + scale * X

where X has a density proportional to `exp(-|x|)`, |x| being the Euclidean length. In one dimension that is Laplace
noise. As in `heavy_tailed`, this is the ideal mechanism followed by rounding: no float stands in for a real number.

How: the length of X has the Gamma distribution with as many degrees as there are coordinates, d, which is that of
`-log(U_1 ... U_d)`; its direction is uniform, which is that of d normal variates, made two by two by Box and Muller's
formula [2]_ and divided by their length. All of them are functions of uniform numbers whose binary digits are drawn as
they are needed. The digits known so far give a ball for each coordinate; when every ball is nearest to a single grid
point, those are the answer, whatever the digits not yet drawn will be; else more are drawn.

Proof: spherical.proof.md.

References
----------
.. [1] K. Chaudhuri, C. Monteleoni and A. D. Sarwate, "Differentially private empirical risk minimization", JMLR 12
   (2011), 1069-1109.
.. [2] G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", Annals of Mathematical
   Statistics 29 (1958), 610-611.

"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

from flint import arb, fmpq

from confide.errors import ConfideError, ParameterError
from confide.privacy.noise.bits import SYSTEM_BITS, BitSource, LazyUniform
from confide.privacy.noise.heavy_tailed import GUARD
from confide.privacy.noise.reals import as_fraction, precisions, working_precision

Pair = tuple[LazyUniform, LazyUniform]


def spherical_laplace_on_grid(
    values: Sequence[Fraction], scale: Fraction, grid: Fraction, *, bits: BitSource = SYSTEM_BITS
) -> list[int]:
    """Add noise of density proportional to `exp(-|x| / scale)` to a vector, and round each coordinate to the grid.

    >>> from fractions import Fraction
    >>> half = lambda count: 1 << (count - 1)
    >>> spherical_laplace_on_grid([Fraction(3, 4), Fraction(0)], Fraction(1, 100), Fraction(1, 1000), bits=half)
    [736, 0]
    """
    step = _checked_step(scale, grid)
    centres = [divmod(as_fraction(value, "a value") / grid + Fraction(1, 2), 1) for value in values]
    offsets = [fmpq(part.numerator, part.denominator) for _, part in centres]
    lengths = [LazyUniform(bits) for _ in values]
    pairs = [(LazyUniform(bits), LazyUniform(bits)) for _ in range((len(centres) + 1) // 2)]
    if not centres:
        return []
    for count in precisions():
        for uniform in (*lengths, *(uniform for pair in pairs for uniform in pair)):
            uniform.reveal(count)
        with working_precision(count + GUARD):
            nearest = _nearest(offsets, step, lengths, pairs)
        if nearest is not None:
            return [int(whole) + moved for (whole, _), moved in zip(centres, nearest, strict=True)]
    raise ConfideError(
        "no grid point is certain after a million random bits. Either the source of random bits gives the same bit "
        "for ever, or the grid is finer than the noise by a factor that no result can carry: choose a coarser grid"
    )


def _nearest(
    offsets: Sequence[fmpq], step: fmpq, lengths: Sequence[LazyUniform], pairs: Sequence[Pair]
) -> list[int] | None:
    """Return the floor of `offset + step * X` for each coordinate, or None if the known digits leave one open."""
    length = -reduce(arb.__mul__, (uniform.ball() for uniform in lengths)).log()
    normals = _normals(pairs)[: len(offsets)]
    factor = length * step / sum((normal * normal for normal in normals), arb(0)).sqrt()
    result = []
    for offset, normal in zip(offsets, normals, strict=True):
        whole = (factor * normal + offset).floor().unique_fmpz()
        if whole is None:
            return None
        result.append(int(whole))
    return result


def _normals(pairs: Sequence[Pair]) -> list[arb]:
    """Independent variates `sqrt(-log U) cos(2 pi V)` and `sqrt(-log U) sin(2 pi V)`: normal, of variance 1/2."""
    normals = []
    for radial, angular in pairs:
        length = (-radial.ball().log()).sqrt()
        sine, cosine = (angular.ball() * 2).sin_cos_pi()
        normals += [length * cosine, length * sine]
    return normals


def _checked_step(scale: Fraction, grid: Fraction) -> fmpq:
    """Return the scale in units of the grid."""
    if as_fraction(grid, "grid") <= 0:
        raise ParameterError(f"grid must be greater than 0, got {grid}")
    if as_fraction(scale, "scale") <= 0:
        raise ParameterError(f"scale must be greater than 0: without noise nothing is private; got {scale}")
    step = scale / grid
    return fmpq(step.numerator, step.denominator)
