"""AUC by smooth sensitivity: its exact value, its local sensitivity and the smooth bound.

Proof: auc_sensitivity.proof.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.metrics.ranking import twice_wins
from confide.privacy.mechanisms.class_sizes import counted_rows
from confide.privacy.mechanisms.smooth_sensitivity import Calibration
from confide.privacy.noise.reals import ExactReal, exact, exponential, maximum
from confide.privacy.queries import RealQuery


def smooth_auc(counts: ScoreCounts, calibration: Calibration) -> RealQuery:
    """Query AUC with noise scaled to its smooth sensitivity, under any of the three relations."""
    positives, negatives = counted_rows(counts)
    return calibration.query(exact_auc(counts), auc_smooth_bound(positives, negatives, calibration.beta))


def exact_auc(counts: ScoreCounts) -> Fraction:
    """AUC as a fraction; 1/2 where a class is absent."""
    positives, negatives = counted_rows(counts)
    pairs = positives * negatives
    return Fraction(int(twice_wins(counts)), 2 * pairs) if pairs else Fraction(1, 2)


def auc_local_sensitivity(positives: int, negatives: int) -> Fraction:
    """Bound the change of AUC by one row: `1 / min(n, m)`, 1 if a class has at most one row."""
    return Fraction(1, max(min(positives, negatives), 1))


def auc_smooth_bound(positives: int, negatives: int, beta: Fraction) -> ExactReal:
    """`max(1/q, exp(-beta (q - 1)))` with `q = max(min(n, m), 1)`."""
    smaller = max(min(positives, negatives), 1)
    return maximum(exact(auc_local_sensitivity(positives, negatives)), exponential(-beta * (smaller - 1)))


def auc_smooth_bounds(positives: FloatArray, negatives: FloatArray, beta: float) -> FloatArray:
    """Compute the smooth sensitivity in floats for many class sizes at once, for intervals and plans."""
    smaller = np.maximum(np.minimum(positives, negatives), 1.0)
    return np.maximum(1.0 / smaller, np.exp(-beta * (smaller - 1.0)))
