"""What a guarantee allows: known values, composition, and a mechanism that reaches the bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from confide.attacks.bounds import success_bound


def test_bound_at_known_values() -> None:
    assert success_bound(0.0) == 0.5
    assert math.isclose(success_bound(math.log(3.0)), 0.75)
    assert math.isclose(success_bound(math.log(3.0), 0.2), 3.2 / 4.0)
    assert success_bound(1e6) == 1.0


def test_binary_randomised_response_reaches_the_bound() -> None:
    """The bound is not loose: telling the truth with chance e/(1 + e) is guessed that often."""
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 200_000)
    told = np.where(rng.random(truth.size) < math.e / (1.0 + math.e), truth, 1 - truth)
    assert abs(np.mean(told == truth) - success_bound(1.0)) < 0.006  # five standard errors


def test_answers_with_an_epsilon_each_add_up() -> None:
    assert success_bound(100 * 0.01) == pytest.approx(success_bound(1.0)) == pytest.approx(np.e / (1 + np.e))
    assert success_bound(100 * 1.0) == 1.0
