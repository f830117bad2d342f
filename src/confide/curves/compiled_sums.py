"""Sums over the curves of many distinct scores from compiled kernels, where these are loaded already.

Loading the compiler takes longer than NumPy takes for these sums, so it is never loaded for them alone.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from confide.counts import ScoreCounts

if TYPE_CHECKING:
    from confide.kernels.curves import LevelAreas
    from confide.kernels.sums import RankSums

KERNEL_FROM = 50_000
"""Distinct scores from which a kernel pays."""

_LARGEST_EXACT = 2**60  # twice the number of pairs, and products of counts, fit a signed 64-bit integer


def has_kernel(counts: ScoreCounts) -> bool:
    """Return whether the compiled kernels for curves should work on these counts."""
    return (
        len(counts) >= KERNEL_FROM
        and "confide.kernels.threads" in sys.modules
        and not counts.weighted
        and 0 < counts.total_positives * counts.total_negatives < _LARGEST_EXACT
    )


def compiled_sums(counts: ScoreCounts) -> RankSums | None:
    """Return the sums behind AUC, average precision and DeLong's variance; None where NumPy shall add them up.

    All three take one pass, so that it is made once for the same counts.
    """
    if not has_kernel(counts):
        return None
    from confide.kernels.curves import sum_many_counts

    return counts.once("rank sums", lambda each: sum_many_counts(each.positives, each.negatives))


def compiled_hull(counts: ScoreCounts) -> NDArray[np.int64] | None:
    """Return candidates for the corners of the ROC curve's hull, as `hull_points` does; None where NumPy shall."""
    if not has_kernel(counts):
        return None
    from confide.kernels.curves import hull_points

    return hull_points(counts.positives, counts.negatives)


def compiled_areas(counts: ScoreCounts) -> LevelAreas | None:
    """Return areas under the PR curve by estimators that join points recall by recall; None where NumPy shall."""
    if not has_kernel(counts):
        return None
    from confide.kernels.curves import level_areas

    return counts.once("areas", lambda each: level_areas(each.positives, each.negatives))
