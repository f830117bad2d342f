"""Audited mechanisms for private feature selection under every relation, with rows that are hardest for them.

The mechanism's own query draws. An output is all noisy scores, or the order of the selected features as one number.
Scores and relations are matched so that each kind of change occurs: all scores rise (total count, add-remove-one), some
rise by 2 while others fall by 2 (difference count, replace-one), some rise by 2 and others stay (purity index,
label-only).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from confide.audits.subject import DELTA, Pair, Query, Subject, asking
from confide.features import FeatureRows
from confide.privacy.accounting import rho_for
from confide.privacy.mechanisms.feature_scores import public_order
from confide.privacy.mechanisms.score_perturbation import concentrated_scores, perturbed_scores
from confide.privacy.mechanisms.sparse_vector import sparse_vector
from confide.privacy.mechanisms.top_features import HOWS, top_features
from confide.privacy.neighbours import Neighbours

Having: TypeAlias = tuple[int, tuple[int, ...]]
"""Row by its label and its features."""

Ask: TypeAlias = Callable[..., Query]
Strained: TypeAlias = Mapping[Neighbours, tuple[str, Pair[FeatureRows], Mapping[str, Any]]]
"""For each relation: a score, neighbours, and further parameters of the mechanism."""

_ADD, _REPLACE, _LABEL = Neighbours.ADD_REMOVE_ONE, Neighbours.REPLACE_ONE, Neighbours.LABEL_ONLY


def selection_targets(epsilon: Fraction) -> Iterator[Subject[FeatureRows]]:
    """Yield every selection mechanism, at an epsilon."""
    yield from _targets(epsilon, "features/scores", perturbed_scores, _SCORES)
    yield from _gaussian(epsilon)
    yield from _targets(epsilon, "features/sparse-vector", sparse_vector, _THRESHOLD)
    for how in HOWS:
        yield from _targets(epsilon, f"features/{how}", top_features, _TOP, how=how)


def having(rows: Sequence[Having], width: int) -> FeatureRows:
    """Build rows with these labels and features."""
    matrix = np.zeros((len(rows), width), dtype=np.int64)
    for place, (_, features) in enumerate(rows):
        matrix[place, list(features)] = 1
    return FeatureRows.from_matrix(matrix, np.array([label for label, _ in rows], dtype=np.bool_))


def differing_rows(
    width: int, common: Sequence[Having], ours: Sequence[Having], theirs: Sequence[Having]
) -> Pair[FeatureRows]:
    """Build two datasets that have most rows in common."""
    return having([*common, *ours], width), having([*common, *theirs], width)


def turned(width: int, common: Sequence[Having]) -> Pair[FeatureRows]:
    """Build two datasets in which a row with every feature changes from negative to positive."""
    every = tuple(range(width))
    return differing_rows(width, common, [(0, every)], [(1, every)])


# Scores change as much as they can, in all.
_SCORES: Strained = {
    _ADD: ("total-count", differing_rows(2, [(1, (0,))], [], [(1, (0, 1))]), {}),
    _REPLACE: ("difference-count", turned(2, [(1, (0, 1))] * 3), {}),
    _LABEL: ("purity-index", turned(2, [(1, (0, 1))] * 3), {}),
}

# The first two asked rise by the threshold, and the last, above it, falls or stays.
_ASKED = tuple(public_order(3).tolist())
_FIRST, _LAST = _ASKED[:2], _ASKED[2:]
_THRESHOLD: Strained = {
    _ADD: (
        "total-count",
        differing_rows(3, [(1, _ASKED), (1, _LAST), (1, _LAST)], [], [(1, _FIRST)]),
        {"threshold": 1, "cutoff": 1},
    ),
    _REPLACE: (
        "difference-count",
        turned(3, [(1, _FIRST)] * 3 + [(0, _LAST)] * 5),
        {"threshold": 4, "cutoff": 1},
    ),
    _LABEL: (
        "purity-index",
        turned(3, [(1, _FIRST)] * 2 + [(1, ())] * 3 + [(0, _LAST)] * 4),
        {"threshold": 1, "cutoff": 1},
    ),
}

# One feature is ahead, and others catch up: two of them where two are chosen.
_TOP: Strained = {
    _ADD: ("total-count", differing_rows(3, [(1, (2,)), (0, (2,))], [], [(1, (0, 1))]), {"k": 2}),
    _REPLACE: ("difference-count", turned(2, [*[(1, (0,))] * 3, *[(0, (1,))] * 6]), {"k": 1}),
    _LABEL: ("purity-index", turned(2, [(0, (1,)), (0, (1,)), (1, (0,)), (1, ()), (1, ())]), {"k": 1}),
}


def _targets(
    epsilon: Fraction, name: str, ask: Ask, strained: Strained, **options: Any
) -> Iterator[Subject[FeatureRows]]:
    for neighbours, (score, pair, given) in strained.items():
        queries = _queries(ask, score, epsilon, neighbours, {**given, **options})
        yield asking(name, neighbours, epsilon, Fraction(0), (pair,), queries, (ask,))


def _gaussian(epsilon: Fraction) -> Iterator[Subject[FeatureRows]]:
    rho = rho_for(epsilon, DELTA)
    for neighbours, (score, pair, _) in _SCORES.items():
        queries = _queries(concentrated_scores, score, rho, neighbours, {})
        name, proven = "features/gaussian-scores", (concentrated_scores,)
        yield asking(name, neighbours, epsilon, DELTA, (pair,), queries, proven)


def _queries(
    ask: Ask, score: str, epsilon: Fraction, neighbours: Neighbours, given: Mapping[str, Any]
) -> Callable[[FeatureRows], tuple[Query, ...]]:
    def queries(rows: FeatureRows) -> tuple[Query, ...]:
        return (ask(rows, score, epsilon, neighbours, most_features=None, **given),)

    return queries
