"""The exponential mechanism: one of several candidates, the cheaper the likelier, drawn without floating point.

Candidate i comes out with a probability proportional to `exp(-rate * costs[i])`. Candidates of equal cost form
a class; a class is drawn first, by inverting its cumulated weights, and then a member of it.

How: the weights are enclosed in balls, and the digits of a uniform number U are drawn as they are needed. The
digits known so far put `U * (sum of all weights)` in an interval; if all of it lies within one class, that is the
answer, whatever the digits not yet drawn will be; else more are drawn and the balls become narrower. Classes so
dear that all of them together weigh less than the last digit known stay out of the sum, in whose ball their
weight is included, until more digits are asked for.

OpenDP's noisy maximum is another distribution where epsilon is pure (permute-and-flip [2]_), and takes its scale
as a float.

The time taken depends on the costs and, slightly, on the choice: keep the duration of a release from those who
must not learn the costs.

References
----------
.. [1] F. McSherry and K. Talwar, "Mechanism design via differential privacy", FOCS 2007.
.. [2] R. McKenna and D. Sheldon, "Permute-and-flip: a new mechanism for differentially private selection",
   NeurIPS 2020.

"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from confide.errors import ConfideError, ParameterError
from confide.privacy.noise.bits import SYSTEM_BITS, BitSource, LazyUniform
from confide.privacy.noise.heavy_tailed import GUARD
from confide.privacy.noise.reals import as_fraction, precisions, working_precision

Integers = Sequence[int] | NDArray[np.int64]

LARGEST_COST = 2**61
LARGEST_MULTIPLICITY = 2**62


def exponential_choice(
    costs: Integers, rate: Fraction, multiplicities: Integers | None = None, *, bits: BitSource = SYSTEM_BITS
) -> int:
    """Choose index i with a probability proportional to `multiplicities[i] * exp(-rate * costs[i])`.

    A multiplicity says how many equal candidates an index stands for: one, if none are given.

    >>> from fractions import Fraction
    >>> exponential_choice([4, 0, 4], Fraction(100))
    1
    """
    prices, rate = _integers(costs, "costs", LARGEST_COST), as_fraction(rate, "rate")
    if prices.size == 0:
        raise ParameterError("costs must not be empty: there is nothing to choose from")
    if rate < 0:
        raise ParameterError(f"rate must not be negative, got {rate}: the cheaper must be the likelier")
    sizes = _sizes(multiplicities, prices.size)
    found, members = np.unique(prices, return_inverse=True)
    totals = np.zeros(found.size, dtype=np.int64)
    np.add.at(totals, members, sizes)
    chosen = _class(found - found[0], totals, rate, bits)
    inside = np.flatnonzero(members == chosen)
    place = _below(int(totals[chosen]), bits)
    return int(inside[np.searchsorted(np.cumsum(sizes[inside]), place, side="right")])


def _class(dearer: NDArray[np.int64], totals: NDArray[np.int64], rate: Fraction, bits: BitSource) -> int:
    """The number of a class, drawn with a probability proportional to `totals * exp(-rate * dearer)`.

    The classes ascend from 0 in `dearer`. Those left out have `rate * dearer > count + room`, hence a weight
    below `2^-(count + room)` for each of fewer than `2^room` candidates, in all less than `2^-count`.
    """
    if totals.size == 1:
        return 0
    room = int(totals.sum()).bit_length()
    slope = fmpq(-rate.numerator, rate.denominator)
    uniform = LazyUniform(bits)
    for count in precisions():
        uniform.reveal(count)
        reach = totals.size if rate == 0 else int(np.searchsorted(dearer, _limit((count + room) / rate), side="right"))
        rest = arb((1, -count - 1), (1, -count - 1)) if reach < totals.size else arb(0)
        with working_precision(count + GUARD):
            weights = (
                arb(slope * step).exp() * total
                for step, total in zip(dearer[:reach].tolist(), totals[:reach].tolist(), strict=True)
            )
            ends = list(accumulate(weights))
            drawn = uniform.ball() * (ends[-1] + rest)
            first = next((k for k, end in enumerate(ends) if not drawn > end), reach)
            if first < reach and drawn < ends[first]:
                return first
    raise ConfideError(
        "no choice is certain after a million random bits: the source of random bits gives the same bit for ever"
    )


def _limit(bound: Fraction) -> int:
    return min(int(bound), 2 * LARGEST_COST)


def _below(end: int, bits: BitSource) -> int:
    """An integer from 0 to `end - 1`, each with the same probability."""
    length = (end - 1).bit_length()
    for _ in range(2**20):
        drawn = bits(length) if length else 0
        if drawn < end:
            return drawn
    raise ConfideError(
        "no member is chosen after a million trials: the source of random bits gives the same bit for ever"
    )


def _sizes(multiplicities: Integers | None, count: int) -> NDArray[np.int64]:
    if multiplicities is None:
        return np.ones(count, dtype=np.int64)
    sizes = _integers(multiplicities, "multiplicities", LARGEST_MULTIPLICITY)
    if sizes.size != count or sizes.min() < 1 or sum(sizes.tolist()) > LARGEST_MULTIPLICITY:
        raise ParameterError(
            "multiplicities must be whole numbers of at least 1, one for each cost, with a sum of at most 2^62"
        )
    return sizes


def _integers(values: Integers, name: str, limit: int) -> NDArray[np.int64]:
    """Return values as an array of integers. They may be private, so none is shown."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind not in "iu" or values.ndim != 1:
            raise ParameterError(f"{name} must be a sequence of integers: round or scale them first")
        plain = values
    else:
        try:
            numbers = [operator.index(value) for value in values]
        except TypeError:
            raise ParameterError(f"{name} must be a sequence of integers: round or scale them first") from None
        if any(abs(number) > limit for number in numbers):
            raise ParameterError(f"{name} must lie within ±2^{limit.bit_length() - 1}")
        plain = np.array(numbers, dtype=np.int64)
    if plain.size and (int(plain.max()) > limit or int(plain.min()) < -limit):
        raise ParameterError(f"{name} must lie within ±2^{limit.bit_length() - 1}")
    return plain.astype(np.int64)
