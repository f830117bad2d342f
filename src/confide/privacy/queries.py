"""Queries: exact statistics, and the noise that each gets.

A mechanism is a pure function from data to a query; noise is drawn here and nowhere else. A query
holds exact private numbers: it has no text form and must not leave the process.

Proof: queries.proof.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from confide.errors import ParameterError
from confide.privacy.noise import choice, flips, gaussian_shares, heavy_tailed, integers, shares, spherical
from confide.privacy.noise.pareto import pareto_between, pareto_on_grid

if TYPE_CHECKING:
    from confide.privacy.noise.pareto import ParetoShape
    from confide.privacy.noise.reals import ExactReal

Family = Literal["laplace", "cauchy", "student-t", "pareto"]

GRID = Fraction(1, 2**40)
"""Released real numbers are multiples of this, whatever the data."""

LOWEST, HIGHEST = -(2**63), 2**63 - 1
"""Limits at which integer noise is cut off."""

BLOCK = 4096
"""Noise for so many integers is drawn at once while they are compared with a threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Source of noise: the operating system's generator, unless a test injects another."""

    discrete_laplace: Callable[[Sequence[int], Fraction], list[int]] = integers.discrete_laplace
    discrete_gaussian: Callable[[Sequence[int], Fraction], list[int]] = integers.discrete_gaussian
    laplace: Callable[..., int] = heavy_tailed.laplace_on_grid
    cauchy: Callable[..., int] = heavy_tailed.cauchy_on_grid
    student_t: Callable[..., int] = heavy_tailed.student_t_on_grid
    pareto: Callable[..., int] = pareto_on_grid
    pareto_between: Callable[..., int] = pareto_between
    exponential_choice: Callable[..., int] = choice.exponential_choice
    exponential_top: Callable[..., list[int]] = choice.exponential_top
    permute_and_flip_top: Callable[..., list[int]] = choice.permute_and_flip_top
    spherical_laplace: Callable[..., list[int]] = spherical.spherical_laplace_on_grid
    laplace_share: Callable[[Sequence[int], Fraction, int], list[int]] = shares.laplace_share
    gaussian_share: Callable[[Sequence[int], Fraction], list[int]] = gaussian_shares.gaussian_share
    flips: Callable[[int, Fraction], NDArray[np.bool_]] = flips.flips


