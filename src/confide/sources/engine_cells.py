"""Cells of neighbouring scores, counted in the engine that holds the rows.

The range of all scores is divided into cells of equal width. Cells with too many rows are divided again, until each
cell holds few rows or a single score. The cell of a row is a function of its score alone that never falls where the
score rises, because each step (subtraction, division, square root, floor) is rounded correctly, and so keeps the
order. Cells therefore do not overlap, whatever the scores are.

Cells are divided in one of three ways:

- by width, the usual one;
- by root: scores of one sign whose magnitudes differ much are divided by their 1024th root, which is nearly linear in
  the logarithm of a score; engines round logarithms as they like, but square roots correctly;
- by sign: scores on both sides of zero, if a division by width has left too many in one cell.

Each division separates the least score of a cell from the greatest, so it ends. It ends soon: after division by sign
and by root, scores of a cell differ by a factor of at most 1024, and each division by width then finds eight more
binary digits of a score, which has 53. A dozen steps are enough for any rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import CountArray, FloatArray
from confide.sources.engine_tables import fetch_columns, least, number, small_table, whole

MOST_ROWS = 1 << 20
"""Rows of a cell, unless it is a single score. Sums of squares of their ranks fit 64 bits (see `rank_tables`)."""

_FEWEST_PARTS = 256
_USUAL_PARTS = 4096
_ROWS_PER_PART = 1 << 18
_ROOTS = 10
_MANY_SCALES = 1024.0


Step = dict[str, NDArray[Any]]


class Division(IntEnum):
    """Ways to divide a cell."""

    WIDTH = 0
    ROOT = 1
    SIGN = 2


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cells:
    """Cells in ascending order: the identity of each, its least and greatest score, its positives and its rows.

    `steps` say how to find the cell of a row: a table for each step, whose lines are the cells that it divides.
    """

    steps: tuple[Step, ...]
    ids: CountArray
    low: FloatArray
    high: FloatArray
    positives: CountArray
    rows: CountArray

    def __len__(self) -> int:
        return self.ids.size

    @property
    def single(self) -> NDArray[np.bool_]:
        """True for each cell that is a single score."""
        result: NDArray[np.bool_] = self.low == self.high
        return result

    @property
    def negatives(self) -> CountArray:
        """Number of negatives in each cell."""
        return self.rows - self.positives


def find_cells(rows: Any, low: float, high: float, size: int, *, most: int = MOST_ROWS) -> Cells:
    """Divide a table with columns `label` (0 or 1) and `score` (finite) into cells of at most `most` rows.

    `low` and `high` are the ends of its scores, `size` is its number of rows. A single score may have more.
    """
    parts = max(_USUAL_PARTS, 1 << max(0, math.ceil(math.log2(max(size, 1) / _ROWS_PER_PART))))
    steps = [_step([0], [low + 0.0], [high + 0.0], [parts], first=1)]
    kept: list[dict[str, NDArray[Any]]] = []
    while True:
        found = _counted(locate(rows, steps, only_divided=True))
        divided = (found["rows"] > most) & (found["low"] < found["high"])
        kept.append({name: values[~divided] for name, values in found.items()})
        if not divided.any():
            break
        heavy = {name: values[divided] for name, values in found.items()}
        sizes = [_parts(count / most) for count in heavy["rows"].tolist()]
        last = int(steps[-1]["base"][-1] + steps[-1]["parts"][-1])
        steps.append(_step(heavy["cell"], heavy["low"], heavy["high"], sizes, first=last))
    leaves = {name: np.concatenate([each[name] for each in kept]) for name in kept[0]}
    order = np.argsort(leaves["low"])
    ids, least, greatest, positives, count = (
        leaves[name][order] for name in ("cell", "low", "high", "positives", "rows")
    )
    return Cells(tuple(steps), ids, least, greatest, positives, count)


def _parts(share: float) -> int:
    """Return the number of parts of a cell that holds so many times the rows that it may."""
    return min(_USUAL_PARTS, max(_FEWEST_PARTS, 1 << math.ceil(math.log2(share))))


def locate(rows: Any, steps: Sequence[Step], *, only_divided: bool = False) -> Any:
    """Add the column `cell` to a table with a column `score`.

    With `only_divided` rows that an earlier step has brought to their cell are left out.
    """
    first, *others = steps
    line = {name: _literal(rows, values[0]) for name, values in first.items()}
    located = rows.mutate(cell=_part(rows.score, line, first["way"]))
    for step in others:
        lines = small_table(rows, {f"step_{name}": values for name, values in step.items()})
        how = "inner" if only_divided else "left"
        joined = located.join(lines, [("cell", "step_cell")], how=how)
        part = _part(joined.score, {name: joined[f"step_{name}"] for name in step}, step["way"])
        cell = part if only_divided else joined.step_cell.isnull().ifelse(joined.cell, part)
        located = joined.mutate(cell=cell).drop(*lines.columns)
    return located


def _literal(like: Any, value: Any) -> Any:
    return number(like, value) if isinstance(value, float) else whole(like, value)


def _counted(located: Any) -> dict[str, NDArray[Any]]:
    grouped = located.group_by("cell").aggregate(
        low=located.score.min(), high=located.score.max(), positives=located.label.sum(), rows=located.count()
    )
    kinds = {"cell": np.int64, "low": np.float64, "high": np.float64, "positives": np.int64, "rows": np.int64}
    return fetch_columns(grouped, kinds)


def _step(cells: Any, low: Any, high: Any, parts: Any, *, first: int) -> Step:
    """Return the table of a step: how to divide each cell, and the identity of its first part."""
    ways = [_way(least, greatest, first=first == 1) for least, greatest in zip(low, high, strict=True)]
    rooted = [way is Division.ROOT for way in ways]
    ends = np.array([np.where(rooted, [_root(each) for each in end], end) for end in (low, high)], dtype=np.float64)
    sizes = np.array(parts, dtype=np.int64)
    with np.errstate(over="ignore"):
        width = ends[1] - ends[0]
    width[width == 0.0] = 1.0  # a single score: every row is in the first part
    width[~np.isfinite(width)] = 1.0  # not used: such a cell is divided by sign
    return {
        "cell": np.array(cells, dtype=np.int64),
        "way": np.array(ways, dtype=np.int64),
        "start": ends[0],
        "width": width,
        "least": width / (2.0 * sizes),
        "parts": sizes,
        "base": first + np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
    }


def _way(low: float, high: float, *, first: bool) -> Division:
    """Return how to divide a cell. The first one, of all scores, is divided by width if it has one."""
    if first:
        return Division.WIDTH if math.isfinite(high - low) else Division.SIGN
    if low <= 0.0 <= high:
        return Division.SIGN
    least, greatest = sorted((abs(low), abs(high)))
    return Division.ROOT if greatest / _MANY_SCALES > least else Division.WIDTH


def _part(score: Any, line: dict[str, Any], ways: NDArray[Any]) -> Any:
    """Return the identity of the part of a cell that holds a score; `line` is the cell's line in the step's table."""
    present = set(ways.tolist())
    value = score
    if Division.ROOT in present:
        rooted = _rooted(score)
        value = rooted if present == {Division.ROOT} else (line["way"] == int(Division.ROOT)).ifelse(rooted, score)
    gap = value - line["start"]
    # Numbers so small that engines may refuse to divide them are in the first part in any case.
    divided = (gap / line["width"] * line["parts"]).floor().cast("int64")
    part = (gap < line["least"]).ifelse(whole(score, 0), least(divided, line["parts"] - 1))
    if Division.SIGN in present:
        side = (score < 0.0).ifelse(0, (score > 0.0).ifelse(2, 1)).cast("int64")
        part = side if present == {Division.SIGN} else (line["way"] == int(Division.SIGN)).ifelse(side, part)
    return line["base"] + part


def _rooted(score: Any) -> Any:
    magnitude = score.abs()
    for _ in range(_ROOTS):
        magnitude = magnitude.sqrt()
    return (score < 0.0).ifelse(-magnitude, magnitude)


def _root(score: float) -> float:
    """Return the root of a magnitude, with the sign of the score. The engine computes the same."""
    magnitude = abs(float(score))
    for _ in range(_ROOTS):
        magnitude = math.sqrt(magnitude)
    return math.copysign(magnitude, score)
