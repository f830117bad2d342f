"""Probabilities that an attacker can reach, and their text."""

from __future__ import annotations

import numpy as np


def posterior(prior: float, epsilon: float) -> float:
    """Return the largest posterior probability that epsilon allows."""
    odds = np.exp(epsilon) * prior / (1.0 - prior)
    return float(odds / (1.0 + odds))


def whole_percent(share: float) -> str:
    """Write a measured share in whole per cent."""
    return f"{100 * share:.0f}"
