"""Audited mechanisms of contests, and their broken twins: masked labels and lines of a shaped final.

Datasets are labels of rows whose place is public; neighbours differ in one label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from confide.audits.subject import DELTA, Pair, Query, Subject, asking
from confide.privacy.accounting import rho_for
from confide.privacy.mechanisms.masked_labels import flip_probability, masked_labels
from confide.privacy.mechanisms.shaped_gaussian import shaped_gaussian, shaped_scale
from confide.privacy.neighbours import Neighbours

Labels: TypeAlias = tuple[bool, ...]
"""Labels of a dataset, in the order of rows."""

_PAIR: Pair[Labels] = ((True, True, False), (True, False, False))

STRATEGY = np.array([[1, 40, -2], [2, 30, 1]], dtype=np.int64)
"""Lines in which the second row, whose label differs, counts most, and the first row little."""


def contest_targets(epsilon: Fraction) -> Iterator[Subject[Labels]]:
    """Yield the mechanisms of contests, at an epsilon."""
    yield _subject("contest/masked-labels", epsilon, Fraction(0), _masked(epsilon), masked_labels)
    yield _subject("contest/shaped-gaussian", epsilon, DELTA, _shaped(rho_for(epsilon, DELTA)), shaped_gaussian)


def contest_twins(epsilon: Fraction) -> Iterator[Subject[Labels]]:
    """Yield mistakes with masks and with lines."""
    yield _twin("contest/rarely-masked", epsilon, Fraction(0), _rarely_masked(epsilon), "half as many flips as claimed")
    yield _twin("contest/masked-again", epsilon, Fraction(0), _masked_again(epsilon), "a mask redrawn for one charge")
    rho = rho_for(epsilon, DELTA)
    yield _twin(
        "contest/first-column", epsilon, DELTA, _first_column(rho), "noise for the first column, not the longest"
    )
    yield _twin("contest/shaped-scarce", epsilon, DELTA, _scarce(rho), "a fifth of the noise")


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


def _subject(
    name: str, epsilon: Fraction, delta: Fraction, queries: Asked, proven: Callable[..., Query]
) -> Subject[Labels]:
    return asking(name, Neighbours.LABEL_ONLY, epsilon, delta, (_PAIR,), queries, (proven,))


def _twin(name: str, epsilon: Fraction, delta: Fraction, queries: Asked, wrong: str) -> Subject[Labels]:
    return asking(name, Neighbours.LABEL_ONLY, epsilon, delta, (_PAIR,), queries, wrong=wrong)
