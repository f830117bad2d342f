"""What a guarantee allows: known values, composition, and a mechanism that reaches the bound."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from confide.attacks.disclosure import Publication, finished
from confide.privacy.adversary import success_bound
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours


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


@pytest.mark.parametrize(
    ("neighbours", "epsilon", "delta"),
    [("replace-one", 1.5, 0.03), ("add-remove-one", 3.0, 0.03 * (1 + math.exp(0.5)))],
)
def test_a_game_adds_up_epsilon_and_delta_of_all_its_answers(neighbours: str, epsilon: float, delta: float) -> None:
    """Three answers; of a guarantee for rows that come or go, a changed label takes two steps, the second amplified."""
    guarantee = Guarantee(epsilon=Fraction(1, 2), delta=Fraction(1, 100), neighbours=Neighbours.parse(neighbours))
    game = finished(Publication.parse("accuracy:epsilon=1/2"), 3, 4, level=0.9, guarantee=guarantee, times=3)
    assert game.epsilon == epsilon
    assert game.delta == pytest.approx(delta)
    assert game.bound == pytest.approx((math.exp(epsilon) + delta) / (1.0 + math.exp(epsilon)))
    assert finished(Publication.parse("accuracy"), 3, 4, level=0.9).bound is None
