"""Average precision by smooth sensitivity: value, local sensitivity (ours and the paper's bound), smooth bound.

Proof: average_precision_sensitivity.proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, fmpq
from scipy.special import digamma

from confide.counts import FloatArray, ScoreCounts
from confide.privacy.mechanisms.class_sizes import counted_rows
from confide.privacy.mechanisms.smooth_sensitivity import Calibration
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import ExactReal, exact, exponential, maximum
from confide.privacy.queries import RealQuery

SLACK = Fraction(1, 2**45)
"""Added to the smooth bound: the value is computed in floats, proven to be within a quarter of this."""

_CLOSE = 1e-9  # floats of local sensitivities are far nearer than this to the numbers they stand for


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSensitivity:
    """A bound on what one row can change, for each number of positives; decreasing in it, and at most 1."""

    floats: Callable[[FloatArray], FloatArray]
    exact: Callable[[int], ExactReal]


def smooth_average_precision(
    counts: ScoreCounts, calibration: Calibration, neighbours: Neighbours, *, published: bool = False
) -> RealQuery:
    """Query average precision with noise scaled to its smooth sensitivity."""
    positives, negatives = counted_rows(counts)
    local = published_sensitivity() if published else local_sensitivity(positives + negatives, neighbours)
    bound = smooth_bound(local, positives, calibration.beta)
    return calibration.query(
        Fraction(pessimistic_average_precision(counts)), ExactReal(lambda: bound.enclose() + _ball(SLACK))
    )


def pessimistic_average_precision(counts: ScoreCounts) -> float:
    """`(1/n) sum i / (i + s_i)` with `s_i` the negatives at or above the i-th positive; 0 without positives.

    Tied negatives count as above: the sensitivity needs a total order, and the papers choose this
    one. scikit-learn's average precision, which calls tied rows positive together, is at least as
    high. The result is within 2^-51 of the exact number: quotients of whole numbers below 2^53 are
    correctly rounded, and so is `fsum`.
    """
    positives, _ = counted_rows(counts)
    if positives == 0:
        return 0.0
    rank = np.arange(1, positives + 1, dtype=np.float64)
    above = np.repeat(np.cumsum(counts.negatives[::-1]), counts.positives[::-1]).astype(np.float64)
    return math.fsum(rank / (rank + above)) / positives


def local_sensitivity(rows: int, neighbours: Neighbours) -> LocalSensitivity:
    """Return the exact local sensitivity for replace-one (a bound for label-only), or a bound for add-remove-one."""
    if neighbours == Neighbours.ADD_REMOVE_ONE:
        return LocalSensitivity(floats=_add_remove_floats, exact=_add_remove_exact)
    return LocalSensitivity(
        floats=lambda positives: _replace_floats(positives, rows),
        exact=lambda positives: _replace_exact(positives, rows),
    )


def published_sensitivity() -> LocalSensitivity:
    """Return the bound of Boyd, Lantz & Page (2015), theorem 5, for replace-one: valid, 2 to 3 times too large."""
    return LocalSensitivity(floats=_published_floats, exact=_published_exact)


def smooth_bound(local: LocalSensitivity, positives: int, beta: Fraction) -> ExactReal:
    """`max over k of local(n - k) exp(-beta k)`; more positives only lower the local sensitivity."""
    steps = np.arange(0, min(positives, _reach(local, positives, beta)) + 1)
    terms = local.floats((positives - steps).astype(np.float64)) * np.exp(-float(beta) * steps)
    near = steps[terms >= terms.max() * (1.0 - _CLOSE)]
    return maximum(*(local.exact(positives - int(k)) * exponential(-beta * int(k)) for k in near))


def smooth_bounds(local: LocalSensitivity, positives: FloatArray, beta: float) -> FloatArray:
    """Compute the smooth sensitivity in floats for many numbers of positives at once, for intervals and plans."""
    sizes, where = np.unique(np.rint(positives), return_inverse=True)
    fewest = max(int(sizes[0]) - _reach(local, int(sizes[0]), beta), 0)
    every = np.arange(float(fewest), sizes[-1] + 1.0)
    # S(n) = max(local(n), exp(-beta) S(n-1)) runs upward; in logs it is a running maximum of local + beta n.
    tilted = np.log(local.floats(every)) + beta * every
    smooth = np.exp(np.maximum.accumulate(tilted) - beta * every)
    found: FloatArray = smooth[sizes.astype(np.int64) - fewest][where].reshape(positives.shape)
    return found


def _reach(local: LocalSensitivity, positives: int, beta: Fraction | float) -> int:
    """Return how far down a term can matter: sensitivities are at most 1, so none does beyond `log(1/local)/beta`."""
    here = float(local.floats(np.array([float(positives)]))[0])
    return math.ceil(math.log(1.0 / here) / float(beta)) + 1


def _replace_floats(positives: FloatArray, rows: int) -> FloatArray:
    n = np.maximum(positives, 2.0)
    moved = (digamma(n + 1.0) + np.euler_gamma - 1.0) / (n - 1.0)
    other = (1.0 - n / rows + (digamma(n + 0.5) - digamma(1.5)) / 4.0) / n
    return np.where(positives <= 1.0, 1.0, np.minimum(np.maximum(moved, other), 1.0))


def _replace_exact(positives: int, rows: int) -> ExactReal:
    if positives <= 1:
        return exact(1)
    n = positives
    moved = ExactReal(lambda: (_harmonic(n) - 1) / arb(n - 1))
    other = ExactReal(lambda: (1 - _ball(Fraction(n, rows)) + _quarter_sum(n)) / arb(n))
    return maximum(moved, other)


def _add_remove_floats(positives: FloatArray) -> FloatArray:
    n = np.maximum(positives, 1.0)
    negative = (digamma(n + 2.0) + np.euler_gamma - 1.0) / n
    positive = (1.0 + (digamma(n + 0.5) - digamma(1.5)) / 4.0) / n
    return np.minimum(np.maximum(negative, positive), 1.0)


def _add_remove_exact(positives: int) -> ExactReal:
    if positives <= 1:
        return exact(1)
    n = positives
    negative = ExactReal(lambda: (_harmonic(n + 1) - 1) / arb(n))
    positive = ExactReal(lambda: (1 + _quarter_sum(n)) / arb(n))
    return maximum(negative, positive)


def _published_floats(positives: FloatArray) -> FloatArray:
    n = np.maximum(positives, 2.0)
    remove = np.maximum(np.log(n + 1.0) / n, (9.0 + np.log(n - 1.0)) / (4.0 * (n - 1.0)))
    add = np.maximum(np.log(n + 1.0) / n, (9.0 + np.log(n)) / (4.0 * n))
    return np.where(positives <= 1.0, 1.0, np.minimum(remove + add, 1.0))


def _published_exact(positives: int) -> ExactReal:
    n = positives
    if n <= 1 or float(_published_floats(np.array([float(n)]))[0]) >= 1.0:  # for small n far above 1, then far below
        return exact(1)
    negative = ExactReal(lambda: arb(n + 1).log() / arb(n))
    remove = maximum(negative, ExactReal(lambda: (9 + arb(n - 1).log()) / arb(4 * (n - 1))))
    add = maximum(negative, ExactReal(lambda: (9 + arb(n).log()) / arb(4 * n)))
    return ExactReal(lambda: remove.enclose() + add.enclose())


def _harmonic(n: int) -> arb:
    """`1 + 1/2 + ... + 1/n`, enclosed at the working precision."""
    return arb(n + 1).digamma() + arb.const_euler()


def _quarter_sum(n: int) -> arb:
    """Return the sum of `1/(4j + 2)` over j from 1 to n - 1, enclosed."""
    return ((arb(n) + _ball(Fraction(1, 2))).digamma() - _ball(Fraction(3, 2)).digamma()) / 4


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))
