"""The normal distribution of Python's own library is SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from confide.normal_distribution import normal_quantile_of, normal_shares


def test_quantiles_are_those_of_scipy() -> None:
    shares = np.concatenate((np.logspace(-300, -1, 300), np.linspace(0.1, 0.9, 99), 1.0 - np.logspace(-15, -1, 99)))
    found = [normal_quantile_of(share) for share in shares.tolist()]
    assert found == pytest.approx(ndtri(shares).tolist(), rel=1e-14, abs=1e-16)
    assert (normal_quantile_of(0.0), normal_quantile_of(1.0)) == (-math.inf, math.inf)


def test_shares_are_those_of_scipy() -> None:
    values = np.linspace(-37.0, 9.0, 400).reshape(20, 20)
    np.testing.assert_allclose(normal_shares(values), ndtr(values), rtol=1e-12)
