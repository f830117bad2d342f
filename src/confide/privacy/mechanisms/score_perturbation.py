"""Noisy scores of all features, for selecting by rank, by a threshold or by groups.

Stoddard, Chen & Machanavajjhala (2014), section 3.2. Proof: score_perturbation.proof.md.
"""

from __future__ import annotations

from fractions import Fraction

from confide.features import FeatureRows
from confide.privacy.mechanisms.feature_scores import limited_scores, sensitivity_for
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import upper_sqrt
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


def concentrated_scores(
    rows: FeatureRows, score: str, rho: Fraction, neighbours: Neighbours, *, most_features: int | None
) -> IntegerQuery:
    """Query the scores of all features, in whole units, with discrete Gaussian noise, for the concentrated rho.

    No score changes by more than `one` and all together by no more than `all`, so the squares of the changes add up to
    at most `one * all`: `rho = one * all / (2 scale^2)`, and the scale is rounded up to a fraction.
    """
    sensitivity = sensitivity_for(rows, score, neighbours, most_features)
    scale = checked_scale(upper_sqrt(sensitivity.one * sensitivity.all / (2 * rho)))
    values = tuple(limited_scores(rows, score, most_features).tolist())
    noisy = sensitivity.all > 0
    return IntegerQuery(values=values, scales=(scale,) * len(values), family="gaussian", noisy=noisy)
