"""Rows whose ranks are hard to add up, and what their sums must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from confide.kernels.sums import RankSums, sum_counts

SIZE = 3_000
RNG = np.random.default_rng(11)
LABELS = RNG.random(SIZE) < 0.3
NORMAL = RNG.standard_normal(SIZE) + LABELS
TINY = 5e-324  # the least number above zero

SCORES: dict[str, NDArray[Any]] = {
    "distinct": NORMAL,
    "ties and both zeros": np.where(NORMAL.round(1) == 0.0, RNG.choice([-0.0, 0.0], SIZE), NORMAL.round(1)),
    "one score holds most rows": np.where(RNG.random(SIZE) < 0.9, 0.25, NORMAL),
    "one score": np.full(SIZE, -0.0),
    "neighbouring floats": 0.1 + RNG.integers(0, 900, SIZE) * np.spacing(0.1),
    "all scales and signs": 10.0 ** RNG.uniform(-307, 307, SIZE) * RNG.choice([-1.0, 0.0, 1.0], SIZE),
    "denormals": RNG.integers(-900, 900, SIZE) * TINY,
    "widest": np.where(LABELS, 1.7e308, -1.7e308) * RNG.choice([1.0, TINY, 0.3, 0.1], SIZE),
    "one far away": np.append(NORMAL[1:], 1e300),
    "nearly separated": np.where(np.arange(SIZE) < 5, 9.0, 2.0 * LABELS) + RNG.random(SIZE),
    "whole": RNG.integers(-(2**53), 2**53, SIZE),
}
LABELLED = dict.fromkeys(SCORES, LABELS) | {
    "one positive": np.arange(SIZE) == 7,
    "only positives above": NORMAL > 0.2,
}
SCORES |= {"one positive": NORMAL, "only positives above": NORMAL}


def counted(labels: NDArray[Any], scores: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Count by NumPy alone."""
    values, place = np.unique(np.asarray(scores, dtype=np.float64) + 0.0, return_inverse=True)
    positives = np.bincount(place, labels, values.size).astype(np.int64)
    return values, positives, np.bincount(place, minlength=values.size) - positives


def expected_sums(name: str) -> RankSums:
    _, positives, negatives = counted(LABELLED[name], SCORES[name])
    return sum_counts(positives, negatives)


def all_columns() -> pa.Table:
    """Return all rows side by side: the labels and scores of each case."""
    columns = {f"label {name}": pa.array(LABELLED[name].astype(np.int64)) for name in SCORES}
    return pa.table(columns | {name: pa.array(values) for name, values in SCORES.items()})


def assert_same_sums(found: RankSums, expected: RankSums) -> None:
    """Whole numbers are equal, and others but for their last digits."""
    assert (found.positives, found.negatives) == (expected.positives, expected.negatives)
    assert found.twice_wins == expected.twice_wins
    for name in ("precision_sum", "positive_placement_ss", "negative_placement_ss"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12, abs=1e-300), name


def assert_points(found: Any, name: str, error: float, thresholds: list[float]) -> None:
    """Points of a curve are single scores or small, and lie on the curve of all rows."""
    values, positives, negatives = counted(LABELLED[name], SCORES[name])
    means, ours, theirs = found.scores, found.positives, found.negatives
    assert (np.diff(means) > 0).all()
    assert (ours.sum(), theirs.sum()) == (positives.sum(), negatives.sum())
    assert values[0] <= means[0] <= means[-1] <= values[-1]
    where = np.minimum(np.searchsorted(values, means), values.size - 1)
    single = (values[where] == means) & (positives[where] == ours) & (negatives[where] == theirs)
    for size, count in ((ours, positives), (theirs, negatives)):
        assert (size[~single] <= max(1, error * count.sum())).all()
    for threshold in thresholds:
        assert ours[means >= threshold].sum() == positives[values >= threshold].sum()
        assert theirs[means >= threshold].sum() == negatives[values >= threshold].sum()
    corners = set(zip(np.cumsum(positives).tolist(), np.cumsum(negatives).tolist(), strict=True))
    assert set(zip(np.cumsum(ours).tolist(), np.cumsum(theirs).tolist(), strict=True)) <= corners
