"""Logistic regression whose weights get noise: output perturbation (Chaudhuri, Monteleoni & Sarwate 2011, algorithm 1).

Proof: output_perturbation.proof.md.
"""

from __future__ import annotations

from fractions import Fraction

from confide.privacy.mechanisms.logistic_minimum import distance_bound, near_minimum
from confide.privacy.mechanisms.unit_rows import UnitRows
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import SphericalQuery


def gradient_shift(neighbours: Neighbours) -> int:
    """Bound the length of the difference of two neighbours' gradients, for all weights.

    One row's is shorter than 1: its length times a probability. Replacing a row takes one away and brings another. A
    changed label turns `-p x` into `(1 - p) x`: their difference is x.
    """
    return 2 if neighbours == Neighbours.REPLACE_ONE else 1


def output_perturbation(
    rows: UnitRows, regularization: Fraction, epsilon: Fraction, neighbours: Neighbours
) -> SphericalQuery:
    """Query the weights that minimise the regularised loss, with spherical Laplace noise.

    They move by at most `gradient_shift / regularization`; what is computed is within the distance bound of them.
    """
    moved = gradient_shift(neighbours) / regularization + 2 * distance_bound(regularization)
    return SphericalQuery(values=near_minimum(rows, regularization), scale=moved / epsilon)
