"""No selection tells two neighbours apart by more than epsilon: every small dataset, all its neighbours, every answer.

Probabilities are computed by definition. With few rows the loss stays well below epsilon; that noise is not wasted is
shown by neighbours that strain it, those of the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import pytest

from confide.features import FeatureRows
from confide.privacy.mechanisms.feature_scores import SCORES
from confide.privacy.mechanisms.sparse_vector import sparse_vector
from confide.privacy.mechanisms.top_features import HOWS, How, top_features
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import ThresholdQuery, TopQuery
from tests.features import Row, every_row, of_rows
from tests.selection_odds import largest_loss

EPSILON = Fraction(2)
WIDTH, ROWS = 2, 2

Query = ThresholdQuery | TopQuery
Table = tuple[Row, ...]

REPLACE, ADD_REMOVE, LABEL = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ONE, Neighbours.LABEL_ONLY
# Information gain under add-remove-one is refused, and total counts under label-only are public.
COUNTS = [
    (score, relation) for score in SCORES[:3] for relation in Neighbours if (score, relation) != ("total-count", LABEL)
]
EVERY = [*COUNTS, *(("information-gain", relation) for relation in (REPLACE, LABEL))]


def pairs(relation: Neighbours) -> Iterator[tuple[Table, Table]]:
    kinds = every_row(WIDTH)
    for common in combinations_with_replacement(kinds, ROWS):
        for row in kinds:
            ours = tuple(sorted((*common, row)))
            if relation == ADD_REMOVE:
                yield ours, common
                continue
            for other in kinds if relation == REPLACE else [(row[0], not row[1])]:
                yield ours, tuple(sorted((*common, other)))


def largest(relation: Neighbours, ask: Callable[[FeatureRows], Query]) -> float:
    """The largest loss over all neighbours; those with the same scores as others are looked at once."""

    @cache
    def asked(table: Table) -> Query:
        return ask(of_rows(list(table), WIDTH))

    different = {(asked(ours).values, asked(theirs).values): (ours, theirs) for ours, theirs in pairs(relation)}
    return max(largest_loss(asked(ours), asked(theirs)) for ours, theirs in different.values())


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(("score", "relation"), EVERY)
def test_top_features(score: str, relation: Neighbours, k: int, how: How) -> None:
    lost = largest(
        relation, lambda rows: top_features(rows, score, EPSILON, relation, most_features=None, k=k, how=how)
    )
    assert 0.2 * float(EPSILON) / k < lost <= EPSILON * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("cutoff", [1, 2])
@pytest.mark.parametrize(("score", "relation"), COUNTS)
def test_sparse_vector(score: str, relation: Neighbours, cutoff: int) -> None:
    lost = largest(
        relation,
        lambda rows: sparse_vector(rows, score, EPSILON, relation, most_features=None, threshold=2, cutoff=cutoff),
    )
    assert 0.2 * float(EPSILON) / cutoff < lost <= EPSILON
