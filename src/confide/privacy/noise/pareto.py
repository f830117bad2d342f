"""Noise of two generalised Pareto pieces, a core and a tail, on each side of zero, drawn on a grid without floats.

The density of X falls on each side as `exp(-K(x))`, where `x >= 0` is the distance from zero and K has the slope

    (1 - core) / (1 - core x)   for x <= 1,        (1 + tail) / (1 + tail x)   for x >= 1.

The slope is 1 at x = 1, and at most 1 everywhere. With `core = tail = 0` this is Laplace noise. A core above 0 makes
the density flatter near zero; a tail above 0 makes it fall like a power far from zero. With the half mass

    M = 1 + theta (core + tail),   theta = (1 - core)^(1/core - 1)        (theta = 1/e for core = 0)

the part of it beyond x is, in closed form,

    theta (1 + tail) ((1 + tail) / (1 + tail x))^(1/tail)              for x >= 1
    theta (1 + tail) + (1 - core x)^(1/core) - theta (1 - core)        for x <= 1

so that a uniform number gives X by inversion. Digits of the uniform number are drawn until it is certain on which
piece X lies and to which grid point the sum is nearest; see `heavy_tailed`, whose remarks hold here too.

Proof: pareto.proof.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, fmpq

from confide.errors import ParameterError
from confide.privacy.noise.bits import SYSTEM_BITS, BitSource, LazyUniform
from confide.privacy.noise.heavy_tailed import checked_step, nearest_grid_point
from confide.privacy.noise.reals import ExactReal, as_fraction

MOST_BITS = 2**16
"""So many random bits are drawn for one number before their source is called stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Shape of the noise on one side of zero. Both numbers are at least 0 and below 1."""

    core: Fraction = Fraction(0)
    tail: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for name in ("core", "tail"):
            if not 0 <= as_fraction(getattr(self, name), name) < 1:
                raise ParameterError(f"the {name} of noise must be at least 0 and below 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoShape:
    """Shape of the noise above and below zero. Both are public."""

    above: Side
    below: Side

    @classmethod
    def symmetric(cls, *, core: Fraction, tail: Fraction) -> ParetoShape:
        """Return the shape that is the same on both sides."""
        side = Side(core=core, tail=tail)
        return cls(above=side, below=side)


def pareto_on_grid(
    value: Fraction,
    scale: Fraction | ExactReal,
    grid: Fraction,
    *,
    shape: ParetoShape,
    bits: BitSource = SYSTEM_BITS,
) -> int:
    """Add noise of a shape times `scale`, and round to the grid.

    >>> from fractions import Fraction
    >>> shape = ParetoShape.symmetric(core=Fraction(1, 5), tail=Fraction(1, 50))
    >>> pareto_on_grid(Fraction(3, 4), Fraction(1, 100), Fraction(1, 1000), shape=shape, bits=lambda n: 1 << (n - 2))
    757
    """
    step = checked_step(value, scale, grid)
    above, below = _Pieces(shape.above), _Pieces(shape.below)

    def standard(uniform: arb) -> arb:
        mass = above.mass()
        total = mass + below.mass()
        place = uniform * total
        if place < mass:
            return above.distance(place)
        return -below.distance(total - place) if place > mass else arb.nan()

    return nearest_grid_point(value / grid, step, standard, (LazyUniform(bits),), most_bits=MOST_BITS)


def pareto_between(
    value: Fraction,
    scale: Fraction | ExactReal,
    grid: Fraction,
    *,
    shape: ParetoShape,
    lowest: int,
    highest: int,
    bits: BitSource = SYSTEM_BITS,
) -> int:
    """Add noise as `pareto_on_grid` does and cut the sum to `[lowest, highest]`, in units of the grid.

    A mechanism whose guarantee needs the cut draws by this function, which shows the sum to nobody. Cutting at grid
    points before or after rounding gives the same.
    """
    if lowest >= highest:
        raise ParameterError("lowest must be below highest")
    return min(max(pareto_on_grid(value, scale, grid, shape=shape, bits=bits), lowest), highest)


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Inversion of one side, at the working precision."""

    side: Side

    def mass(self) -> arb:
        """Return the mass of the side."""
        return 1 + self._theta() * _ball(self.side.core + self.side.tail)

    def distance(self, beyond: arb) -> arb:
        """Return the distance from zero beyond which the side has a given mass; no number if its piece is in doubt."""
        core, tail = self.side.core, self.side.tail
        end = self._theta() * _ball(1 - core)
        outside = self._theta() * _ball(1 + tail)
        if beyond < outside:
            log = (beyond / outside).log()
            if tail == 0:
                return 1 - log
            return (_ball(1 + tail) * (log * _ball(-tail)).exp() - 1) / _ball(tail)
        if beyond > outside:
            log = (beyond - outside + end).log()
            return -log if core == 0 else -(log * _ball(core)).expm1() / _ball(core)
        return arb.nan()

    def _theta(self) -> arb:
        """Return the density at distance 1, where that at zero is 1."""
        core = self.side.core
        if core == 0:
            return arb(-1).exp()
        return (_ball(1 - core).log() * _ball(1 / core - 1)).exp()


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))
