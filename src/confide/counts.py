"""Sufficient statistic: distinct scores in ascending order, with the weight of each class at each.

Every curve, metric and interval that does not compare rows is a pure function of `ScoreCounts`.
Adding two of them adds the data they were made from, so parts of a table, partitions of a file and
sites of a study can be counted apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.blocks import BLOCK, in_threads, map_blocks, scan_blocks
from confide.errors import OneClassError, ParameterError, ScoreError, WeightError

if TYPE_CHECKING:
    from confide.grid import Grid

FloatArray: TypeAlias = NDArray[np.float64]
CountArray: TypeAlias = NDArray[Any]  # int64 where rows are counted, float64 where they are weighted

_Known = TypeVar("_Known")

_MOST = 2.0**61  # a sum of counts, and twice it, fits a signed 64-bit integer


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoreCounts:
    """Weight of each class at each distinct score.

    Parameters
    ----------
    scores
        Distinct finite scores in ascending order.
    positives, negatives
        Weight of each class at each score: both integers (rows) or both floats (weights), none
        negative, and not both zero at a score. A weight means repetition: weight two is the same
        row twice.

    The arrays are read-only. One class may be absent, as in a part of a table; functions that need both classes raise
    `OneClassError`. The text form shows nothing of the data.
    """

    scores: FloatArray
    positives: CountArray
    negatives: CountArray
    _totals: tuple[float, float] = field(init=False)
    _known: dict[str, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        scores = np.ascontiguousarray(self.scores, dtype=np.float64)
        positives, negatives = _same_kind(self.positives, self.negatives)
        if not (scores.ndim == 1 and scores.shape == positives.shape == negatives.shape):
            raise ParameterError("scores, positives and negatives must be one-dimensional and of one length")
        _check(scores, positives, negatives)
        totals = _number(positives.sum()), _number(negatives.sum())
        if positives.dtype.kind == "i":
            check_weight_sum(float(positives.sum(dtype=np.float64) + negatives.sum(dtype=np.float64)))
        for name, array in (("scores", scores), ("positives", positives), ("negatives", negatives)):
            object.__setattr__(self, name, read_only(array))
        object.__setattr__(self, "_totals", totals)

    @classmethod
    def from_arrays(
        cls,
        labels: ArrayLike,
        scores: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        positive: object = None,
        one_class: bool = False,
    ) -> ScoreCounts:
        """Count rows given as arrays; `positive` names the positive label unless labels are 0/1.

        `one_class=True` is for private releases. Each label is read by itself, by its own type and value, and labels
        of one class only are no error: that the other class is absent is private too. With `positive`, all other
        labels are negative; without it, they must be 0/1, -1/1 or false/true. The type of an array counts as public.
        Such rows take no weights.

        >>> counts = ScoreCounts.from_arrays([0, 1, 1, 0], [0.1, 0.8, 0.4, 0.4])
        >>> counts.scores, counts.positives, counts.negatives
        (array([0.1, 0.4, 0.8]), array([0, 1, 1]), array([1, 1, 0]))
        """
        from confide.sources.arrays import count_arrays

        return count_arrays(labels, scores, weights, positive=positive, one_class=one_class)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        label: str,
        score: str,
        weight: str | None = None,
        positive: object = None,
        one_class: bool = False,
    ) -> ScoreCounts:
        """Count the rows of a pandas, Polars, PyArrow or any other dataframe that narwhals knows."""
        from confide.sources.frames import count_frame

        return count_frame(frame, label=label, score=score, weight=weight, positive=positive, one_class=one_class)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        label: str,
        score: str,
        weight: str | None = None,
        positive: object = None,
        one_class: bool = False,
    ) -> ScoreCounts:
        """Count the rows of an Ibis table, or of a file, inside the engine that holds them."""
        from confide.sources.tables import count_table

        return count_table(
            table, label=label, score=score, weight=weight, positive=positive, one_class=one_class
        ).counts

    @classmethod
    def empty(cls) -> ScoreCounts:
        """Return counts of no rows, the neutral element of addition."""
        none = np.empty(0, dtype=np.int64)
        return cls(np.empty(0), none, none)

    @classmethod
    def total(cls, parts: Iterable[ScoreCounts]) -> ScoreCounts:
        """Add many parts at once."""
        counted = list(parts)
        if not counted:
            return cls.empty()
        positives = _common_kind([part.positives for part in counted])
        negatives = _common_kind([part.negatives for part in counted])
        return cls(*merge_counts([part.scores for part in counted], positives, negatives))

    def __add__(self, other: object) -> ScoreCounts:
        if isinstance(other, int) and other == 0:  # so that sum(parts) works
            return self
        if not isinstance(other, ScoreCounts):
            return NotImplemented
        return ScoreCounts.total((self, other))

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoreCounts):
            return NotImplemented
        return (
            np.array_equal(self.scores, other.scores)
            and np.array_equal(self.positives, other.positives)
            and np.array_equal(self.negatives, other.negatives)
        )

    def __reduce__(self) -> tuple[type[ScoreCounts], tuple[FloatArray, CountArray, CountArray]]:
        return ScoreCounts, (self.scores, self.positives, self.negatives)  # copies are validated and frozen too

    __hash__ = None  # type: ignore[assignment]  # equal by content, and too large to hash

    def __len__(self) -> int:
        return self.scores.size

    def __repr__(self) -> str:
        return f"ScoreCounts(<private>, weighted={self.weighted})"

    @property
    def weighted(self) -> bool:
        """True if the counts are float weights instead of numbers of rows."""
        return self.positives.dtype.kind == "f"

    @property
    def total_positives(self) -> float:
        """Weight of all positives: an int where rows were counted."""
        return self._totals[0]

    @property
    def total_negatives(self) -> float:
        """Weight of all negatives: an int where rows were counted."""
        return self._totals[1]

    @property
    def prevalence(self) -> float:
        """Share of the positives, pi (the dissertation calls it skew)."""
        positives, negatives = self.total_positives, self.total_negatives
        if positives + negatives == 0:
            raise OneClassError("no rows: there is no prevalence; count at least one row")
        return positives / (positives + negatives)

    @property
    def probabilities(self) -> bool:
        """True if every score lies in [0, 1] and so can be read as a probability."""
        return not len(self) or bool(self.scores[0] >= 0.0 and self.scores[-1] <= 1.0)

    def both_classes(self) -> tuple[float, float]:
        """Return the weight of positives and of negatives, refusing data with one class only."""
        positives, negatives = self.total_positives, self.total_negatives
        if positives <= 0 or negatives <= 0:
            raise OneClassError(
                "all rows belong to one class, so ranking cannot be judged; "
                "check which label is the positive one, or add rows of the other class"
            )
        return positives, negatives

    def once(self, name: str, function: Callable[[ScoreCounts], _Known]) -> _Known:
        """Return a function of these counts, under a name of its own, computed at the first call only."""
        if name not in self._known:
            self._known[name] = function(self)
        known: _Known = self._known[name]
        return known

    def swapped(self) -> ScoreCounts:
        """Exchange the classes."""
        return ScoreCounts(self.scores, self.negatives, self.positives)

    def coarsen(self, cells: int) -> ScoreCounts:
        """Merge neighbouring scores into at most `cells` cells of equal mass, at their mean score.

        Few scores stay as they are. The cells depend on the data: this is for speed, not for privacy.
        """
        if len(self) <= cells:
            return self
        return self.merged(equal_mass_starts(self.positives + self.negatives, cells))

    def merged(self, starts: NDArray[np.int64]) -> ScoreCounts:
        """Merge neighbouring scores into cells, at their mean score; a cell begins at each index of `starts`."""
        if starts.size == len(self):
            return self
        last = np.append(starts[1:], len(self)) - 1
        edges = np.append(starts, len(self))

        def sums(cells: slice) -> tuple[FloatArray, CountArray, CountArray]:
            part, inner = slice(edges[cells.start], edges[cells.stop]), starts[cells] - starts[cells.start]
            ours, theirs, scores = self.positives[part], self.negatives[part], self.scores[part]
            total = np.add.reduceat((ours + theirs) * scores, inner)
            return total, np.add.reduceat(ours, inner), np.add.reduceat(theirs, inner)

        parts = in_threads(sums, even_cells(starts, len(self)), rows=len(self))
        total, positives, negatives = (np.concatenate(each) for each in zip(*parts, strict=True))
        return ScoreCounts(
            # Rounding must not carry a mean out of its cell.
            np.clip(total / (positives + negatives), self.scores[starts], self.scores[last]),
            positives,
            negatives,
        )

    def project(self, grid: Grid) -> ScoreCounts:
        """Move every score to the representative of its cell on a public grid."""
        if not hasattr(grid, "representatives"):
            raise ParameterError("grid must be a Grid, for example Grid.uniform(100)")
        cells = grid.cells(self.scores)
        used, first = np.unique(cells, return_index=True)
        if not used.size:
            return self
        return ScoreCounts(
            grid.representatives[used],
            np.add.reduceat(self.positives, first),
            np.add.reduceat(self.negatives, first),
        )


def require_counts(value: object, name: str) -> ScoreCounts:
    """Refuse anything but counts, where rows cannot be given in their place."""
    if isinstance(value, ScoreCounts):
        return value
    raise ParameterError(f"`{name}` must be a ScoreCounts; ScoreCounts.from_arrays(labels, scores) makes one")


def check_weight_sum(total: float) -> None:
    """Refuse whole weights whose sum is so large that 64 bits may not hold it, or twice it."""
    if total > _MOST:
        raise WeightError(
            "whole weights must not add up to more than 2^61; divide all of them by one number, or give floats"
        )


def equal_mass_starts(weight: CountArray, cells: int) -> NDArray[np.int64]:
    """Return the index at which each of up to `cells` cells of equal mass begins; `weight` is ordered by score."""
    if not weight.size:
        return np.empty(0, dtype=np.int64)
    total = weight.sum()

    def members(part: slice, before: float) -> tuple[int, int, NDArray[np.int64]]:
        """Return the cells of the first and of the last score of a block, and where inside it a cell begins."""
        inside = weight[part]
        middle = np.cumsum(inside, dtype=np.float64) + before - inside / 2.0
        member = np.minimum((middle / total * cells).astype(np.int64), cells - 1)
        return int(member[0]), int(member[-1]), np.flatnonzero(member[1:] > member[:-1]) + 1 + part.start

    found, previous, starts = scan_blocks(members, weight), -1, []
    for block, (first, last, inner) in enumerate(found):
        if first > previous:
            starts.append(np.array([block * BLOCK]))
        starts.append(inner)
        previous = max(last, previous)
    return np.concatenate(starts)


def even_cells(starts: NDArray[np.int64], size: int) -> list[slice]:
    """Split cells that begin at `starts` into ranges of a few blocks of scores each."""
    wanted = np.searchsorted(starts, np.arange(0, size, 4 * BLOCK))
    edges = np.unique(np.append(wanted, starts.size))
    return [slice(int(first), int(last)) for first, last in pairwise(edges)]


def _check(scores: FloatArray, positives: CountArray, negatives: CountArray) -> None:
    """Refuse scores that are not finite and ascending, and weights that are not finite and positive."""

    def faults(part: slice) -> tuple[bool, bool, bool, bool]:
        score, ours, theirs = scores[part], positives[part], negatives[part]
        following = scores[part.start + 1 : part.stop + 1]
        weighted = ours.dtype.kind == "f"
        return (
            not np.isfinite(score).all(),
            not bool((following > score[: following.size]).all()),
            weighted and not bool(np.isfinite(ours).all() and np.isfinite(theirs).all()),
            bool((ours < 0).any() or (theirs < 0).any() or (ours + theirs <= 0).any()),
        )

    with np.errstate(invalid="ignore"):
        not_finite, not_ascending, infinite, negative = np.any(map_blocks(faults, scores.size), axis=0)
    if not_finite:
        raise ScoreError("scores must be finite; remove or replace NaN and infinite scores first")
    if not_ascending:
        raise ParameterError("scores must be distinct and ascending; use ScoreCounts.from_arrays for raw rows")
    if infinite:
        raise WeightError("counts and weights must be finite")
    if negative:
        raise WeightError("counts and weights must not be negative, and each score needs some weight")


def merge_counts(
    scores: list[FloatArray], positives: list[CountArray], negatives: list[CountArray]
) -> tuple[FloatArray, CountArray, CountArray]:
    """Merge sorted runs of distinct scores, adding what stands at equal scores."""
    every = np.concatenate(scores)
    order = np.argsort(every, kind="stable")  # finds the sorted runs and merges them
    ordered = every[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if ordered.size else order
    if not starts.size:
        return ordered, np.concatenate(positives), np.concatenate(negatives)
    return (
        ordered[starts],
        np.add.reduceat(np.concatenate(positives)[order], starts),
        np.add.reduceat(np.concatenate(negatives)[order], starts),
    )


def _number(value: Any) -> float:
    plain: float = value.item()  # an int stays an int
    return plain


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that nobody can write to: itself if it is so already, else a copy."""
    if _frozen(array):
        return array
    frozen = array.copy()
    frozen.flags.writeable = False
    return frozen


def _frozen(array: Any) -> bool:
    """Return whether neither the array nor its base can be written to."""
    if not isinstance(array, np.ndarray):
        return False
    return not array.flags.writeable and (array.base is None or _frozen(array.base))


def _same_kind(positives: ArrayLike, negatives: ArrayLike) -> tuple[CountArray, CountArray]:
    first, second = _common_kind([np.asarray(positives), np.asarray(negatives)])
    return first, second


def _common_kind(arrays: list[Any]) -> list[Any]:
    """Convert counts to one type: integers if all are, else floats."""
    integers = all(array.dtype.kind in "iub" for array in arrays)
    return [np.ascontiguousarray(array, dtype=np.int64 if integers else np.float64) for array in arrays]
