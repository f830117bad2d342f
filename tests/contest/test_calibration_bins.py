"""Calibration against masked labels: bins, intervals, coverage."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.contest.estimators import calibration_bins
from confide.contest.labels import MaskedLabels
from confide.errors import ParameterError
from confide.intervals.proportions import wilson_interval_of
from tests.contest.small_contests import unmasked


@given(
    rows=st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=60),
    bins=st.integers(1, 12),
    flip=st.sampled_from([Fraction(0), Fraction(1, 5), Fraction(49, 100)]),
)
def test_bins_partition_the_rows_and_intervals_hold_the_frequency(
    rows: list[tuple[int, bool]], bins: int, flip: Fraction
) -> None:
    chances, bits = np.array([row[0] for row in rows]) / 8.0, np.array([row[1] for row in rows])
    found = calibration_bins(chances, MaskedLabels(bits, flip), bins=bins)
    assert sum(one.rows for one in found) == len(rows)
    assert len(found) <= bins
    for one, following in pairwise(found):
        assert one.upper < following.lower
    for one in found:
        assert one.lower <= one.predicted <= one.upper or one.predicted == pytest.approx(one.lower)
        assert 0.0 <= one.interval.lower <= one.observed <= one.interval.upper <= 1.0


def test_without_masking_the_interval_is_that_of_wilson() -> None:
    (one,) = calibration_bins(np.full(80, 0.25), unmasked(np.arange(80) < 17), bins=5)
    expected = wilson_interval_of(17 / 80, 80)
    assert (one.interval.lower, one.interval.upper) == pytest.approx((expected.lower, expected.upper))
    assert one.to_dict()["observed"] == pytest.approx(17 / 80)


@pytest.mark.parametrize(
    ("chances", "bins", "message"),
    [([0.1, 1.2], 2, "0, 1"), ([0.1], 2, "one column of 2"), ([0.1, 0.2], 0, "at least 1"), ([0.1, np.nan], 2, "0, 1")],
)
def test_what_has_no_bins_is_refused(chances: list[float], bins: int, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        calibration_bins(np.array(chances), unmasked(np.array([True, False])), bins=bins)


@pytest.mark.statistical
def test_intervals_cover_the_true_frequencies() -> None:
    """400 samples of ten bins, seeded: a coverage of 95 % falls below 93.5 % with probability 1e-5.

    The twin that takes masked labels for labels must fail.
    """
    generator = np.random.default_rng(3)
    held = broken = count = 0
    for _ in range(400):
        chances = generator.random(1_000)
        risks = chances**2  # overestimated everywhere
        masked = MaskedLabels((generator.random(1_000) < risks) ^ (generator.random(1_000) < 0.12), Fraction(3, 25))
        for labels in (masked, MaskedLabels(masked.bits, Fraction(0))):
            for one in calibration_bins(chances, labels):
                inside = (chances >= one.lower) & (chances <= one.upper)
                covered = risks[inside].mean() in one.interval
                if labels is masked:
                    held, count = held + covered, count + 1
                else:
                    broken += covered
    assert held / count >= 0.935
    assert broken / count < 0.85
