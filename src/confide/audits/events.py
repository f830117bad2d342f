"""Events that tell two datasets apart, and the lower bound on epsilon that their frequencies prove.

An event is a score of the output above or below a threshold. The scores detect the usual failures of noise: too little
of it (the numbers themselves, and the likelihood ratio of Laplace noise for several at once), a scale that depends on
the data (the distance from the middle), floats (the lowest set bit), values that only one dataset can give (the
frequency of each) and, for noise of any shape, the ratio of frequencies between quantiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import FloatArray
from confide.errors import ParameterError


def loss_below(
    hits: ArrayLike, draws: int, other_hits: ArrayLike, other_draws: int, *, delta: float = 0.0, error: float
) -> FloatArray:
    """Return a bound that exceeds the true epsilon with a probability of at most `error`: `log((p - delta)/q)`.

    An event happened `hits` times in `draws` releases of one dataset and `other_hits` times in `other_draws` of its
    neighbour. If `P <= exp(epsilon) Q + delta` then epsilon is at least `log((P - delta)/Q)`; p is a lower and q an
    upper limit of Clopper and Pearson, each wrong with a probability of at most `error / 2`. The event must have been
    chosen before these draws were seen. The bound is 0 where nothing is shown.

    >>> float(loss_below(500, 1000, 100, 1000, error=1e-4).round(2))
    1.13
    """
    least = proportion_below(hits, draws, error / 2.0) - delta
    most = proportion_above(other_hits, other_draws, error / 2.0)
    shown: FloatArray = np.log(np.maximum(least, most) / most)
    return shown


def proportion_below(hits: ArrayLike, draws: int, error: float) -> FloatArray:
    """Return the one-sided lower limit of Clopper and Pearson (1934): 0 without a hit.

    >>> float(proportion_below(10, 10, 0.05).round(4))  # the tenth root of 0.05
    0.7411
    """
    from scipy.special import betaincinv

    found = _checked(hits, draws)
    limit: FloatArray = np.where(found > 0, betaincinv(np.maximum(found, 1), draws - found + 1, error), 0.0)
    return limit


def proportion_above(hits: ArrayLike, draws: int, error: float) -> FloatArray:
    """Return the one-sided upper limit of Clopper and Pearson: 1 if every draw is a hit.

    >>> float(proportion_above(0, 10, 0.05).round(4))
    0.2589
    """
    return 1.0 - proportion_below(draws - _checked(hits, draws), draws, error)


def checked_error(error: float) -> float:
    """Return the probability of a wrong bound. Refuse a value that is none."""
    if not 0.0 < error <= 0.5:
        raise ParameterError(f"error must lie above 0 and at most 0.5, for example 1e-4; got {error!r}")
    return float(error)


def _checked(hits: ArrayLike, draws: int) -> FloatArray:
    found = np.asarray(hits, dtype=np.float64)
    if draws < 1 or (found < 0).any() or (found > draws).any():
        raise ParameterError("hits must lie between 0 and draws, and there must be a draw")
    return found


Score = Callable[[FloatArray], FloatArray]
"""Function that gives a number for each output; outputs are rows."""

CELLS = 24
"""Number of cells between quantiles in which frequencies are compared."""

FEW = 400
"""Largest number of different values that are counted one by one."""

GUESS = 0.25
"""Error with which an event is chosen if none shows anything with the error of the audit."""

_SHARES = np.unique(np.concatenate((np.geomspace(1e-4, 0.1, 25), np.linspace(0.1, 0.9, 81))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Outputs whose score is at least (or below) a threshold; `swapped` if the neighbour is the likelier one."""

    name: str
    score: Score
    threshold: float
    above: bool
    swapped: bool

    def hits(self, outputs: FloatArray) -> int:
        """Count the outputs in which the event happened."""
        scored = _scored(self.score, answered(outputs))
        return int(np.count_nonzero(scored >= self.threshold if self.above else scored < self.threshold))


def choose_event(first: FloatArray, second: FloatArray, *, delta: float, error: float) -> Event:
    """Choose the event that shows most on these draws. It must be tested on others.

    Half of the draws build the scores. The other half choose one and its threshold, so that an overfitted score is not
    preferred. Where nothing is shown at this error, a guess is made.
    """
    (first, ours), (second, theirs) = (np.array_split(answered(outputs), 2) for outputs in (first, second))
    scored = [(name, score, _scored(score, ours), _scored(score, theirs)) for name, score in _scores(first, second)]
    for allowed in (error, GUESS):
        found = [_best_threshold(*each, delta, allowed) for each in scored]
        shown, event = max(found, key=lambda each: each[0])
        if shown > 0.0:
            break
    return event


def answered(outputs: FloatArray) -> FloatArray:
    """Replace a refusal to answer, NaN, by a value below every number."""
    return np.where(np.isnan(outputs), -np.inf, outputs)


