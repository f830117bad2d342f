"""Cross-validation intervals and means over folds from their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import confide
from confide import ScoreCounts
from confide.errors import SkewWarning, SmallSampleWarning
from tests.random_rows import random_rows


def test_interval_is_students() -> None:
    folds = [random_rows("tied", size=size).counts for size in (80, 100, 120, 140)]
    values = [confide.average_precision_score(fold) for fold in folds]
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    with pytest.warns(SmallSampleWarning):
        found = confide.intervals.cross_validation_estimate(folds, level=0.9)
    assert found.value == pytest.approx(np.mean(values), abs=1e-14)
    assert found.standard_error == pytest.approx(stats.sem(values), abs=1e-14)
    assert found.interval is not None
    assert (found.interval.lower, found.interval.upper) == pytest.approx(tuple(expected), abs=1e-12)


def test_many_positives_do_not_warn() -> None:
    fold = random_rows("tied and repeated", size=20_000).counts
    assert confide.intervals.cross_validation_estimate([fold, fold]).standard_error == 0.0


def test_dealt_folds_add_up_and_are_even() -> None:
    counts = random_rows("tied and repeated").counts
    folds = confide.intervals.split_folds(counts, 7, rng=1)
    assert ScoreCounts.total(folds) == counts
    for totals in ([f.total_positives for f in folds], [f.total_negatives for f in folds]):
        assert max(totals) - min(totals) <= 1
    assert confide.intervals.split_folds(counts, 7, rng=1) == folds
    assert confide.intervals.split_folds(counts, 7, rng=2) != folds


def test_mean_over_parts_is_of_aucnpr() -> None:
    parts = [random_rows("tied").counts, random_rows("rare").counts]
    found = confide.metrics.mean_over_parts(parts)
    values = [confide.metrics.aucnpr_score(part) for part in parts]
    assert found.mean == pytest.approx(np.mean(values), abs=1e-14)
    assert found.standard_deviation == pytest.approx(np.std(values, ddof=1), abs=1e-14)
    assert found.prevalences == tuple(part.prevalence for part in parts)


@pytest.mark.parametrize("metric", [*confide.metrics.ESTIMATORS, *confide.metrics.PRROC_ESTIMATORS, "aucpr"])
def test_averaging_areas_over_different_skews_warns(metric: str) -> None:
    parts = [random_rows("tied").counts, random_rows("rare").counts]
    with pytest.warns(SkewWarning, match="aucnpr"):
        confide.metrics.mean_over_parts(parts, metric)
    confide.metrics.mean_over_parts([parts[0], parts[0]], metric)  # equal skews do not warn
