"""Noisy scores of all features, for selecting by rank, by a threshold or by groups.

Stoddard, Chen & Machanavajjhala (2014), section 3.2. Proof: score_perturbation.proof.md.
"""

from __future__ import annotations

from fractions import Fraction

from confide.features import FeatureRows
from confide.privacy.mechanisms.feature_scores import limited_scores, sensitivity_for
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import IntegerQuery, checked_scale


def perturbed_scores(
    rows: FeatureRows, score: str, epsilon: Fraction, neighbours: Neighbours, *, most_features: int | None
) -> IntegerQuery:
    """Query the scores of all features, in whole units, with discrete Laplace noise.

    Each row counts with at most `most_features` of its features; None lets it count with all. The scale is what the
    scores change by in all, divided by epsilon.
    """
    sensitivity = sensitivity_for(rows, score, neighbours, most_features)
    scale = checked_scale(sensitivity.all / epsilon)
    values = tuple(limited_scores(rows, score, most_features).tolist())
    return IntegerQuery(values=values, scales=(scale,) * len(values), noisy=sensitivity.all > 0)
