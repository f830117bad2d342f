"""Plausible class sizes agree with likelihood times prior of every size, weighed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from confide.counts import FloatArray
from confide.privacy.noisy_numbers import Following, joint_pairs, joint_sizes

ROWS, SMALL = 400, 8.0
NOTHING = Following(value=np.zeros(1), least=np.ones(1), rate=np.zeros(1), small=SMALL)


def prior(smaller: FloatArray, scale: float) -> FloatArray:
    """Weigh small classes 30 times as much as one of a scale of noise, and larger ones by the square of their size."""
    small = np.where(smaller <= SMALL, 1.0, np.exp(-8.0 * (smaller / SMALL - 1.0) ** 2))
    weight: FloatArray = np.minimum(smaller / scale, 8.0) ** 2 + 30.0 * small
    return weight


def weighted(sizes: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Quartiles of plausible sizes with their weights."""
    assert weights is not None
    assert weights.sum() == pytest.approx(1.0)
    return quartiles(sizes[0], weights)


def quartiles(sizes: FloatArray, weight: FloatArray) -> FloatArray:
    order = np.argsort(sizes)
    below = np.cumsum(weight[order]) - weight[order] / 2.0
    found: FloatArray = np.interp(np.array([0.25, 0.5, 0.75]) * weight.sum(), below, sizes[order])
    return found


def following(value: float, least: float, rate: float) -> Following:
    return Following(value=np.array([value]), least=np.array([least]), rate=np.array([rate]), small=SMALL)


@pytest.mark.parametrize(
    ("noisy", "integer", "rate"),
    [(90.0, 30_000.0, 1e-3), (330.0, 20_000.0, 5e-4), (60.0, 0.0, 0.0), (20.0, 0.0, 0.0), (150.0, 0.0, 0.0)],
)
def test_sizes_of_known_rows(noisy: float, integer: float, rate: float) -> None:
    """Quartiles beside those of all sizes with the likelihood of both released numbers."""
    scale, least = 15.0, 20.0
    every = np.arange(ROWS + 1.0)
    told = np.maximum(every * (ROWS - every), least * (ROWS - least))
    weight = np.exp(-np.abs(every - noisy) / scale - rate * np.abs(told - integer))
    weight *= prior(np.minimum(every, ROWS - every), scale)
    found = joint_sizes(np.array([noisy]), scale, rows=ROWS, after=following(integer, least, rate))
    np.testing.assert_allclose(weighted(found.positives, found.weights), quartiles(every, weight), atol=1.5)
    np.testing.assert_array_equal(found.positives + found.negatives, ROWS)


@pytest.mark.parametrize(("ours", "theirs", "rate"), [(100.0, 300.0, 0.1), (110.0, 90.0, 0.2), (300.0, 80.0, 0.05)])
def test_pairs_of_sizes(ours: float, theirs: float, rate: float) -> None:
    """Quartiles of both classes beside those of all pairs; the integer tells of the smaller class alone."""
    scale, least, integer = 15.0, 20.0, 105.0
    n, m = (axis.ravel() for axis in np.meshgrid(np.arange(600.0), np.arange(600.0)))
    told = np.maximum(np.minimum(n, m), least)
    weight = np.exp(-(np.abs(n - ours) + np.abs(m - theirs)) / scale - rate * np.abs(told - integer))
    weight *= prior(np.minimum(n, m), scale)
    found = joint_pairs(np.array([ours]), np.array([theirs]), scale, following(integer, least, rate))
    np.testing.assert_allclose(weighted(found.positives, found.weights), quartiles(n, weight), atol=4.0)
    np.testing.assert_allclose(weighted(found.negatives, found.weights), quartiles(m, weight), atol=4.0)


def test_hardly_plausible_sizes_are_represented() -> None:
    """The class is most likely large; one in a thousand that it is small decides whether a tail is heavy."""
    found = joint_sizes(np.array([100.0]), 10.0, rows=ROWS, after=NOTHING)
    every = np.arange(ROWS + 1.0)
    weight = np.exp(-np.abs(every - 100.0) / 10.0) * prior(np.minimum(every, ROWS - every), 10.0)
    assert found.weights is not None
    expected = weight[every < 60.0].sum() / weight.sum()
    assert found.weights[found.positives[0] < 60.0].sum() == pytest.approx(expected, rel=0.3)
    assert expected < 1.0 / found.weights.size / 2.0  # equal steps would miss them


@pytest.mark.parametrize("noisy", [-500.0, -3.0, 0.0, ROWS + 2.0, ROWS + 500.0])
def test_sizes_stay_within_the_rows(noisy: float) -> None:
    found = joint_sizes(np.array([noisy]), 3.0, rows=ROWS, after=following(1e9, 30.0, 1.0))
    assert ((found.positives >= 0.0) & (found.positives <= ROWS)).all()
    pairs = joint_pairs(np.array([noisy]), np.array([5.0]), 3.0, following(-1e9, 30.0, 1.0))
    assert (pairs.positives >= 0.0).all()
    assert (pairs.negatives >= 0.0).all()
