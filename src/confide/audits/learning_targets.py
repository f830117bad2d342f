"""Audited mechanisms for naive Bayes: noisy counts of rows with features, with the hardest neighbours.

Logistic regression is in `logistic_targets`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from confide.audits.logistic_targets import logistic_targets
from confide.audits.selection_targets import differing_rows, turned
from confide.audits.subject import DELTA, Pair, Query, Subject, asking
from confide.features import FeatureRows
from confide.privacy.accounting import rho_for
from confide.privacy.mechanisms.feature_counts import concentrated_feature_counts, feature_counts
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
        queries = _counts(epsilon, neighbours, feature_counts)
        yield asking("learning/counts", neighbours, epsilon, Fraction(0), (pair,), queries, (feature_counts,))
    rho = rho_for(epsilon, DELTA)
    for neighbours, pair in _COUNTS.items():
        queries = _counts(rho, neighbours, concentrated_feature_counts)
        name, proven = "learning/gaussian-counts", (concentrated_feature_counts,)
        yield asking(name, neighbours, epsilon, DELTA, (pair,), queries, proven)
    yield from logistic_targets(epsilon)


def _counts(
    price: Fraction, neighbours: Neighbours, ask: Callable[..., Query]
) -> Callable[[FeatureRows], tuple[Query, ...]]:
    def queries(rows: FeatureRows) -> tuple[Query, ...]:
        return (ask(rows, price, neighbours, limit=ONE),)

    return queries
