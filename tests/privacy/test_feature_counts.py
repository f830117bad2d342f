"""The noise on counts of features covers every neighbour, and no more than that."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.features import FeatureRows
from confide.privacy.mechanisms.feature_counts import feature_counts, read_feature_counts
from confide.privacy.mechanisms.row_limits import RowLimit
from confide.privacy.neighbours import Neighbours
from tests.features import Dense, dense_rows, every_row, made, neighbours_of, of_rows
from tests.noises import RELATIONS, SILENT

EPSILON = Fraction(7, 5)
limits = st.builds(RowLimit, kind=st.sampled_from(["spread", "sample"]), worth=st.integers(1, 4))


def loss(ours: FeatureRows, theirs: FeatureRows, relation: str, limit: RowLimit) -> Fraction:
    """What the integers of two neighbours lose at most: the sum of differences over scales."""
    one, other = (feature_counts(rows, EPSILON, Neighbours(relation), limit=limit) for rows in (ours, theirs))
    assert one.scales == other.scales
    differences = (abs(a - b) / scale for a, b, scale in zip(one.values, other.values, one.scales, strict=True))
    return sum(differences, Fraction(0))


@pytest.mark.parametrize("relation", RELATIONS)
@given(dense=dense_rows(most_rows=3, most_features=4), limit=limits)
def test_no_neighbour_loses_more_than_epsilon(relation: str, dense: Dense, limit: RowLimit) -> None:
    rows = made(dense)
    for neighbour in neighbours_of(dense, relation):
        assert loss(rows, neighbour, relation, limit) <= EPSILON


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", ["spread", "sample"])
def test_some_neighbour_loses_all_of_it(relation: str, kind: str) -> None:
    common = [row for row in every_row(4) if sum(row[0]) == 1]
    ours = [*common, ((1, 1, 1, 1), True)]
    theirs = {
        "add-remove-one": common,
        "replace-one": [*common, ((1, 1, 1, 1), False)],
        "label-only": [*common, ((1, 1, 1, 1), False)],
    }[relation]
    assert loss(of_rows(ours, 4), of_rows(theirs, 4), relation, RowLimit(kind=kind, worth=2)) == EPSILON


@given(dense=dense_rows(), relation=st.sampled_from(RELATIONS))
def test_without_noise_the_counts_come_back(dense: Dense, relation: str) -> None:
    rows, limit = made(dense), RowLimit(kind="sample", worth=6)
    query = feature_counts(rows, EPSILON, Neighbours(relation), limit=limit)
    read = read_feature_counts(query.draw(SILENT), query, rows, Neighbours(relation), limit=limit)
    np.testing.assert_array_equal(read.features, rows.counts())
    assert read.sizes == tuple(float(size) for size in rows.class_sizes())
    assert read.scale == pytest.approx(
        float((2 if relation == "replace-one" else 1) * 6 / (EPSILON * Fraction(19, 20)))
    )


def test_under_label_only_the_features_stay_exact() -> None:
    """Noise moves the positives; together the classes have what is public."""
    rows = of_rows([((1, 0), True), ((1, 1), False), ((0, 1), False)], 2)
    limit = RowLimit(kind="sample", worth=2)
    query = feature_counts(rows, EPSILON, Neighbours.LABEL_ONLY, limit=limit)
    assert len(query.values) == 3
    shifted = [value + 3 * 2**16 for value in query.values[:2]] + [query.values[2] + 1]
    read = read_feature_counts(shifted, query, rows, Neighbours.LABEL_ONLY, limit=limit)
    np.testing.assert_array_equal(read.features.sum(axis=0), [2, 2])
    np.testing.assert_array_equal(read.features[0], [4, 3])
    assert read.sizes == (2.0, 1.0)
