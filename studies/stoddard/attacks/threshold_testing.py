"""Private threshold testing (PTT) as published, which is not private: exact scores against one noisy threshold.

Stoddard, Chen & Machanavajjhala (2014), Algorithm 2. `studies.stoddard.attacks.refutations` has the counterexample.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from studies.stoddard.attacks.laplace import (
    Support,
    between,
    checked_claim,
    checked_scores,
    checked_support,
    checked_threshold,
)


def ptt_scale(epsilon: object, *, sensitivity: float = 1.0, monotone: bool = False) -> float:
    """Return the scale of the threshold's noise at which the paper claims epsilon.

    Theorem 2 claims `2 sensitivity epsilon` for the scale `1/epsilon`, so `2 sensitivity/epsilon` here. Corollary 3.4
    claims half of that where an added row lowers no score (`monotone`: total counts): `sensitivity/epsilon`.
    """
    return (1.0 if monotone else 2.0) * sensitivity / checked_claim(epsilon, sensitivity)


def ptt_support(
    scores: ArrayLike,
    threshold: float,
    epsilon: object,
    rng: np.random.Generator,
    *,
    sensitivity: float = 1.0,
    monotone: bool = False,
) -> Support:
    """Say which scores reach the noisy threshold. Not private at any epsilon, the claimed one included.

    `sensitivity` is how much one row changes a score at most, in the units of the scores.

    >>> ptt_support([3, 40, 5], 10, 1, np.random.default_rng(1)).tolist()
    [False, True, False]
    """
    scale = ptt_scale(epsilon, sensitivity=sensitivity, monotone=monotone)
    return np.asarray(checked_scores(scores) >= checked_threshold(threshold) + rng.laplace(scale=scale))


def ptt_probability(
    support: ArrayLike,
    scores: ArrayLike,
    threshold: float,
    epsilon: object,
    *,
    sensitivity: float = 1.0,
    monotone: bool = False,
) -> float:
    """Return the probability of an answer: the threshold lies above all scores left out, at or below all taken.

    >>> ptt_probability([True, False], [5, 5], 5, 1), round(ptt_probability([True, False], [6, 5], 5, 1), 4)
    (0.0, 0.1967)
    """
    scale = ptt_scale(epsilon, sensitivity=sensitivity, monotone=monotone)
    values, middle = checked_scores(scores), checked_threshold(threshold)
    taken = checked_support(support, values.size)
    highest_out = float(np.max(values[~taken], initial=-math.inf))
    lowest_in = float(np.min(values[taken], initial=math.inf))
    return between((highest_out - middle) / scale, (lowest_in - middle) / scale)
