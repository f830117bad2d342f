"""What the registry promises of increasing transformations, and of scores that are not probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import ScoreCounts
from confide.errors import DataError, ParameterError, ScoreError
from confide.metrics.registry import METRICS, metric_score
from tests.strategies import RowTable, any_scores, row_tables

RANKS_ONLY = [name for name, metric in METRICS.items() if metric.ranks_only]
OTHERS = [name for name in METRICS if name not in RANKS_ONLY]
PROBABILITIES = [name for name, metric in METRICS.items() if metric.probabilities]


@pytest.mark.few(3)
@pytest.mark.parametrize("name", RANKS_ONLY)
@given(rows=row_tables(), data=st.data())
def test_increasing_transformations_change_nothing(name: str, rows: RowTable, data: st.DataObject) -> None:
    """Any ascending scores in the place of the old ones are a strictly increasing map of them, without rounding."""
    counts = rows.counts()
    chosen = st.lists(any_scores, min_size=len(counts), max_size=len(counts), unique_by=lambda s: s + 0.0)
    moved = ScoreCounts(np.sort(data.draw(chosen)), counts.positives, counts.negatives)
    before, after = METRICS[name](counts), METRICS[name](moved)
    assert before == after or (math.isnan(before) and math.isnan(after))


@pytest.mark.parametrize("name", OTHERS)
def test_other_metrics_do_change(name: str) -> None:
    """So that `ranks_only` is not denied to a metric that could promise it."""
    rng = np.random.default_rng(1)
    labels = (np.arange(60) % 3 == 0).astype(np.int64)
    scores = 1 / (1 + np.exp(-labels - rng.normal(size=60)))
    before, after = (METRICS[name](ScoreCounts.from_arrays(labels, s)) for s in (scores, scores**3 * 0.9))
    assert before != pytest.approx(after, rel=1e-6)


@pytest.mark.parametrize("name", PROBABILITIES)
@pytest.mark.parametrize("outside", [-0.25, 1.25])
def test_metrics_of_probabilities_refuse_other_scores(name: str, outside: float) -> None:
    counts = ScoreCounts.from_arrays([0, 1, 0, 1], [0.25, 0.5, 0.625, outside])
    with pytest.raises(ScoreError, match=r"\[0, 1\]"):
        METRICS[name](counts)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", [name for name in METRICS if name not in PROBABILITIES])
@given(rows=row_tables(any_scores))
def test_other_metrics_take_any_finite_scores(name: str, rows: RowTable) -> None:
    assert isinstance(METRICS[name](rows.counts()), float)


@pytest.mark.parametrize("name", METRICS)
def test_unknown_options_are_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="no option 'colour'"):
        metric_score(ScoreCounts.from_arrays([0, 1], [0.25, 0.75]), name, colour="red")


@pytest.mark.parametrize("name", METRICS)
def test_no_rows_have_no_value(name: str) -> None:
    """Nothing to measure: NaN, or an error about the data; never a bare division by zero."""
    try:
        value = METRICS[name](ScoreCounts.empty())
    except DataError:
        return
    assert math.isnan(value)


GOOD = ScoreCounts.from_arrays([0] * 10 + [1] * 10, np.r_[np.full(8, 0.1), 0.6, 0.7, 0.3, 0.4, np.full(8, 0.9)])
BAD = ScoreCounts.from_arrays([1] * 10 + [0] * 10, np.r_[np.full(8, 0.1), 0.6, 0.7, 0.3, 0.4, np.full(8, 0.9)])
SAME_FOR_ANY_SCORE = {"aucpr_minimum", "average_precision_minimum"}


@pytest.mark.parametrize("name", [name for name, m in METRICS.items() if m.higher_is_better is not None])
def test_direction(name: str) -> None:
    """A good score beats the same score upside down in the direction that the registry states."""
    good, bad = METRICS[name](GOOD), METRICS[name](BAD)
    if name in SAME_FOR_ANY_SCORE:
        assert good == bad
    else:
        assert good > bad if METRICS[name].higher_is_better else good < bad
