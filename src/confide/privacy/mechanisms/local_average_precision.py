"""Average precision with noise at the scale of the data at hand: the number of positives sets the scale.

Proof: local_average_precision.proof.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, fmpq
from scipy.special import digamma

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.privacy.mechanisms.average_precision_sensitivity import SLACK, pessimistic_average_precision
from confide.privacy.mechanisms.class_sizes import counted_rows
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.pareto import ParetoShape, Side
from confide.privacy.noise.reals import ExactReal, upper_bound
from confide.privacy.queries import CutQuery

FEWEST = 5
"""The proof needs the least number of positives to be at least this."""

STEEPEST = Fraction(1, 5)
"""The proof needs the core and the tail of the noise to be at most this."""

LEAST, LEAST_ADDED = 10, 5
"""Without a guess, the least number of positives that is not held up is this over epsilon, the latter where rows come
or go."""

LEAST_GUESSED, MOST_GUESSED = 5, 20
"""With a guess of the prevalence, the least number of positives is between these over epsilon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionParameters:
    """Public parameters of the mechanism, refused unless the proof's conditions hold.

    `least` (n0) is what the number of positives counts as at least.
    """

    epsilon: Fraction
    neighbours: Neighbours
    least: int

    def __post_init__(self) -> None:
        if self.least < FEWEST:
            raise ParameterError(f"least must be at least {FEWEST}")
        if self.steepness > (1 - _gain(self.least) if self._added else STEEPEST):
            raise ParameterError("least is too small for this epsilon")

    def bound(self, positives: int) -> ExactReal:
        """Return what one row changes at most where there are so many positives, at least n0."""
        last = self._last(positives)
        return ExactReal(lambda: _mean_reciprocal(last) + arb(fmpq(SLACK.numerator, SLACK.denominator)))

    def bounds(self, positives: FloatArray) -> FloatArray:
        """Return `bound` in floats, for intervals and plans."""
        last = np.maximum(positives, self.least) + float(self._last(0))
        change: FloatArray = (digamma(last + 1.0) + np.euler_gamma - 1.0) / (last - 1.0)
        return change

    @property
    def steepness(self) -> Fraction:
        """Return `log(S(n0) / S(n0 + 1)) / epsilon`, rounded up."""
        here, next_one = self._last(self.least), self._last(self.least + 1)
        fall = ExactReal(lambda: (_mean_reciprocal(here) / _mean_reciprocal(next_one)).log())
        return upper_bound(fall) / self.epsilon

    @property
    def shape(self) -> ParetoShape:
        """Return the shape of the noise: Laplace if rows come or go, else with a core above zero and a tail below."""
        steepness = Fraction(0) if self._added else self.steepness
        return ParetoShape(above=Side(core=steepness), below=Side(tail=steepness))

    @property
    def _added(self) -> bool:
        return self.neighbours == Neighbours.ADD_REMOVE_ONE

    def _last(self, positives: int) -> int:
        """Return the k of the mean of 1/2, 1/3, ..., 1/k that bounds a change at so many positives."""
        return positives + self._added


def precision_parameters(
    epsilon: Fraction, neighbours: Neighbours, rows: int | None, prevalence_guess: float | None = None
) -> PrecisionParameters:
    """Choose the parameters from public facts."""
    least = math.ceil((LEAST_ADDED if neighbours == Neighbours.ADD_REMOVE_ONE else LEAST) / epsilon)
    if rows is not None and prevalence_guess is not None:
        half = int(rows * prevalence_guess / 2.0)
        least = max(math.ceil(LEAST_GUESSED / epsilon), min(half, math.floor(MOST_GUESSED / epsilon)))
    return PrecisionParameters(epsilon=epsilon, neighbours=neighbours, least=max(least, FEWEST))


def local_average_precision(counts: ScoreCounts, parameters: PrecisionParameters) -> CutQuery:
    """Query average precision, drawn towards 1 where there are fewer positives than the least number.

    With `n` positives and `s = max(n, n0)`, the value is `1 - (n / s) (1 - AP)`, and the scale is the local
    sensitivity at s positives, over epsilon. Tied negatives count as above.
    """
    positives, _ = counted_rows(counts)
    size = max(positives, parameters.least)
    value = 1 - Fraction(positives, size) * (1 - Fraction(pessimistic_average_precision(counts)))
    return CutQuery(value=value, scale=parameters.bound(size) / parameters.epsilon, shape=parameters.shape)


def _mean_reciprocal(last: int) -> arb:
    """Return the mean of 1/2, 1/3, ..., 1/last, enclosed at the working precision."""
    return (arb(last + 1).digamma() + arb.const_euler() - 1) / (last - 1)


def _gain(positives: int) -> Fraction:
    """Return what one more positive raises average precision by, over the scale; rounded up.

    It is `(1 + sum of 1/(4j + 2) over j from 1 to n) / (1/2 + 1/3 + ... + 1/(n + 2))`.
    """
    quarters = ExactReal(lambda: 1 + ((arb(2 * positives + 3) / 2).digamma() - (arb(3) / 2).digamma()) / 4)
    sums = ExactReal(lambda: _mean_reciprocal(positives + 2) * (positives + 1))
    return upper_bound(quarters / sums)
