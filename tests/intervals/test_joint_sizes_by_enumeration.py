"""Plausible class sizes agree with the likelihood of every size, weighed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from confide.counts import FloatArray
from confide.intervals.joint_sizes import Following, joint_pairs, joint_sizes
from confide.intervals.private import plausible_pairs, plausible_sizes

ROWS = 400
NOTHING = Following(value=np.zeros(1), least=np.ones(1), rate=np.zeros(1))


def quartiles(sizes: FloatArray, weight: FloatArray) -> FloatArray:
    order = np.argsort(sizes)
    below = np.cumsum(weight[order]) - weight[order] / 2.0
    found: FloatArray = np.interp(np.array([0.25, 0.5, 0.75]) * weight.sum(), below, sizes[order])
    return found


def following(value: float, least: float, rate: float) -> Following:
    return Following(value=np.array([value]), least=np.array([least]), rate=np.array([rate]))


def test_without_an_integer_large_classes_are_as_plausible_as_before() -> None:
    noisy, scale = np.array([150.0]), 5.0
    before, now = plausible_sizes(noisy, scale, rows=ROWS), joint_sizes(noisy, scale, rows=ROWS, after=NOTHING)
    np.testing.assert_allclose(now.positives, before.positives, atol=1.0)
    np.testing.assert_array_equal(now.positives + now.negatives, ROWS)
    pairs, joint = plausible_pairs(noisy, 2.0 * noisy, scale), joint_pairs(noisy, 2.0 * noisy, scale, NOTHING)
    np.testing.assert_allclose(joint.positives, pairs.positives, atol=1.0)
    np.testing.assert_allclose(joint.negatives, pairs.negatives, atol=1.0)


@pytest.mark.parametrize(
    ("noisy", "integer", "rate"), [(90.0, 30_000.0, 1e-3), (330.0, 20_000.0, 5e-4), (60.0, 0.0, 0.0)]
)
def test_sizes_of_known_rows(noisy: float, integer: float, rate: float) -> None:
    """Quartiles beside those of all sizes with the likelihood of both released numbers."""
    scale, least = 15.0, 20.0
    every = np.arange(ROWS + 1.0)
    told = np.maximum(every * (ROWS - every), least * (ROWS - least))
    weight = np.exp(-np.abs(every - noisy) / scale - rate * np.abs(told - integer))
    found = joint_sizes(np.array([noisy]), scale, rows=ROWS, after=following(integer, least, rate)).positives[0]
    np.testing.assert_allclose(np.quantile(found, [0.25, 0.5, 0.75]), quartiles(every, weight), atol=1.5)


@pytest.mark.parametrize(("ours", "theirs", "rate"), [(100.0, 300.0, 0.1), (110.0, 90.0, 0.2), (300.0, 80.0, 0.05)])
def test_pairs_of_sizes(ours: float, theirs: float, rate: float) -> None:
    """Quartiles of both classes beside those of all pairs; the integer tells of the smaller class alone."""
    scale, least, integer = 15.0, 20.0, 105.0
    n, m = (axis.ravel() for axis in np.meshgrid(np.arange(600.0), np.arange(600.0)))
    told = np.maximum(np.minimum(n, m), least)
    weight = np.exp(-(np.abs(n - ours) + np.abs(m - theirs)) / scale - rate * np.abs(told - integer))
    found = joint_pairs(np.array([ours]), np.array([theirs]), scale, following(integer, least, rate))
    np.testing.assert_allclose(np.quantile(found.positives, [0.25, 0.5, 0.75]), quartiles(n, weight), atol=4.0)
    np.testing.assert_allclose(np.quantile(found.negatives, [0.25, 0.5, 0.75]), quartiles(m, weight), atol=4.0)


def test_small_classes_count_more_where_they_are_plausible() -> None:
    small, large = (joint_sizes(np.array([noisy]), 10.0, rows=ROWS, after=NOTHING).positives for noisy in (15.0, 150.0))
    flat = [plausible_sizes(np.array([noisy]), 10.0, rows=ROWS).positives for noisy in (15.0, 150.0)]
    assert np.median(small) < np.median(flat[0]) / 1.5
    assert np.median(large) == pytest.approx(np.median(flat[1]), abs=1.0)


@pytest.mark.parametrize("noisy", [-500.0, -3.0, 0.0, ROWS + 2.0, ROWS + 500.0])
def test_sizes_stay_within_the_rows(noisy: float) -> None:
    found = joint_sizes(np.array([noisy]), 3.0, rows=ROWS, after=following(1e9, 30.0, 1.0))
    assert ((found.positives >= 0.0) & (found.positives <= ROWS)).all()
    pairs = joint_pairs(np.array([noisy]), np.array([5.0]), 3.0, following(-1e9, 30.0, 1.0))
    assert (pairs.positives >= 0.0).all()
    assert (pairs.negatives >= 0.0).all()
