"""Bands around curves: pointwise quantiles of the curves of redrawn rows, each curve drawn the plain way."""

from __future__ import annotations

import numpy as np
import pytest

import confide
from confide import ScoreCounts
from confide.curves.pr import threshold_path
from confide.intervals.resample import redraw
from tests.random_rows import random_rows

REPLICATES = 200


@pytest.mark.parametrize("kind", ["distinct", "tied"])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bands(kind: str, level: float) -> None:
    counts = random_rows(kind, size=300).counts
    # 38 points: no false-positive rate or recall falls on one, where a curve that rises upright has many values.
    roc, pr = confide.intervals.curve_bands(counts, level=level, replicates=REPLICATES, points=38, rng=3)
    inner = slice(1, -1)
    heights, precisions = [], []
    for ours, theirs in zip(*redraw(counts, REPLICATES, np.random.default_rng(3)), strict=True):
        seen = ours + theirs > 0
        sample = ScoreCounts(counts.scores[seen], ours[seen], theirs[seen])
        curve = confide.roc_curve(sample)
        heights.append(np.interp(roc.x[inner], curve.false_positive_rate, curve.true_positive_rate))
        precisions.append(threshold_path(sample).precision(pr.x[inner]))
    tails = ((1 - level) / 2, (1 + level) / 2)
    for band, drawn in ((roc, heights), (pr, precisions)):
        lower, upper = np.quantile(drawn, tails, axis=0)
        np.testing.assert_allclose(band.lower[inner], lower, atol=1e-12)
        np.testing.assert_allclose(band.upper[inner], upper, atol=1e-12)
        assert band.level == level


def test_bands_of_very_many_scores_are_hardly_coarser() -> None:
    rows = random_rows("distinct", size=5_000)
    fine = confide.intervals.curve_bands(rows.counts, rng=1)
    rounded = ScoreCounts.from_arrays(rows.labels, np.round(rows.scores, 2))
    coarse = confide.intervals.curve_bands(rounded, rng=1)
    for one, other in zip(fine, coarse, strict=True):
        # Two sets of 1,000 replicates: their quantiles differ by chance, and by rounding to 100 scores, a little.
        assert np.abs(one.upper - other.upper)[5:-5].max() < 0.03
        assert np.abs(one.lower - other.lower)[5:-5].max() < 0.03
