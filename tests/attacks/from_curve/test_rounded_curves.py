"""Probabilities from rounded curves against every labeling tried one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from confide import ScoreCounts
from confide.attacks.from_curve import labels as from_labels
from confide.attacks.from_curve.labels import labels_exposed
from confide.counts import FloatArray


def rates(labels: FloatArray, scores: FloatArray) -> FloatArray:
    """Both rates at every distinct score, from the highest down, for each labeling."""
    above = scores[None, :] >= np.unique(scores)[::-1, None]
    ours, theirs = labels @ above.T, (1.0 - labels) @ above.T
    return np.stack((ours / ours[:, -1:], theirs / theirs[:, -1:]), axis=1)


@pytest.mark.parametrize("seed", range(40))
def test_probabilities_against_trying_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, digits = int(rng.integers(4, 10)), int(rng.integers(0, 3))
    scores = np.sort(rng.integers(0, 7, rows)).astype(float)
    labels = rng.permutation(np.arange(rows) < rng.integers(1, rows))
    positives = int(labels.sum()) if seed % 2 else None
    every = np.array([y for y in product((0.0, 1.0), repeat=rows) if 0 < sum(y) < rows])
    if positives is not None:
        every = every[every.sum(axis=1) == positives]
    shown = np.round(rates(labels[None, :].astype(float), scores), digits)
    fits = (np.abs(rates(every, scores) - shown) <= 0.5 * 10.0**-digits + 1e-9).all(axis=(1, 2))
    expected = every[fits].mean(axis=0)
    found = labels_exposed(ScoreCounts.from_arrays(labels, scores), digits=digits, positives=positives)
    np.testing.assert_allclose(found.probability, expected, atol=1e-9)
    assert found.certain == np.sum((expected == 0.0) | (expected == 1.0))
    assert ((found.lower <= expected + 1e-12) & (expected <= found.upper + 1e-12)).all()


def test_the_middle_of_the_bounds_where_it_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_labels, "MOST_WORK", 0)
    labels = np.arange(40) % 3 == 0
    found = labels_exposed(ScoreCounts.from_arrays(labels, np.arange(40) % 11), digits=1, positives=14)
    np.testing.assert_allclose(found.probability, (found.lower + found.upper) / 2.0)
