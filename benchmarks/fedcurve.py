"""The method of Xu & Cormode (2025), "Federated computation of ROC and PR curves", written anew from its description.

Every site counts the scores of each class in all levels of a binary tree over [0, 1] and adds its share of discrete
Laplace noise; each level of each class has `epsilon / height`. The server makes the levels agree (Hay et al. 2010),
walks down the tree to Q quantiles of each class, draws a monotone cubic curve through them, and reads the ROC curve off
at 10,000 thresholds. The tree has `ceil(log2 Q) + 2` levels. No site may collude: all shares together make the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.interpolate import PchipInterpolator

from confide.counts import FloatArray
from confide.curves.roc import Curve
from confide.privacy.noisy_counts import NoisePart

QUANTILES = tuple(2**power for power in range(2, 11))
"""The numbers of quantiles that the paper tries."""

THRESHOLDS = 10_000


def roc_points(
    positives: FloatArray, negatives: FloatArray, epsilon: float, quantiles: int, rng: np.random.Generator
) -> Curve:
    """Draw the ROC curve of scores in [0, 1] once."""
    return roc_points_and_sizes(positives, negatives, epsilon, quantiles, rng)[0]


def roc_points_and_sizes(
    positives: FloatArray, negatives: FloatArray, epsilon: float, quantiles: int, rng: np.random.Generator
) -> tuple[Curve, tuple[float, float]]:
    """Draw the ROC curve once, with the noisy class sizes that a PR curve needs."""
    at = np.linspace(1.0, 0.0, THRESHOLDS)
    trees = [noisy_tree(scores, epsilon, quantiles, rng) for scores in (positives, negatives)]
    recall, alarm = (_share_above(at, _quantiles(tree, quantiles)) for tree in trees)
    ends = np.array([0.0]), np.array([1.0])
    x, y = (np.concatenate((ends[0], np.maximum.accumulate(rate), ends[1])) for rate in (alarm, recall))
    sizes = [max(float(tree[0].sum()), 1.0) for tree in trees]
    return (x, y), (sizes[0], sizes[1])


def noisy_tree(scores: FloatArray, epsilon: float, quantiles: int, rng: np.random.Generator) -> list[FloatArray]:
    """Counts of a class in all levels of the tree, with noise, made to agree; the root is left out."""
    height = math.ceil(math.log2(quantiles)) + 2
    noise = NoisePart(scale=height / epsilon, shares=1.0, weight=1.0)
    levels = []
    for level in range(1, height + 1):
        cells = np.minimum((scores * 2**level).astype(np.int64), 2**level - 1)
        counts = np.bincount(cells, minlength=2**level).astype(np.float64)
        levels.append(counts + noise.draw(rng, counts.shape))
    return consistent(levels)


def consistent(levels: Sequence[FloatArray]) -> list[FloatArray]:
    """Reconcile a binary tree by least squares: weighted means from the leaves up, then differences shared out."""
    found = list(levels)
    for above in range(len(found) - 2, -1, -1):
        below = len(found) - above
        weight = (2.0**below - 2.0 ** (below - 1)) / (2.0**below - 1.0)
        found[above] = weight * found[above] + (1.0 - weight) * _pairs(found[above + 1])
    for level in range(1, len(found)):
        found[level] = found[level] + np.repeat((found[level - 1] - _pairs(found[level])) / 2.0, 2)
    return found


def _pairs(counts: FloatArray) -> FloatArray:
    sums: FloatArray = counts.reshape(-1, 2).sum(axis=1)
    return sums


def _quantiles(levels: Sequence[FloatArray], number: int) -> FloatArray:
    """Walk down the tree for each quantile; a walk ends early where the share below is near enough."""
    wanted = np.linspace(0.0, 1.0, number)
    node, below, low = np.zeros(number, dtype=np.int64), np.zeros(number), np.zeros(number)
    walking = np.ones(number, dtype=bool)
    total, near = levels[0].sum(), 0.5 ** (len(levels) + 1)
    for depth, counts in enumerate(levels, start=1):
        share = np.maximum(counts[2 * node] / total, 0.0)
        right = walking & (below + share < wanted)
        below, low = below + right * share, low + right * 0.5**depth
        node = 2 * node + right
        walking = walking & (np.abs(wanted - below) >= near)
        node = np.where(walking, node, 0)
    return low


def _share_above(at: FloatArray, quantiles: FloatArray) -> FloatArray:
    """The share of a class above each threshold: monotone cubic pieces, with a step where quantiles coincide."""
    fractions = np.linspace(1.0, 0.0, quantiles.size)
    places, first, times = np.unique(quantiles, return_index=True, return_counts=True)
    upper, lower = fractions[first], fractions[first + times - 1]
    found = np.where(at < places[0], 1.0, 0.0)
    steps = np.flatnonzero(times > 1)
    starts = np.unique(np.concatenate(([0], steps, [places.size - 1])))
    for begin, end in pairwise(starts):
        inside = (at >= places[begin]) & (at < places[end])
        if inside.any():
            heights = np.concatenate(([lower[begin]], upper[begin + 1 : end + 1]))
            found[inside] = np.clip(PchipInterpolator(places[begin : end + 1], heights)(at[inside]), 0.0, 1.0)
    return found
