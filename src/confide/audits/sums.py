"""Audited mechanisms of contests and of sums over sites, and their broken twins.

Datasets are labels of rows whose place is public; neighbours differ in one label.

All sites run in one process. What is seen is the sum of their answers; the colluding sites' answers are known and
taken off. One site's rows differ between neighbours, the others' are known but for their noise.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from confide.audits.subject import DELTA, Pair, Query, Rows, Sampler, Subject, asking, counted, differing
from confide.counts import FloatArray, ScoreCounts
from confide.grid import Grid
from confide.privacy.accounting import rho_for
from confide.privacy.mechanisms.gaussian_shares import share_variance, shared_gaussian_counts
from confide.privacy.mechanisms.masked_labels import flip_probability, masked_labels
from confide.privacy.mechanisms.noise_shares import shared_counts
from confide.privacy.mechanisms.private_counts import cells_on
from confide.privacy.mechanisms.shaped_gaussian import shaped_gaussian, shaped_scale
from confide.privacy.mechanisms.strategies import FLAT, Strategy, Tree
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.shares import laplace_share
from confide.privacy.queries import SYSTEM_NOISE, Noise

Labels: TypeAlias = tuple[bool, ...]
"""Labels of a dataset, in the order of rows."""

_LABEL_PAIR: Pair[Labels] = ((True, True, False), (True, False, False))

STRATEGY = np.array([[1, 40, -2], [2, 30, 1]], dtype=np.int64)
"""Lines in which the second row, whose label differs, counts most, and the first row little."""


def contest_targets(epsilon: Fraction) -> Iterator[Subject[Labels]]:
    """Yield the mechanisms of contests, at an epsilon."""
    yield _label_subject("contest/masked-labels", epsilon, Fraction(0), _masked(epsilon), masked_labels)
    yield _label_subject("contest/shaped-gaussian", epsilon, DELTA, _shaped(rho_for(epsilon, DELTA)), shaped_gaussian)


def contest_twins(epsilon: Fraction) -> Iterator[Subject[Labels]]:
    """Yield mistakes with masks and with lines."""
    yield _label_twin(
        "contest/rarely-masked", epsilon, Fraction(0), _rarely_masked(epsilon), "half as many flips as claimed"
    )
    yield _label_twin(
        "contest/masked-again", epsilon, Fraction(0), _masked_again(epsilon), "a mask redrawn for one charge"
    )
    rho = rho_for(epsilon, DELTA)
    yield _label_twin(
        "contest/first-column", epsilon, DELTA, _first_column(rho), "noise for the first column, not the longest"
    )
    yield _label_twin("contest/shaped-scarce", epsilon, DELTA, _scarce(rho), "a fifth of the noise")


Asked: TypeAlias = Callable[[Labels], tuple[Query, ...]]


def _masked(epsilon: Fraction) -> Asked:
    return lambda labels: (masked_labels(_array(labels), epsilon),)


def _rarely_masked(epsilon: Fraction) -> Asked:
    """Flip half as often: at an epsilon of 1, the loss is 1.86."""
    probability = Fraction(int(flip_probability(epsilon) * 2**63), 2**64)
    return lambda labels: (replace(masked_labels(_array(labels), epsilon), probability=probability),)


def _masked_again(epsilon: Fraction) -> Asked:
    """Show two masks of the same labels."""
    return lambda labels: (masked_labels(_array(labels), epsilon),) * 2


def _shaped(rho: Fraction) -> Asked:
    return lambda labels: (shaped_gaussian(_array(labels), STRATEGY, rho),)


def _first_column(rho: Fraction) -> Asked:
    scale = shaped_scale(STRATEGY[:, :1], rho)

    def queries(labels: Labels) -> tuple[Query, ...]:
        query = shaped_gaussian(_array(labels), STRATEGY, rho)
        return (replace(query, scales=(scale,) * len(query.scales)),)

    return queries


def _scarce(rho: Fraction) -> Asked:
    def queries(labels: Labels) -> tuple[Query, ...]:
        query = shaped_gaussian(_array(labels), STRATEGY, rho)
        return (replace(query, scales=tuple(scale / 5 for scale in query.scales)),)

    return queries


def _array(labels: Labels) -> NDArray[np.bool_]:
    return np.array(labels, dtype=np.bool_)


def _label_subject(
    name: str, epsilon: Fraction, delta: Fraction, queries: Asked, proven: Callable[..., Query]
) -> Subject[Labels]:
    return asking(name, Neighbours.LABEL_ONLY, epsilon, delta, (_LABEL_PAIR,), queries, (proven,))


def _label_twin(name: str, epsilon: Fraction, delta: Fraction, queries: Asked, wrong: str) -> Subject[Labels]:
    return asking(name, Neighbours.LABEL_ONLY, epsilon, delta, (_LABEL_PAIR,), queries, wrong=wrong)


Sums = NDArray[np.int64]

GRIDS: dict[Strategy, Grid] = {FLAT: Grid.uniform(2), Tree(2): Grid.uniform(5)}
"""Grids on which a strategy has as many levels as on any default grid of a question: one, and three of a tree."""

_FEW: Rows = [(1, 0.1), (1, 0.9), (0, 0.1), (0, 0.9)]
_ROW_PAIR = differing(_FEW, [(1, 0.9)], [])
_OTHER = counted(_FEW)


def share_targets(epsilon: Fraction) -> Iterator[Subject[ScoreCounts]]:
    """Yield sums of counts with shares of noise, at an epsilon: all shares needed, three levels, and one share to
    spare; Laplace and Gaussian noise.
    """
    yield _target(epsilon, "shares/flat", FLAT, participants=3, colluders=1, honest=2)
    yield _target(epsilon, "shares/tree", Tree(2), participants=3, colluders=1, honest=2)
    yield _target(epsilon, "shares/spare", FLAT, participants=4, colluders=1, honest=2)
    yield _gaussian(epsilon, "shares/gaussian", FLAT, participants=3, colluders=1, honest=2)
    yield _gaussian(epsilon, "shares/gaussian-tree", Tree(2), participants=3, colluders=1, honest=2)


def share_twins(epsilon: Fraction) -> Iterator[Subject[ScoreCounts]]:
    """Yield mistakes with shares: too few are secret, all are the same, one is used twice, or noise is too small."""
    sites = partial(_seen, partial(answers, epsilon=epsilon, strategy=FLAT))
    yield _share_twin(
        "shares/all-needed",
        epsilon,
        "a colluding site's share counted as noise",
        partial(sites, participants=2, colluders=1, honest=2),
        2,
    )
    yield _share_twin(
        "shares/one-seed", epsilon, "one seed for all sites, which the coordinator knows", _one_seed(epsilon), 3
    )
    yield _share_twin("shares/used-again", epsilon, "the same shares for other participants", _used_again(epsilon), 3)
    yield _gaussian_twin(
        "shares/gaussian-all-needed",
        epsilon,
        "noise sized for thirty sites as if none colluded, where all but one do",
        partial(gaussian_answers, rho=_rho(epsilon), honest=30),
    )
    yield _gaussian_twin(
        "shares/gaussian-scarce",
        epsilon,
        "a fifth of the noise",
        partial(gaussian_answers, rho=25 * _rho(epsilon), honest=1),
    )


def answers(
    counts: ScoreCounts, times: int, *, epsilon: Fraction, honest: int, strategy: Strategy, noise: Noise = SYSTEM_NOISE
) -> Sums:
    """Draw the message of one site many times."""
    query = shared_counts(cells_on(counts, GRIDS[strategy]), epsilon, honest=honest, strategy=strategy)
    return np.array(query.draw_many(times, noise), dtype=np.int64)


def gaussian_answers(counts: ScoreCounts, times: int, *, rho: Fraction, honest: int, strategy: Strategy = FLAT) -> Sums:
    """Draw the message of one site many times, with a share of Gaussian noise."""
    grid = GRIDS[strategy]
    variance = share_variance(rho, honest, levels=strategy.levels(len(grid)))
    query = shared_gaussian_counts(cells_on(counts, grid), variance, strategy)
    return np.array(query.draw_many(times), dtype=np.int64)


def _rho(epsilon: Fraction) -> Fraction:
    return rho_for(epsilon, DELTA)


def _seen(
    answer: Callable[..., Sums],
    counts: ScoreCounts,
    times: int,
    *,
    participants: int,
    colluders: int,
    honest: int,
) -> FloatArray:
    """Return the sum over all sites, less what the colluding ones sent; sums of 64 bits are taken modulo 2^64."""
    sites = (counts, *(_OTHER,) * (participants - 1))
    sent = [answer(site, times, honest=honest) for site in sites]
    known = sent[participants - colluders :]
    return (_total(sent) - _total(known)).astype(np.float64)


def _one_seed(epsilon: Fraction) -> Sampler[ScoreCounts]:
    """Seed three sites with the number of the question; the coordinator draws the same noise and subtracts it."""

    def sample(counts: ScoreCounts, times: int) -> FloatArray:
        draw = partial(answers, epsilon=epsilon, honest=2, strategy=FLAT)
        sent = [draw(site, times, noise=_from_seed(7)) for site in (counts, _OTHER, _OTHER)]
        nothing = counted([])
        guessed = 3 * draw(nothing, times, noise=_from_seed(7))
        return (_total(sent) - guessed).astype(np.float64)

    return sample


def _used_again(epsilon: Fraction) -> Sampler[ScoreCounts]:
    """Ask a second question without one site. The difference of the two sums is that site's answer, with one share."""

    def sample(counts: ScoreCounts, times: int) -> FloatArray:
        draw = partial(answers, epsilon=epsilon, honest=3, strategy=FLAT)
        sent = [draw(site, times) for site in (counts, _OTHER, _OTHER)]
        return (_total(sent) - _total(sent[1:])).astype(np.float64)

    return sample


