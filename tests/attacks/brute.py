"""All labelings of a few rows with an AUC in a window, one by one, from the definition of the AUC."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from confide.attacks.disclosure import Window


def auc_by_pairs(labels: Sequence[int], scores: Sequence[float]) -> Fraction:
    """Pairs that are in the right order, ties half, over all pairs."""
    pairs = [
        (a, b) for a, y in zip(scores, labels, strict=True) if y for b, z in zip(scores, labels, strict=True) if not z
    ]
    return Fraction(sum(2 * (a > b) + (a == b) for a, b in pairs), 2 * len(pairs))


def labelings_by_trying(scores: Sequence[float], window: Window, positives: int | None = None) -> set[tuple[int, ...]]:
    """Every labeling of ascending scores that fits."""
    sizes = range(1, len(scores)) if positives is None else (positives,)
    return {
        labels
        for labels in product((0, 1), repeat=len(scores))
        if sum(labels) in sizes and window.lower <= auc_by_pairs(labels, scores) <= window.upper
    }
