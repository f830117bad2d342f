"""Random choice of one or more candidates, the cheaper the likelier, drawn without floating point.

The exponential mechanism [1]_ chooses candidate i with a probability proportional to `exp(-rate * costs[i])`.
Candidates of equal cost form a class; a class is drawn first, by inverting its cumulated weights, and then a member.

How: the weights are enclosed in balls, and the digits of a uniform number U are drawn as they are needed. The
digits known so far put `U * (sum of all weights)` in an interval; if all of it lies within one class, that is the
answer, whatever the digits not yet drawn will be; else more are drawn and the balls become narrower. Classes so
dear that all of them together weigh less than the last digit known stay out of the sum, in whose ball their
weight is included, until more digits are needed.

Some in turn: each is chosen among those left. The weights are put between whole numbers once for many turns; a class
is chosen by the larger of these, and what they are too large by is made up for by a coin that is hardly ever needed.

Permute-and-flip [2]_ has other probabilities: every candidate flips a coin that shows heads with probability
`exp(-rate * (costs[i] - least))`, and one of those that show heads is chosen, each as likely as the others. OpenDP's
noisy maxima for pure epsilon have the same distribution, but take their scale as a float, and up to a minute to choose
500 of 50,000.

The time taken depends on the costs and, slightly, on the choice: keep the duration of a release from those who
must not learn the costs.

Proof: choice.proof.md.

References
----------
.. [1] F. McSherry and K. Talwar, "Mechanism design via differential privacy", FOCS 2007.
.. [2] R. McKenna and D. Sheldon, "Permute-and-flip: a new mechanism for differentially private selection",
   NeurIPS 2020.
.. [3] D. Durfee and R. Rogers, "Practical differentially private top-k selection with pay-what-you-get composition",
   NeurIPS 2019.

"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from confide.errors import ConfideError, ParameterError
from confide.privacy.noise.bits import SYSTEM_BITS, BitSource, LazyUniform, uniform_below
from confide.privacy.noise.heavy_tailed import GUARD
from confide.privacy.noise.reals import as_fraction, precisions, working_precision

Integers = Sequence[int] | NDArray[np.int64]

LARGEST_COST = 2**61
LARGEST_MULTIPLICITY = 2**62

PLACES = 128
"""Weights of classes are put between multiples of `2^-PLACES`."""

DIGITS = 32
"""So many digits of a uniform number are drawn for every coin of permute-and-flip, and more if they do not decide."""

_DOUBT = 2.0**-8  # how far a float is trusted, in units of the last of those digits

_ENOUGH = 1 << (PLACES // 2)  # what the cheapest must weigh in those multiples, so that the coin is hardly ever needed


def exponential_choice(
    costs: Integers, rate: Fraction, multiplicities: Integers | None = None, *, bits: BitSource = SYSTEM_BITS
) -> int:
    """Choose index i with a probability proportional to `multiplicities[i] * exp(-rate * costs[i])`.

    A multiplicity says how many equal candidates an index stands for: one, if none are given.

    >>> from fractions import Fraction
    >>> exponential_choice([4, 0, 4], Fraction(100))
    1
    """
    prices, rate = _integers(costs, "costs", LARGEST_COST), _checked_rate(rate)
    if prices.size == 0:
        raise ParameterError("costs must not be empty: there is nothing to choose from")
    sizes = _sizes(multiplicities, prices.size)
    result, members = np.unique(prices, return_inverse=True)
    totals = np.zeros(result.size, dtype=np.int64)
    np.add.at(totals, members, sizes)
    chosen = _class(result - result[0], totals, rate, bits)
    inside = np.flatnonzero(members == chosen)
    place = uniform_below(int(totals[chosen]), bits)
    return int(inside[np.searchsorted(np.cumsum(sizes[inside]), place, side="right")])


def exponential_top(costs: Integers, rate: Fraction, k: int, *, bits: BitSource = SYSTEM_BITS) -> list[int]:
    """Choose k different indices in turn, each as `exponential_choice` would among those left.

    This is how the k greatest of `-rate * costs[i] + G_i` are distributed, in descending order, with independent
    Gumbel variates `G_i` [3]_.

    >>> from fractions import Fraction
    >>> exponential_top([4, 0, 2], Fraction(100), 2)
    [1, 2]
    """
    prices, rate = _checked_candidates(costs, k), _checked_rate(rate)
    result, members = np.unique(prices, return_inverse=True)
    sizes = np.bincount(members)
    grouped = np.split(np.argsort(members, kind="stable"), np.cumsum(sizes)[:-1])
    classes = _Classes(result.tolist(), [group.tolist() for group in grouped], rate)
    return [classes.take(bits) for _ in range(k)]


def permute_and_flip_top(costs: Integers, rate: Fraction, k: int, *, bits: BitSource = SYSTEM_BITS) -> list[int]:
    """Choose k different indices in turn, each by permute-and-flip among those left.

    >>> from fractions import Fraction
    >>> permute_and_flip_top([4, 0, 2], Fraction(100), 2)
    [1, 2]
    """
    prices, rate = _checked_candidates(costs, k), _checked_rate(rate)
    left, chosen = np.arange(prices.size), []
    for _ in range(k):
        heads = _heads(prices[left], rate, bits)
        place = int(heads[uniform_below(heads.size, bits)])
        chosen.append(int(left[place]))
        left = np.delete(left, place)
    return chosen


def _heads(prices: NDArray[np.int64], rate: Fraction, bits: BitSource) -> NDArray[np.intp]:
    """Flip a coin for each candidate, heads with probability `exp(-rate * (price - least))`, and say which show them.

    The first digits of a uniform number decide nearly always; where the float beside them, which is right to some
    `2^-49`, might be wrong, the coin is flipped to the end.
    """
    dearer, count = prices - prices.min(), prices.size
    digits = np.frombuffer(bits(DIGITS * count).to_bytes(DIGITS // 8 * count, "little"), dtype="<u4")
    above = digits - np.exp(-float(min(rate, Fraction(2**64))) * dearer) * 2.0**DIGITS
    heads = (above <= -1.0 - _DOUBT) | (dearer == 0)
    for place in np.flatnonzero(~heads & (above < _DOUBT)).tolist():
        heads[place] = _coin(-rate * int(dearer[place]), DIGITS, int(digits[place]), bits)
    return np.flatnonzero(heads)


def _coin(exponent: Fraction, places: int, floor: int, bits: BitSource) -> bool:
    """Show heads with probability `2^places * exp(exponent) - floor`, or never if that is negative, always above 1."""
    power, uniform = fmpq(exponent.numerator, exponent.denominator), LazyUniform(bits)
    for count in precisions():
        uniform.reveal(count)
        with working_precision(places + count + GUARD):
            drawn, part = uniform.ball(), arb(power).exp() * arb((1, places)) - floor
            if drawn < part or drawn > part:
                return bool(drawn < part)
    raise ConfideError(
        "no coin falls after a million random bits: the source of random bits gives the same bit for ever"
    )


class _Classes:
    """Candidates in classes of equal cost, from the cheapest, out of which they are taken in turn.

    With `weight = exp(-rate * (cost - least))` for a cost `least` above which all candidates left are, or at which,
    `floors[i] <= 2^PLACES * weight <= floors[i] + 1`.
    """

    __slots__ = ("_cheapest", "_costs", "_floors", "_least", "_left", "_rate", "_sizes")

    def __init__(self, costs: list[int], members: list[list[int]], rate: Fraction) -> None:
        self._costs = costs
        self._left = members
        self._sizes = [len(group) for group in members]
        self._rate = rate
        self._cheapest = 0
        self._weigh()

    def take(self, bits: BitSource) -> int:
        """Take out one candidate, with a probability proportional to its weight."""
        while not self._sizes[self._cheapest]:
            self._cheapest += 1
        if self._floors[self._cheapest] < _ENOUGH:
            self._weigh()
        number, place = self._drawn(bits)
        group = self._left[number]
        group[place], group[-1] = group[-1], group[place]
        self._sizes[number] -= 1
        return group.pop()

    def _drawn(self, bits: BitSource) -> tuple[int, int]:
        """A class and a place in it: weights `floor + 1`, of which the last part counts if the coin shows heads."""
        ends = list(accumulate(size * (floor + 1) for size, floor in zip(self._sizes, self._floors, strict=True)))
        while True:
            drawn = uniform_below(ends[-1], bits)
            number = bisect_right(ends, drawn)
            size, floor = self._sizes[number], self._floors[number]
            place, part = divmod(drawn - ends[number] + size * (floor + 1), floor + 1)
            if part < floor or _coin(self._exponent(number), PLACES, floor, bits):
                return number, place

    def _weigh(self) -> None:
        """Take the cheapest class left as the least cost, and weigh the others against it."""
        self._least = self._costs[self._cheapest]
        self._floors = [0] * len(self._costs)
        for number in range(self._cheapest, len(self._costs)):
            exponent = self._exponent(number)
            if exponent < -PLACES:
                break  # exp(-x) < 2^-x, so less than one part; those behind it weigh even less
            self._floors[number] = _floor(exponent)

    def _exponent(self, number: int) -> Fraction:
        return -self._rate * (self._costs[number] - self._least)


def _floor(exponent: Fraction) -> int:
    """Return the whole part of `2^PLACES * exp(exponent)`."""
    power = fmpq(exponent.numerator, exponent.denominator)
    for precision in precisions(PLACES + GUARD):
        with working_precision(precision):
            floor = (arb(power).exp() * arb((1, PLACES))).floor().unique_fmpz()
        if floor is not None:
            return int(floor)
    raise ConfideError("a weight cannot be told from a whole number")


def _class(dearer: NDArray[np.int64], totals: NDArray[np.int64], rate: Fraction, bits: BitSource) -> int:
    """Draw the number of a class with a probability proportional to `totals * exp(-rate * dearer)`.

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


def _checked_candidates(costs: Integers, k: int) -> NDArray[np.int64]:
    prices = _integers(costs, "costs", LARGEST_COST)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= prices.size:
        raise ParameterError("k must be a whole number from 1 to the number of candidates")
    return prices


def _checked_rate(rate: Fraction) -> Fraction:
    rate = as_fraction(rate, "rate")
    if rate < 0:
        raise ParameterError(f"rate must not be negative, got {rate}: the cheaper must be the likelier")
    return rate


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
