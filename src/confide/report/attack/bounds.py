"""Bounds on what an attacker can come to believe, as text."""

from __future__ import annotations

import math

import numpy as np


def at_most(share: float) -> str:
    """Write a bound in per cent, rounded up, and never as 100 if it is less."""
    for digits in range(1, 13):
        rounded = math.ceil(round(share * 10 ** (digits + 2), 3)) / 10**digits
        if rounded < 100.0:
            return f"{rounded:.{digits}f}"
    return "100"


def posterior(prior: float, epsilon: float) -> float:
    """Return the largest posterior probability that epsilon allows."""
    odds = np.exp(epsilon) * prior / (1.0 - prior)
    return float(odds / (1.0 + odds))


def whole_percent(share: float) -> str:
    """Write a measured share in whole per cent."""
    return f"{100 * share:.0f}"
