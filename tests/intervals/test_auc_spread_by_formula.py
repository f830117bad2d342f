"""The standard error of AUC that private intervals suppose is the largest of those of some families of scores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import norm

from confide.intervals.delong import hanley_mcneil_variance
from confide.privacy.noisy_numbers import SPREAD_RATIO, auc_spread

AUCS = (0.55, 0.8, 0.9, 0.98)
SIZES = ((10, 190), (190, 10), (60, 60))


def supposed(auc: float, positives: int, negatives: int) -> float:
    return float(auc_spread(np.array([auc]), np.array([float(positives)]), np.array([float(negatives)]))[0])


def binormal(auc: float, positives: int, negatives: int, ratio: float) -> float:
    """The standard error for normal scores whose positives spread `ratio` times as much, by integration."""
    shift = norm.ppf(auc) * math.hypot(1.0, ratio)

    def mean(of: Callable[[float], float]) -> float:
        return float(integrate.quad(of, -12.0, 12.0)[0])

    two_positives = mean(lambda x: norm.pdf(x) * norm.sf((x - shift) / ratio) ** 2)
    two_negatives = mean(lambda x: norm.pdf(x) * norm.cdf(shift + ratio * x) ** 2)
    first, second = (two_positives - auc**2) * (positives - 1), (two_negatives - auc**2) * (negatives - 1)
    return math.sqrt((auc * (1.0 - auc) + first + second) / (positives * negatives))


@pytest.mark.few(3)
@pytest.mark.parametrize("auc", AUCS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_it_is_the_largest_of_the_families(auc: float, sizes: tuple[int, int]) -> None:
    """Either class may spread more; exponential scores are those of Hanley and McNeil, for either class."""
    normal = [binormal(auc, *sizes, ratio) for ratio in (1.0 / SPREAD_RATIO, 1.0, SPREAD_RATIO)]
    exponential = [math.sqrt(hanley_mcneil_variance(auc, *order)) for order in (sizes, sizes[::-1])]
    assert supposed(auc, *sizes) == pytest.approx(max(*normal, *exponential), rel=1e-6)


def test_it_is_symmetric_and_vanishes_at_the_ends() -> None:
    for auc, (n, m) in itertools.product(AUCS, SIZES):
        assert supposed(auc, n, m) == pytest.approx(supposed(1.0 - auc, n, m), rel=1e-9)
        assert supposed(auc, n, m) == pytest.approx(supposed(auc, m, n), rel=1e-9)
    assert supposed(0.0, 10, 20) == supposed(1.0, 10, 20) == 0.0
    assert supposed(0.8, 0, 20) == supposed(0.8, 1, 20)
