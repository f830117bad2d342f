"""Every metric of the registry depends on the rows alone: not on their order, their parts or how they are repeated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import ScoreCounts
from confide.errors import ParameterError
from confide.metrics.registry import METRICS
from tests.strategies import RowTable, row_tables

TOLERANCE = 1e-9
WHOLE_ROWS = {name for name, metric in METRICS.items() if metric.whole_rows}
every_metric = pytest.mark.parametrize("name", METRICS)


def same(first: float, second: float) -> bool:
    """Equal to the last bit, or both undefined."""
    return first == second or (math.isnan(first) and math.isnan(second))


def close(first: float, second: float) -> bool:
    return first == pytest.approx(second, rel=TOLERANCE, abs=TOLERANCE, nan_ok=True)


@pytest.mark.few(5)
@every_metric
@given(rows=row_tables(), data=st.data())
def test_order_of_rows(name: str, rows: RowTable, data: st.DataObject) -> None:
    shuffled = rows.take(np.array(data.draw(st.permutations(range(len(rows))))))
    assert same(METRICS[name](rows.counts()), METRICS[name](shuffled.counts()))


@pytest.mark.few(2)
@every_metric
@given(rows=row_tables(), data=st.data())
def test_splitting_and_adding(name: str, rows: RowTable, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(rows)))
    # A part may have one class only, which from_arrays refuses: count each class of a part apart.
    parts = [one_class(rows.take(np.arange(*part)), label) for part in ((0, cut), (cut, len(rows))) for label in (0, 1)]
    assert same(METRICS[name](ScoreCounts.total(parts)), METRICS[name](rows.counts()))


def one_class(rows: RowTable, label: int) -> ScoreCounts:
    scores, counts = np.unique(rows.scores[rows.labels == label], return_counts=True)
    none = np.zeros_like(counts)
    return ScoreCounts(scores, *((counts, none) if label else (none, counts)))


@pytest.mark.few(4)
@every_metric
@given(rows=row_tables(most=10))
def test_a_whole_weight_is_so_many_rows(name: str, rows: RowTable) -> None:
    repeated = rows.take(np.repeat(np.arange(len(rows)), rows.weights))
    assert same(METRICS[name](rows.weighted_counts()), METRICS[name](repeated.counts()))


@pytest.mark.few(8)
@pytest.mark.parametrize("name", sorted(set(METRICS) - WHOLE_ROWS))
@given(rows=row_tables(most=10))
def test_a_float_weight_of_a_whole_number_is_so_many_rows(name: str, rows: RowTable) -> None:
    repeated = rows.take(np.repeat(np.arange(len(rows)), rows.weights))
    weighted = ScoreCounts.from_arrays(rows.labels, rows.scores, rows.weights.astype(np.float64))
    assert weighted.weighted
    assert close(METRICS[name](weighted), METRICS[name](repeated.counts()))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", sorted(set(METRICS) - WHOLE_ROWS))
@given(rows=row_tables(most=10), data=st.data())
def test_order_of_rows_with_weights_that_do_not_add_exactly(name: str, rows: RowTable, data: st.DataObject) -> None:
    weights = rows.weights / 7.0
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    first = ScoreCounts.from_arrays(rows.labels, rows.scores, weights)
    second = ScoreCounts.from_arrays(rows.labels[order], rows.scores[order], weights[order])
    assert same(METRICS[name](first), METRICS[name](second))


@pytest.mark.parametrize("name", sorted(WHOLE_ROWS))
@given(rows=row_tables())
def test_metrics_of_whole_rows_refuse_float_weights(name: str, rows: RowTable) -> None:
    weighted = ScoreCounts.from_arrays(rows.labels, rows.scores, rows.weights.astype(np.float64))
    with pytest.raises(ParameterError, match="whole rows"):
        METRICS[name](weighted)
