"""Sparse vector: features whose scores reach a threshold, at a price that depends on how many are found, not tested.

The sparse vector technique as Lyu, Su & Li (2017) have it right, algorithm 7 without numeric answers.
Proof: sparse_vector.proof.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from confide.errors import ParameterError
from confide.features import FeatureRows
from confide.privacy.mechanisms.feature_scores import limited_scores, public_order, sensitivity_for
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import ThresholdQuery

LARGEST_THRESHOLD = 2**61


def sparse_vector(
    rows: FeatureRows,
    score: str,
    epsilon: Fraction,
    neighbours: Neighbours,
    *,
    most_features: int | None,
    threshold: int,
    cutoff: int,
) -> ThresholdQuery:
    """Query in a public order whether each feature's score reaches a threshold, until `cutoff` of them do.

    `threshold` is in the score's whole units. What a feature costs does not depend on how many features a row has, so
    `most_features` may be None, which lets rows count with all of theirs.
    """
    sensitivity = sensitivity_for(rows, score, neighbours, most_features)
    cutoff = _whole(cutoff, "cutoff", 1, rows.width)
    for_threshold, for_values = shares(epsilon, Fraction(cutoff * sensitivity.apart, max(sensitivity.one, 1)))
    return ThresholdQuery(
        values=tuple(limited_scores(rows, score, most_features).tolist()),
        order=tuple(public_order(rows.width).tolist()),
        threshold=_whole(threshold, "threshold", -LARGEST_THRESHOLD, LARGEST_THRESHOLD),
        cutoff=cutoff,
        threshold_scale=sensitivity.one / for_threshold,
        value_scale=cutoff * sensitivity.apart / for_values,
        noisy=sensitivity.one > 0,
    )


def shares(epsilon: Fraction, weight: Fraction) -> tuple[Fraction, Fraction]:
    """Divide epsilon between the threshold and the scores: `1 : weight^(2/3)`, rounded, at least `1 : 1`.

    The weight is the scores' sensitivity, all that are found together, over the threshold's: c if all scores rise or
    all fall, and 2c otherwise. With these shares the difference of the two noises varies least.

    >>> shares(Fraction(1), Fraction(8))
    (Fraction(1, 5), Fraction(4, 5))
    """
    more = Fraction(round(max(float(weight), 1.0) ** (2 / 3) * 1000), 1000)
    first = epsilon / (1 + more)
    return first, epsilon - first


def _whole(value: object, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise ParameterError(f"{name} must be a whole number from {least:,} to {most:,}; got {str(value)[:40]!r}")
    return int(value)
