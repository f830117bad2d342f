"""The interval of a binormal area covers it.

400 draws of 40 + 60 rows with a fixed seed. Binomial(400, 0.95) leaves (0.91, 0.985) with probability below 1e-3. An
interval of half the width covers about 0.67 and is refused with near certainty.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from confide import ScoreCounts
from confide.intervals import binormal_interval

pytestmark = [pytest.mark.statistical, pytest.mark.long]

TRUTH = float(norm.cdf(1.2 / np.hypot(1.0, 1.4)))


def test_coverage() -> None:
    rng = np.random.default_rng(9)
    hits = np.zeros(2)
    for _ in range(400):
        scores = np.concatenate((rng.normal(1.2, 1.4, 40), rng.normal(size=60)))
        found = binormal_interval(ScoreCounts.from_arrays(np.arange(100) < 40, scores), categories=20)
        distance = abs((found.lower + found.upper) / 2.0 - TRUTH)
        hits += distance <= np.array([found.width / 2.0, found.width / 4.0])
    whole, half = hits / 400
    assert 0.91 < whole < 0.985
    assert not 0.91 < half < 0.985
