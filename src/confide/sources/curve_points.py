"""Limits of curves that are thinned because distinct scores are many."""

from __future__ import annotations

CURVE_ERROR = 2e-5
"""No rate of a thinned curve is off by more than this."""

MOST_SCORES = 100_000
"""Distinct scores up to which curves are not thinned."""
