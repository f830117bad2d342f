"""Audited mechanisms for naive Bayes: noisy counts of rows with features, with the hardest neighbours.

Logistic regression is in `logistic_targets`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from confide.audits.logistic_targets import logistic_targets
from confide.audits.selection_targets import differing_rows, turned
from confide.audits.subject import Pair, Query, Subject, asking
from confide.features import FeatureRows
from confide.privacy.mechanisms.feature_counts import feature_counts
from confide.privacy.mechanisms.row_limits import RowLimit
from confide.privacy.neighbours import Neighbours

ONE = RowLimit(worth=1)

# A row with one feature weighs all that it may.
_COUNTS: Mapping[Neighbours, Pair[FeatureRows]] = {
    Neighbours.ADD_REMOVE_ONE: differing_rows(1, [(1, (0,)), (0, ())], [], [(1, (0,))]),
    Neighbours.REPLACE_ONE: turned(1, [(1, (0,)), (0, ())]),
    Neighbours.LABEL_ONLY: turned(1, [(1, (0,)), (0, ())]),
}


def learning_targets(epsilon: Fraction) -> Iterator[Subject[FeatureRows]]:
    """Yield every mechanism that trains naive Bayes, at an epsilon."""
    for neighbours, pair in _COUNTS.items():
        queries = _counts(epsilon, neighbours)
        yield asking("learning/counts", neighbours, epsilon, Fraction(0), (pair,), queries, (feature_counts,))
    yield from logistic_targets(epsilon)


def _counts(epsilon: Fraction, neighbours: Neighbours) -> Callable[[FeatureRows], tuple[Query, ...]]:
    def queries(rows: FeatureRows) -> tuple[Query, ...]:
        return (feature_counts(rows, epsilon, neighbours, limit=ONE),)

    return queries