def lowest_bit(values: FloatArray) -> FloatArray:
    """Return the exponent of the lowest set bit: 0 for odd numbers, -1 for halves, minus infinity for 0.

    Sums of floats lie on grids whose steps depend on the summands (Mironov 2012).

    >>> lowest_bit(np.array([3.0, 2.5, 96.0]))
    array([ 0., -1.,  5.])
    """
    finite = np.where(np.isfinite(values), values, 0.0)
    share, exponent = np.frexp(finite)
    whole = (share * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where(whole == 0, -np.inf, (lowest + exponent - 53).astype(np.float64))


def _scores(first: FloatArray, second: FloatArray) -> Iterator[tuple[str, Score]]:
    """Build scores from the draws on which the event is chosen."""
    plain = list(_plain_scores(first, second))
    yield from plain
    for name, score in plain:
        ours, theirs = _scored(score, first), _scored(score, second)
        every = np.concatenate((ours, theirs))
        values = np.unique(every)
        if values.size <= FEW:
            yield f"frequency of {name}", _by_frequency(score, values, ours, theirs)
        else:
            edges = np.unique(np.quantile(every, np.linspace(0.0, 1.0, CELLS + 1)[1:-1], method="lower"))
            yield f"ratio by {name}", _by_cell(score, edges, ours, theirs)


def _plain_scores(first: FloatArray, second: FloatArray) -> Iterator[tuple[str, Score]]:
    middles = np.median(np.concatenate((first, second)), axis=0)
    for k, middle in enumerate(middles):
        yield f"number {k + 1}", _number(k)
        yield f"distance of number {k + 1}", _distance(k, float(middle))
        yield f"lowest bit of number {k + 1}", _lowest_bit(k)
    if middles.size > 1:
        yield "all numbers", _laplace_ratio(first, second)
        yield "all numbers, linear", _linear(first, second)


def _number(k: int) -> Score:
    return lambda outputs: outputs[:, k]


def _distance(k: int, middle: float) -> Score:
    return lambda outputs: np.abs(outputs[:, k] - middle)


def _lowest_bit(k: int) -> Score:
    return lambda outputs: lowest_bit(outputs[:, k])


def _laplace_ratio(first: FloatArray, second: FloatArray) -> Score:
    """Return the log-likelihood ratio of independent Laplace noise around the observed medians."""
    ours, theirs = np.median(first, axis=0), np.median(second, axis=0)
    scale = _spread(first, second)

    def score(outputs: FloatArray) -> FloatArray:
        ratio: FloatArray = ((np.abs(outputs - theirs) - np.abs(outputs - ours)) / scale).sum(axis=1)
        return ratio

    return score


def _linear(first: FloatArray, second: FloatArray) -> Score:
    """Return the log-likelihood ratio of Gaussian noise."""
    scale = _spread(first, second)
    weights = (np.median(first, axis=0) - np.median(second, axis=0)) / scale**2

    return lambda outputs: (outputs * weights).sum(axis=1)


def _spread(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the scale of Laplace noise with the observed median distance from the median; 1 if it is 0."""
    with np.errstate(invalid="ignore"):
        distance = np.concatenate([np.abs(each - np.median(each, axis=0)) for each in (first, second)])
    scale = np.median(distance, axis=0) / np.log(2.0)
    return np.where(np.isfinite(scale) & (scale > 0.0), scale, 1.0)


def _by_frequency(score: Score, values: FloatArray, ours: FloatArray, theirs: FloatArray) -> Score:
    tally = [np.bincount(np.searchsorted(values, each), minlength=values.size) for each in (ours, theirs)]
    ratio = np.log((tally[0] + 1.0) / (tally[1] + 1.0))

    def scored(outputs: FloatArray) -> FloatArray:
        found = score(outputs)
        where = np.minimum(np.searchsorted(values, found), values.size - 1)
        return np.where(values[where] == found, ratio[where], 0.0)

    return scored


def _by_cell(score: Score, edges: FloatArray, ours: FloatArray, theirs: FloatArray) -> Score:
    def cell(found: FloatArray) -> NDArray[np.intp]:
        return np.searchsorted(edges, found, side="right")

    tally = [np.bincount(cell(each), minlength=edges.size + 1) for each in (ours, theirs)]
    ratio = np.log((tally[0] + 1.0) / (tally[1] + 1.0))
    return lambda outputs: ratio[cell(score(outputs))]


def _best_threshold(
    name: str, score: Score, ours: FloatArray, theirs: FloatArray, delta: float, error: float
) -> tuple[float, Event]:
    ours, theirs = np.sort(ours), np.sort(theirs)
    every = np.concatenate((ours, theirs))
    thresholds = np.unique(every)
    if thresholds.size > FEW:
        thresholds = np.unique(np.quantile(every, np.concatenate((_SHARES, 1.0 - _SHARES)), method="lower"))
    below = np.searchsorted(ours, thresholds), np.searchsorted(theirs, thresholds)
    best: tuple[float, Event] | None = None
    for above in (True, False):
        hits, other = (each.size - low if above else low for each, low in zip((ours, theirs), below, strict=True))
        for swapped in (False, True):
            pair = (other, theirs.size, hits, ours.size) if swapped else (hits, ours.size, other, theirs.size)
            shown = loss_below(*pair, delta=delta, error=error)
            top = int(np.argmax(shown))
            event = Event(name=name, score=score, threshold=float(thresholds[top]), above=above, swapped=swapped)
            if best is None or shown[top] > best[0]:
                best = float(shown[top]), event
    assert best is not None  # noqa: S101  # the loop ran
    return best


def _scored(score: Score, outputs: FloatArray) -> FloatArray:
    """Return the scores of outputs.

    An output without a score, because an answer was refused, comes below all others.
    """
    with np.errstate(invalid="ignore"):
        return answered(score(outputs))
