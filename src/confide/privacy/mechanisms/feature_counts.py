"""Counts for naive Bayes: rows of each class with each feature, and the class sizes.

Proof: feature_counts.proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from confide.counts import FloatArray
from confide.features import FeatureRows, Integers
from confide.privacy.mechanisms.row_limits import UNITS, RowLimit
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import upper_sqrt
from confide.privacy.queries import IntegerQuery

SIZES_SHARE = Fraction(1, 20)
"""The share of epsilon that goes to the class sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyFeatures:
    """Noisy counts: rows of each class (positives first) that have each feature, and in all; in rows, not units.

    `scale` is that of the Laplace noise on a feature's count, in rows; if noise is Gaussian, that of Laplace noise with
    the same variance. Where `opposed`, both classes together have what is public (label-only), so that the negatives'
    noise is the positives' with the other sign.
    """

    features: FloatArray
    sizes: tuple[float, float]
    scale: float
    opposed: bool = False


def feature_counts(rows: FeatureRows, epsilon: Fraction, neighbours: Neighbours, *, limit: RowLimit) -> IntegerQuery:
    """Query the counts of each feature in each class and the class sizes, with discrete Laplace noise.

    A limited row moves the counts of its class by `limit.units` in all and its class size by 1. Under replace-one a
    row leaves and another comes: twice the units; N is public, so only the positives are counted of the sizes. Under
    label-only the features are public, so only the positives' counts are asked for.
    """
    limited, weights = limit.weighed(rows)
    counts = weighed_counts(limited, weights)
    positives, negatives = rows.class_sizes()
    steps = 2 if neighbours == Neighbours.REPLACE_ONE else 1
    each = steps * limit.units / ((1 - SIZES_SHARE) * epsilon)
    whole = 1 / (SIZES_SHARE * epsilon)
    asked = counts[:1] if neighbours == Neighbours.LABEL_ONLY else counts
    sizes = (positives, negatives) if neighbours == Neighbours.ADD_REMOVE_ONE else (positives,)
    return IntegerQuery(values=(*asked.ravel().tolist(), *sizes), scales=(each,) * asked.size + (whole,) * len(sizes))


def concentrated_feature_counts(
    rows: FeatureRows, rho: Fraction, neighbours: Neighbours, *, limit: RowLimit
) -> IntegerQuery:
    """Query the same counts with discrete Gaussian noise, for the concentrated rho.

    No entry of a limited row weighs more than `UNITS`, so the squares of its units add up to at most
    `UNITS * limit.units`: `rho = squares / (2 scale^2)`, and scales are rounded up to fractions.
    """
    pure = feature_counts(rows, Fraction(1), neighbours, limit=limit)
    steps = 2 if neighbours == Neighbours.REPLACE_ONE else 1
    each = upper_sqrt(steps * UNITS * limit.units / (2 * (1 - SIZES_SHARE) * rho))
    whole = upper_sqrt(1 / (2 * SIZES_SHARE * rho))
    sizes = 2 if neighbours == Neighbours.ADD_REMOVE_ONE else 1
    scales = (each,) * (len(pure.values) - sizes) + (whole,) * sizes
    return IntegerQuery(values=pure.values, scales=scales, family="gaussian")


def read_feature_counts(
    drawn: Sequence[int], query: IntegerQuery, rows: FeatureRows, neighbours: Neighbours, *, limit: RowLimit
) -> NoisyFeatures:
    """Make sense of what was drawn, with what is public: N, and under label-only the features."""
    numbers = np.array(drawn, dtype=np.float64)
    if neighbours == Neighbours.LABEL_ONLY:
        limited, weights = limit.weighed(rows)
        every = weighed_counts(limited, weights).sum(axis=0)
        features = np.vstack((numbers[:-1], every - numbers[:-1]))
    else:
        features = numbers[: 2 * rows.width].reshape(2, rows.width)
    sizes = tuple(drawn[features.size :]) if neighbours == Neighbours.ADD_REMOVE_ONE else (drawn[-1],)
    negatives = float(sizes[1]) if len(sizes) == 2 else float(len(rows) - sizes[0])
    scale = float(query.scales[0]) / UNITS / (1.0 if query.family == "laplace" else math.sqrt(2.0))
    opposed = neighbours == Neighbours.LABEL_ONLY
    return NoisyFeatures(features=features / UNITS, sizes=(float(sizes[0]), negatives), scale=scale, opposed=opposed)


def weighed_counts(rows: FeatureRows, weights: Integers) -> Integers:
    """Return the units of positives (first row) and negatives (second row) with each feature."""
    ours = rows.labels[rows.row_of_each]
    counts = np.zeros((2, rows.width), dtype=np.int64)
    np.add.at(counts[0], rows.features[ours], weights[ours])
    np.add.at(counts[1], rows.features[~ours], weights[~ours])
    return counts