SYSTEM_NOISE = Noise()


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerQuery:
    """Integers, each to be released with independent discrete noise of its own scale.

    For "laplace" the loss between neighbours is `sum |difference_k| / scale_k`; for "gaussian" it is
    `rho = sum difference_k^2 / (2 scale_k^2)`. If `noisy` is False, values are public and no noise is added.
    """

    values: tuple[int, ...] = field(repr=False)
    scales: tuple[Fraction, ...]
    family: Literal["laplace", "gaussian"] = "laplace"
    noisy: bool = True

    def draw(self, noise: Noise = SYSTEM_NOISE) -> tuple[int, ...]:
        """Release every integer once."""
        if not self.noisy:
            return self.values
        add = noise.discrete_laplace if self.family == "laplace" else noise.discrete_gaussian
        alike: dict[Fraction, list[int]] = {}
        for place, scale in enumerate(self.scales):
            alike.setdefault(scale, []).append(place)
        drawn = [0] * len(self.values)
        for scale, places in alike.items():
            for place, value in zip(places, add([self.values[place] for place in places], scale), strict=True):
                drawn[place] = value
        return tuple(drawn)

    def draw_many(self, times: int, noise: Noise = SYSTEM_NOISE) -> list[tuple[int, ...]]:
        """Release independently many times, as an audit does."""
        if not self.noisy:
            return [self.values] * times
        add = noise.discrete_laplace if self.family == "laplace" else noise.discrete_gaussian
        columns = (add((value,) * times, scale) for value, scale in zip(self.values, self.scales, strict=True))
        return list(zip(*columns, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareQuery:
    """Integers of one site, each to be shown inside a sum alone, with a share of discrete Laplace noise of one scale.

    Where `honest` sites or more add theirs, the loss of the sum between neighbours is at most
    `sum |difference| / scale`. What is drawn is taken modulo 2^64, and so must the sum be.
    """

    values: tuple[int, ...] = field(repr=False)
    scale: Fraction
    honest: int

    def __post_init__(self) -> None:
        integers.checked_scale(self.scale)
        shares.checked_honest(self.honest)

    def draw(self, noise: Noise = SYSTEM_NOISE) -> tuple[int, ...]:
        """Add a share to every integer once."""
        return tuple(noise.laplace_share(self.values, self.scale, self.honest))

    def draw_many(self, times: int, noise: Noise = SYSTEM_NOISE) -> list[tuple[int, ...]]:
        """Do so independently many times, as an audit does."""
        return _rows(noise.laplace_share(self.values * times, self.scale, self.honest), len(self.values), times)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianShareQuery:
    """Integers of one site, each to be shown inside a sum alone, with discrete Gaussian noise of one variance.

    What a sum of m sites' answers promises follows from `m` and the variance: `mechanisms.gaussian_shares`. What is
    drawn is taken modulo 2^64, and so must the sum be.
    """

    values: tuple[int, ...] = field(repr=False)
    variance: Fraction

    def __post_init__(self) -> None:
        gaussian_shares.checked_variance(self.variance)

    def draw(self, noise: Noise = SYSTEM_NOISE) -> tuple[int, ...]:
        """Add a share to every integer once."""
        return tuple(noise.gaussian_share(self.values, self.variance))

    def draw_many(self, times: int, noise: Noise = SYSTEM_NOISE) -> list[tuple[int, ...]]:
        """Do so independently many times, as an audit does."""
        return _rows(noise.gaussian_share(self.values * times, self.variance), len(self.values), times)


def _rows(drawn: list[int], width: int, times: int) -> list[tuple[int, ...]]:
    """Return integers that were drawn together as one release in each row."""
    numbers = iter(drawn)
    return [tuple(islice(numbers, width)) for _ in range(times)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlipQuery:
    """Bits to be released after each was flipped, independently, with one public probability.

    The loss between neighbours that differ in one bit is `log((1 - probability) / probability)`, for probabilities
    of at most one half.
    """

    values: NDArray[np.bool_] = field(repr=False)
    probability: Fraction

    def __post_init__(self) -> None:
        flips.checked_parts(self.probability)
        if not isinstance(self.values, np.ndarray) or self.values.dtype != np.bool_ or self.values.ndim != 1:
            raise ParameterError("bits to be flipped must be a one-dimensional array of true and false")

    def draw(self, noise: Noise = SYSTEM_NOISE) -> NDArray[np.bool_]:
        """Release every bit once."""
        return self.values ^ noise.flips(self.values.size, self.probability)

    def draw_many(self, times: int, noise: Noise = SYSTEM_NOISE) -> NDArray[np.bool_]:
        """Release independently many times, as an audit does: one release in each row."""
        drawn = noise.flips(self.values.size * times, self.probability)
        return self.values ^ drawn.reshape(times, self.values.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealQuery:
    """A real number to be released as `value + scale * X`, rounded to the public grid.

    `value` is exact and `scale` an exact real number, both private; X is standard Laplace, Cauchy or
    Student-t, or has a Pareto `shape`. The sum is rounded, so the ideal mechanism's guarantee carries over.
    """

    value: Fraction = field(repr=False)
    scale: ExactReal = field(repr=False)
    family: Family
    degrees_of_freedom: int = 0
    shape: ParetoShape | None = None

    def draw(self, noise: Noise = SYSTEM_NOISE) -> Fraction:
        """Release the number once."""
        if self.shape is not None:
            return noise.pareto(self.value, self.scale, GRID, shape=self.shape) * GRID
        if self.family == "laplace":
            return noise.laplace(self.value, self.scale, GRID) * GRID
        if self.family == "cauchy":
            return noise.cauchy(self.value, self.scale, GRID) * GRID
        return noise.student_t(self.value, self.scale, GRID, degrees_of_freedom=self.degrees_of_freedom) * GRID

    def draw_many(self, times: int, noise: Noise = SYSTEM_NOISE) -> list[Fraction]:
        """Release independently many times, as an audit does."""
        return [self.draw(noise) for _ in range(times)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CutQuery:
    """A number in [0, 1] to be released as `value + scale * X`, cut to [0, 1] and rounded to the public grid.

    The cut is part of the mechanism: `value + scale * X` itself has no guarantee. So nothing here returns it, and what
    is drawn is cut where it is drawn. `value` and `scale` are private; X has a public Pareto `shape`.
    """

    value: Fraction = field(repr=False)
    scale: Fraction | ExactReal = field(repr=False)
    shape: ParetoShape

    def draw(self, noise: Noise = SYSTEM_NOISE) -> Fraction:
        """Release the number once."""
        highest = int(1 / GRID)
        steps = noise.pareto_between(self.value, self.scale, GRID, shape=self.shape, lowest=0, highest=highest)
        return steps * GRID

    def draw_many(self, times: int, noise: Noise = SYSTEM_NOISE) -> list[Fraction]:
        """Release independently many times, as an audit does."""
        return [self.draw(noise) for _ in range(times)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedQuery:
    """A number that is cut to [0, 1], followed by integers whose noise may depend on the number that was drawn.

    `then` returns the query that follows a drawn number, or None if nothing does. Whether something follows, how many
    integers and with which scales must depend on the drawn number and on public facts alone.
    """

    first: CutQuery
    then: Callable[[Fraction], IntegerQuery | None] = field(repr=False)

    def draw(self, noise: Noise = SYSTEM_NOISE) -> tuple[Fraction, tuple[int, ...]]:
        """Release the number and what follows it once."""
        number = self.first.draw(noise)
        following = self.then(number)
        return number, () if following is None else following.draw(noise)

    def draw_many(self, times: int, noise: Noise = SYSTEM_NOISE) -> list[tuple[Fraction, tuple[int, ...]]]:
        """Release independently many times, as an audit does; what has the same scales is drawn together."""
        numbers = self.first.draw_many(times, noise)
        alike: dict[IntegerQuery, list[int]] = {}
        for place, number in enumerate(numbers):
            following = self.then(number)
            if following is not None:
                alike.setdefault(following, []).append(place)
        drawn: list[tuple[int, ...]] = [()] * times
        for query, places in alike.items():
            for place, answer in zip(places, query.draw_many(len(places), noise), strict=True):
                drawn[place] = answer
        return list(zip(numbers, drawn, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdQuery:
    """Test of integers against a threshold, one after another, until `cutoff` of them reach it.

    Each integer gets fresh noise and is compared with one noisy threshold; both noises are discrete Laplace. Integers
    are tested in the public `order`. If `noisy` is False, values are public and no noise is added.
    """

    values: tuple[int, ...] = field(repr=False)
    order: tuple[int, ...] = field(repr=False)
    threshold: int
    cutoff: int
    threshold_scale: Fraction
    value_scale: Fraction
    noisy: bool = True

    def __post_init__(self) -> None:
        if self.noisy:
            checked_scale(self.threshold_scale)
            checked_scale(self.value_scale)

    def draw(self, noise: Noise = SYSTEM_NOISE) -> tuple[int, ...]:
        """Draw once and return the indices of the integers that reached the threshold, in the order of testing."""
        (shift,) = self._noises(1, self.threshold_scale, noise)
        return self._reaching(shift, self._in_blocks(noise))

    def draw_many(self, times: int, noise: Noise = SYSTEM_NOISE) -> list[tuple[int, ...]]:
        """Draw independently many times, as an audit does."""
        shifts = self._noises(times, self.threshold_scale, noise)
        width = len(self.order)
        extra = self._noises(times * width, self.value_scale, noise)
        return [self._reaching(shift, extra[k * width : (k + 1) * width]) for k, shift in enumerate(shifts)]

    def _reaching(self, shift: int, noises: Iterable[int]) -> tuple[int, ...]:
        tests = zip(self.order, noises, strict=False)  # noise is drawn until the cut-off only
        reached = (number for number, extra in tests if self.values[number] + extra >= self.threshold + shift)
        return tuple(islice(reached, self.cutoff))

    def _in_blocks(self, noise: Noise) -> Iterator[int]:
        for start in range(0, len(self.order), BLOCK):
            yield from self._noises(min(BLOCK, len(self.order) - start), self.value_scale, noise)

    def _noises(self, count: int, scale: Fraction, noise: Noise) -> list[int]:
        return unbounded_laplace(count, scale, noise) if self.noisy else [0] * count


@dataclass(frozen=True, slots=True, kw_only=True)
class TopQuery:
    """Choice of k of the greatest integers, in turn, each among those left, the greater the likelier.

    "peeling" chooses by the exponential mechanism, with a probability proportional to `exp(rate * value)`;
    "permute-and-flip" as its name says, with the same rate. If `noisy` is False, values are public, no noise is added,
    and equal integers are taken in the public `order`.
    """

    values: tuple[int, ...] = field(repr=False)
    order: tuple[int, ...] = field(repr=False)
    k: int
    rate: Fraction
    how: Literal["peeling", "permute-and-flip"]
    noisy: bool = True

    def draw(self, noise: Noise = SYSTEM_NOISE) -> tuple[int, ...]:
        """Choose once: the numbers of the k chosen, in the order chosen."""
        if not self.noisy:
            return tuple(sorted(self.order, key=lambda number: -self.values[number])[: self.k])
        choose = noise.exponential_top if self.how == "peeling" else noise.permute_and_flip_top
        return tuple(choose([-value for value in self.values], self.rate, self.k))

    def draw_many(self, times: int, noise: Noise = SYSTEM_NOISE) -> list[tuple[int, ...]]:
        """Choose independently many times, as an audit does."""
        return [self.draw(noise) for _ in range(times)]


def checked_scale(scale: Fraction) -> Fraction:
    """Return a scale of integer noise, refusing one that 64 bits have no room for before anything is drawn."""
    if scale > integers.LARGEST_SCALE:
        raise ParameterError(
            "the noise would be too large for whole numbers of 64 bits: take a larger epsilon, fewer features or "
            "another score"
        )
    return scale


def unbounded_laplace(count: int, scale: Fraction, noise: Noise) -> list[int]:
    """Draw discrete Laplace noise that is not held within 64 bits, for where it is compared and not shown."""
    return [_beyond(drawn, scale, noise) for drawn in noise.discrete_laplace((0,) * count, scale)]


def _beyond(drawn: int, scale: Fraction, noise: Noise) -> int:
    """Draw again beyond an end of 64 bits: there the distribution begins anew, as it has no memory."""
    if LOWEST < drawn < HIGHEST:
        return drawn
    further = -1
    while further < 0:
        (further,) = unbounded_laplace(1, scale, noise)
    return drawn + further if drawn > 0 else drawn - further


@dataclass(frozen=True, slots=True, kw_only=True)
class SphericalQuery:
    """Real numbers to be released together as `values + scale * X`, each rounded to a public grid.

    X has a density proportional to `exp(-|x|)`, so the loss between neighbours is the Euclidean distance of their
    values divided by `scale`. The grid is a power of two far below the scale, and as public.
    """

    values: tuple[Fraction, ...] = field(repr=False)
    scale: Fraction

    @property
    def grid(self) -> Fraction:
        """Released numbers are multiples of this."""
        return power_of_two_below(self.scale) / 2**16

    def draw(self, noise: Noise = SYSTEM_NOISE) -> tuple[Fraction, ...]:
        """Release all numbers once."""
        grid = self.grid
        return tuple(step * grid for step in noise.spherical_laplace(self.values, self.scale, grid))

    def draw_many(self, times: int, noise: Noise = SYSTEM_NOISE) -> list[tuple[Fraction, ...]]:
        """Release independently many times, as an audit does."""
        return [self.draw(noise) for _ in range(times)]


def power_of_two_below(value: Fraction) -> Fraction:
    """Return the largest power of two that is not above a positive fraction.

    >>> power_of_two_below(Fraction(3, 10))
    Fraction(1, 4)
    """
    power = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length())
    return power if power <= value else power / 2