def _from_seed(seed: int) -> Noise:
    bits = random.Random(seed).getrandbits  # noqa: S311  # the flaw that is shown
    return Noise(laplace_share=partial(laplace_share, bits=bits))


def _total(sent: list[Sums]) -> Sums:
    total: Sums = np.sum(sent, axis=0, dtype=np.int64)
    return total


def _target(
    epsilon: Fraction, name: str, strategy: Strategy, *, participants: int, colluders: int, honest: int
) -> Subject[ScoreCounts]:
    answer = partial(answers, epsilon=epsilon, strategy=strategy)
    seen = partial(_seen, answer, participants=participants, colluders=colluders, honest=honest)
    return _share_subject(name, epsilon, seen, participants, strategy, wrong="")


def _gaussian(
    epsilon: Fraction, name: str, strategy: Strategy, *, participants: int, colluders: int, honest: int
) -> Subject[ScoreCounts]:
    answer = partial(gaussian_answers, rho=_rho(epsilon), strategy=strategy)
    seen = partial(_seen, answer, participants=participants, colluders=colluders, honest=honest)
    whole = _share_subject(name, epsilon, seen, participants, strategy, wrong="")
    return replace(whole, delta=DELTA, proven=(shared_gaussian_counts,))


def _gaussian_twin(name: str, epsilon: Fraction, wrong: str, answer: Callable[..., Sums]) -> Subject[ScoreCounts]:
    """Return a twin in which one honest site is left; what all others sent is known and taken off."""

    def sample(counts: ScoreCounts, times: int) -> FloatArray:
        return answer(counts, times).astype(np.float64)

    return replace(_share_twin(name, epsilon, wrong, sample, 1), delta=DELTA)


def _share_twin(
    name: str, epsilon: Fraction, wrong: str, sample: Sampler[ScoreCounts], participants: int
) -> Subject[ScoreCounts]:
    return _share_subject(name, epsilon, sample, participants, FLAT, wrong=wrong)


def _share_subject(
    name: str, epsilon: Fraction, sample: Sampler[ScoreCounts], participants: int, strategy: Strategy, *, wrong: str
) -> Subject[ScoreCounts]:
    integers = strategy.measure(cells_on(_OTHER, GRIDS[strategy])).size
    return Subject(
        name=name,
        neighbours=Neighbours.ADD_REMOVE_ONE,
        epsilon=epsilon,
        pairs=(_ROW_PAIR,),
        sample=sample,
        cost=participants * integers,
        proven=() if wrong else (shared_counts,),
        wrong=wrong,
    )
