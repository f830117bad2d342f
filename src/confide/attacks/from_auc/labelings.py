"""Labelings that a published AUC leaves possible (Whitehill 2019): how many, which, by class sizes.

A labeling's cost is its number of misplaced pairs, a negative above a positive; a tie is half a pair. With n positives
and m negatives, `AUC = 1 - cost / (n m)`. Without ties, the labelings of a cost are the partitions of that
integer into at most n parts of at most m each, so they are counted by the coefficients of a Gaussian binomial.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.attacks.disclosure import Window
from confide.errors import ParameterError

MOST_ROWS = 2_000
"""Of more rows one AUC says next to nothing, and counting would take for ever."""

MOST_LISTED = 5_000_000
_MOST_BYTES = 1 << 30
_MOST_COUNTING = 4 * 10**10  # bytes to go through: half a minute
_CHUNK = 1 << 15

LabelMatrix = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelings:
    """All labelings of ranked rows whose AUC lies in a window.

    `groups` says how many rows share each score, from the lowest to the highest; all 1 where none tie.
    `positives` is their number where it is known.

    >>> eight = Labelings.untied(11, "17/24", positives=8)  # Whitehill's Table 1
    >>> eight.count(), Labelings.untied(106, "1387/1440").count()
    (8, 468686)
    """

    groups: tuple[int, ...]
    window: Window
    positives: int | None = None

    def __post_init__(self) -> None:
        if min(self.groups, default=0) < 1:
            raise ParameterError("groups must be numbers of rows, at least 1 each")
        if not 2 <= self.rows <= MOST_ROWS:
            raise ParameterError(f"rows must lie between 2 and {MOST_ROWS}; got {self.rows}")
        if self.positives is not None and not 0 < self.positives < self.rows:
            raise ParameterError(f"positives must lie between 1 and rows - 1, {self.rows - 1}; got {self.positives}")

    @classmethod
    def untied(cls, rows: int, auc: Window | Fraction | str, *, positives: int | None = None) -> Labelings:
        """Labelings of rows with different scores; an AUC in writing is read as `Window.written` does."""
        if not 2 <= rows <= MOST_ROWS:
            raise ParameterError(f"rows must lie between 2 and {MOST_ROWS}; got {rows}")
        return cls(groups=(1,) * rows, window=_window(auc), positives=positives)

    @classmethod
    def of_scores(cls, scores: ArrayLike, auc: Window | Fraction | str, *, positives: int | None = None) -> Labelings:
        """Labelings of rows with these scores, some of which may be equal."""
        groups = np.unique(np.asarray(scores, dtype=np.float64), return_counts=True)[1]
        return cls(groups=tuple(groups.tolist()), window=_window(auc), positives=positives)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return sum(self.groups)

    @property
    def tied(self) -> bool:
        """Tell whether any rows share a score."""
        return max(self.groups) > 1

    @property
    def unit(self) -> int:
        """Return what a misplaced pair costs, so that costs are integers: with ties, 2."""
        return 2 if self.tied else 1

    def spans(self) -> dict[int, tuple[int, int]]:
        """For each possible number of positives, the lowest and the highest cost that the AUC allows, in units."""
        sizes = range(1, self.rows) if self.positives is None else (self.positives,)
        found = {}
        for positives in sizes:
            pairs = self.unit * positives * (self.rows - positives)
            low = max(math.ceil((1 - self.window.upper) * pairs), 0)
            high = min(math.floor((1 - self.window.lower) * pairs), pairs)
            if low <= high:
                found[positives] = low, high
        return found

    def triples(self) -> list[tuple[int, int, Fraction]]:
        """Return the possible numbers of negatives, of positives and of misplaced pairs."""
        return [
            (self.rows - positives, positives, Fraction(cost, self.unit))
            for positives, (low, high) in self.spans().items()
            for cost in range(low, high + 1)
        ]

    def reflected(self) -> Labelings:
        """Return the labelings of the reversed order of scores, so that misplaced pairs become well placed."""
        window = Window(lower=1 - self.window.upper, upper=1 - self.window.lower)
        return Labelings(groups=self.groups[::-1], window=window, positives=self.positives)

    def cheap_side_up(self) -> tuple[Labelings, bool]:
        """Return these labelings or their reflection, whichever costs less, and whether it is the reflection."""
        turned = self.window.lower + self.window.upper < 1
        return (self.reflected() if turned else self), turned

    def count(self) -> int:
        """Return the number of labelings, exactly: `w(n, c)` of Whitehill 2019."""
        return sum(self.count_by_positives().values())

    def count_by_positives(self) -> dict[int, int]:
        """Return the number of labelings with each possible number of positives; those with none are left out."""
        side, _ = self.cheap_side_up()
        found = _tied_counts(side) if self.tied else _untied_counts(side)
        return {positives: count for positives, count in sorted(found.items()) if count}

    def stream(self) -> Iterator[LabelMatrix]:
        """Return all labelings, some thousands at a time: a row of 0 and 1 each, for ascending scores."""
        return _tied_stream(self) if self.tied else _untied_stream(self)

    def listed(self) -> LabelMatrix:
        """Return all labelings at once, refusing more than fit the memory."""
        _check_listable(self.count(), self.rows)
        parts = list(self.stream())
        return np.concatenate(parts) if parts else np.empty((0, self.rows), dtype=np.uint8)


def _check_listable(count: int, rows: int) -> None:
    """Refuse to list more labelings than fit the memory."""
    if count > MOST_LISTED or count * rows > _MOST_BYTES:
        raise ParameterError(
            f"about 10^{len(str(count)) - 1} labelings are too many to list; draw some of them, or go through a stream"
        )


def _window(auc: Window | Fraction | str) -> Window:
    if isinstance(auc, str):
        auc = Window.written(auc)
    elif isinstance(auc, Fraction):
        auc = Window(lower=auc, upper=auc)
    if auc.upper < 0 or auc.lower > 1:
        raise ParameterError("auc must lie between 0 and 1")
    return auc


def _untied_counts(labelings: Labelings) -> dict[int, int]:
    """Classes of sizes k and n - k have as many labelings of each cost, so boxes to n / 2 suffice."""
    from confide.kernels.labelings import partition_sums

    rows, spans = labelings.rows, labelings.spans()
    low, high = np.ones(rows // 2 + 1, dtype=np.int64), np.zeros(rows // 2 + 1, dtype=np.int64)
    for positives, span in spans.items():
        smaller = min(positives, rows - positives)
        low[smaller], high[smaller] = span
    sums = partition_sums(rows, low, high)
    return {positives: sums[min(positives, rows - positives)] for positives in spans}


def _tied_counts(labelings: Labelings) -> dict[int, int]:
    """Polynomials in the cost, one for each number of positives so far, each packed into one integer."""
    spans = labelings.spans()
    if not spans:
        return {}
    slot = labelings.rows + 1  # bits: no coefficient reaches 2^(rows + 1)
    most = max(high for _, high in spans.values())
    width = (most + 1) * slot
    _check_countable(labelings.groups, max(spans), width)
    mask = (1 << width) - 1
    ways = {0: 1}
    for size in labelings.groups:
        further: dict[int, int] = {}
        for below, packed in ways.items():
            for own in range(min(size, max(spans) - below) + 1):
                shift = slot * (2 * (size - own) * below + own * (size - own))
                if shift < width:
                    grown = ((packed << shift) & mask) * comb(size, own)
                    further[below + own] = further.get(below + own, 0) + grown
        ways = further
    digit = (1 << slot) - 1
    return {
        positives: sum(ways.get(positives, 0) >> slot * cost & digit for cost in range(low, high + 1))
        for positives, (low, high) in spans.items()
    }


def _check_countable(groups: Sequence[int], positives: int, width: int) -> None:
    if sum(size + 1 for size in groups) * positives * width // 8 > _MOST_COUNTING:
        raise ParameterError(
            "labelings with tied scores are too many to count exactly at this size; draw some of them instead, or say "
            "how many positives there are"
        )


def _untied_stream(labelings: Labelings) -> Iterator[LabelMatrix]:
    from confide.kernels.labelings import list_labelings

    for positives, (low, high) in labelings.spans().items():
        last = np.zeros(labelings.rows, dtype=np.uint8)
        started = False
        while True:
            chunk = np.empty((_CHUNK, labelings.rows), dtype=np.uint8)
            written = list_labelings(last, started, positives, low, high, chunk)
            if written:
                yield chunk[:written]
            if written < _CHUNK:
                break
            started = True


def _tied_stream(labelings: Labelings) -> Iterator[LabelMatrix]:
    """Numbers of positives in each group first, then which rows of a group they are."""
    waiting: list[list[int]] = []
    for numbers in _group_numbers(labelings):
        choices = [
            [tuple(int(i in chosen) for i in range(size)) for chosen in map(set, combinations(range(size), own))]
            for size, own in zip(labelings.groups, numbers, strict=True)
        ]
        for parts in product(*choices):
            waiting.append([label for part in parts for label in part])
            if len(waiting) == _CHUNK:
                yield np.array(waiting, dtype=np.uint8)
                waiting = []
    if waiting:
        yield np.array(waiting, dtype=np.uint8)


def _group_numbers(labelings: Labelings) -> Iterator[tuple[int, ...]]:
    """Return all numbers of positives in the groups, without following any beginning that cannot end well."""
    endings = _good_endings(labelings)
    groups = labelings.groups

    def after(i: int, below: int, cost: int, numbers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if i == len(groups):
            yield numbers
            return
        for own in range(groups[i] + 1):
            total = cost + 2 * (groups[i] - own) * below + own * (groups[i] - own)
            if endings[i + 1].get(below + own, 0) >> total & 1:
                yield from after(i + 1, below + own, total, (*numbers, own))

    yield from after(0, 0, 0, ())


def _good_endings(labelings: Labelings) -> list[dict[int, int]]:
    """Before each group, by positives so far: the costs so far that can end within the spans, as bits of an integer."""
    last = {positives: ((1 << high - low + 1) - 1) << low for positives, (low, high) in labelings.spans().items()}
    endings, rows = [last], labelings.rows
    for size in reversed(labelings.groups):
        rows -= size
        earlier = {}
        for below in range(rows + 1):
            costs = 0
            for own in range(size + 1):
                costs |= endings[-1].get(below + own, 0) >> 2 * (size - own) * below + own * (size - own)
            if costs:
                earlier[below] = costs
        endings.append(earlier)
    return endings[::-1]
