"""What a mechanism hands to the sampler: exact statistics and the noise that each gets.

A mechanism is a pure function from data to a query; noise is drawn here and nowhere else. A query
holds exact private numbers: it has no text form and must not leave the process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from confide.privacy.noise import choice, heavy_tailed, integers

if TYPE_CHECKING:
    from confide.privacy.noise.reals import ExactReal

Family = Literal["laplace", "cauchy", "student-t"]

GRID = Fraction(1, 2**40)
"""Released real numbers are multiples of this, whatever the data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Where noise comes from: the operating system's generator, unless a test says otherwise."""

    discrete_laplace: Callable[[Sequence[int], Fraction], list[int]] = integers.discrete_laplace
    discrete_gaussian: Callable[[Sequence[int], Fraction], list[int]] = integers.discrete_gaussian
    laplace: Callable[..., int] = heavy_tailed.laplace_on_grid
    cauchy: Callable[..., int] = heavy_tailed.cauchy_on_grid
    student_t: Callable[..., int] = heavy_tailed.student_t_on_grid
    exponential_choice: Callable[..., int] = choice.exponential_choice


SYSTEM_NOISE = Noise()


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerQuery:
    """Integers, each to be released with independent discrete noise of its own scale.

    For "laplace" the loss between neighbours is `sum |difference_k| / scale_k`; for "gaussian" it is
    `rho = sum difference_k^2 / (2 scale_k^2)`.
    """

    values: tuple[int, ...] = field(repr=False)
    scales: tuple[Fraction, ...]
    family: Literal["laplace", "gaussian"] = "laplace"

    def draw(self, noise: Noise = SYSTEM_NOISE) -> tuple[int, ...]:
        """Release every integer once."""
        add = noise.discrete_laplace if self.family == "laplace" else noise.discrete_gaussian
        if len(set(self.scales)) == 1:
            return tuple(add(self.values, self.scales[0]))
        return tuple(add((value,), scale)[0] for value, scale in zip(self.values, self.scales, strict=True))

    def draw_many(self, times: int, noise: Noise = SYSTEM_NOISE) -> list[tuple[int, ...]]:
        """Release independently many times, as an audit does."""
        add = noise.discrete_laplace if self.family == "laplace" else noise.discrete_gaussian
        columns = (add((value,) * times, scale) for value, scale in zip(self.values, self.scales, strict=True))
        return list(zip(*columns, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class RealQuery:
    """A real number to be released as `value + scale * X`, rounded to the public grid.

    `value` is exact and `scale` an exact real number, both private; X is standard Laplace, Cauchy or
    Student-t. The sum is rounded, so the ideal mechanism's guarantee carries over.
    """

    value: Fraction = field(repr=False)
    scale: ExactReal = field(repr=False)
    family: Family
    degrees_of_freedom: int = 0

    def draw(self, noise: Noise = SYSTEM_NOISE) -> Fraction:
        """Release the number once."""
        if self.family == "laplace":
            return noise.laplace(self.value, self.scale, GRID) * GRID
        if self.family == "cauchy":
            return noise.cauchy(self.value, self.scale, GRID) * GRID
        return noise.student_t(self.value, self.scale, GRID, degrees_of_freedom=self.degrees_of_freedom) * GRID

    def draw_many(self, times: int, noise: Noise = SYSTEM_NOISE) -> list[Fraction]:
        """Release independently many times, as an audit does."""
        return [self.draw(noise) for _ in range(times)]
