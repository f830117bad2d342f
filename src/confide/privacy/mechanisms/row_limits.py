"""Limits on the weight of one row: at most so many features, or one weight divided among all that it has.

Both are maps of each row by itself, the same for every dataset, so two datasets that differ in one row still differ in
one row afterwards. Proof: row_limits.proof.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.errors import ParameterError, did_you_mean
from confide.features import FeatureRows, Integers

UNITS = 2**16
"""A whole feature of a row weighs this many units where weights are divided."""

LARGEST = 2**20
"""The most features, or features' worth, that a row may be allowed."""

KINDS = ("spread", "sample")

_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLimit:
    """Limit on the weight of a row: `worth` features, by a sample of them or with the weight spread over all."""

    kind: str = "spread"
    worth: int = 3

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            hint = did_you_mean(self.kind, KINDS)
            raise ParameterError(f"limit must be one of {', '.join(KINDS)}; got {self.kind!r}. {hint}".rstrip())
        object.__setattr__(self, "worth", checked_limit(self.worth, "row weight"))

    @property
    def units(self) -> int:
        """Largest number of units that a row weighs."""
        return self.worth * UNITS

    def weighed(self, rows: FeatureRows) -> tuple[FeatureRows, Integers]:
        """Return the limited rows, and the units of each entry of their `features`."""
        if self.kind == "spread":
            return rows, spread_weights(rows, self.worth)
        kept = sampled(rows, self.worth)
        return kept, np.full(kept.features.size, UNITS, dtype=np.int64)


def checked_limit(value: object, name: str) -> int:
    """Return a limit for rows, refusing what is not a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= LARGEST:
        raise ParameterError(f"{name} must be a whole number from 1 to {LARGEST:,}; got {str(value)[:40]!r}")
    return int(value)


def sampled(rows: FeatureRows, most: int) -> FeatureRows:
    """Keep at most `most` features of each row, chosen as if at random by a public hash of the row.

    Which are kept depends on the row's own features alone: not on its label, its place or other rows.
    """
    most = checked_limit(most, "features per row")
    lengths = np.diff(rows.starts)
    if (lengths <= most).all():
        return rows
    priority = _priority(rows, rows.row_of_each)
    kept = np.ones(rows.features.size, dtype=np.bool_)
    for length in np.unique(lengths[lengths > most]).tolist():
        entries = rows.starts[:-1][lengths == length][:, None] + np.arange(length)
        ordered = np.argpartition(priority[entries], most - 1, axis=1)
        kept[np.take_along_axis(entries, ordered[:, most:], axis=1)] = False
    return rows.kept(kept)


def spread_weights(rows: FeatureRows, worth: int) -> Integers:
    """Return the units that each entry of `features` weighs if a row is worth at most `worth` features.

    A row of m features gives each of them `floor(UNITS * min(1, worth / m))`: all keep their say, and together they
    weigh at most `worth * UNITS`. On average a feature weighs what it would if `worth` of them were drawn.
    """
    worth = checked_limit(worth, "row weight")
    lengths = np.diff(rows.starts)
    each = np.minimum(UNITS, UNITS * worth // np.maximum(lengths, 1))
    return np.repeat(each, lengths)


def row_numbers(rows: FeatureRows) -> NDArray[np.uint64]:
    """A number of 64 bits for each row, mixed from the set of its features alone: equal rows have equal ones."""
    mixed = _mix(rows.features.astype(np.uint64))
    sums = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)))
    return _mix(sums[rows.starts[1:]] - sums[rows.starts[:-1]])


def _priority(rows: FeatureRows, owner: Integers) -> NDArray[np.uint64]:
    """A number for each entry, mixed from the feature and from all features of its row; no two of a row are equal."""
    return _mix(_mix(rows.features.astype(np.uint64)) ^ row_numbers(rows)[owner])


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Stafford's mixing of 64 bits (variant 13, as in splitmix64)."""
    mixed = values + _ODD
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
