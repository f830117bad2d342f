"""Sums of DeLong's components of several models on the same rows, computed by the engine that holds them.

The component of a positive under a model is twice the negatives with lower scores, plus those tied; that of a negative
is twice the positives with higher scores, plus those tied. Windows that are partitioned by cells of scores (see
`engine_cells`) give each row its components, model by model; then products are summed. No row leaves the engine.

Sums are exact. Components are divided into digits of `b` bits. Of `N` rows the sum of products of two digits is below
`N 2^(2 b)`, which 64 bits hold because `b` is chosen so that `2 b` and the bits of `N` are 63 at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.sources.engine_cells import MOST_ROWS, Cells, find_cells, locate
from confide.sources.engine_tables import check_unchanged, fetch_rows, running, small_table, within_groups


@dataclass(frozen=True, slots=True, repr=False)
class ClassPlacements:
    """Sums over one class: its rows, the components of each model, and their products by pair of models."""

    rows: int
    sums: list[int]
    products: list[list[int]]


@dataclass(frozen=True, slots=True, repr=False)
class PlacementSums:
    """Sums of components over positives and over negatives."""

    positives: ClassPlacements
    negatives: ClassPlacements


def sum_placements(rows: Any, ends: Sequence[tuple[float, float]], size: int) -> PlacementSums:
    """Sum the components of a table with columns `label` (0 or 1) and `score0`, `score1`, ... (no minus zero)."""
    models = len(ends)
    placed = rows
    for i, (low, high) in enumerate(ends):
        cells = find_cells(rows.select("label", score=rows[f"score{i}"]), low, high, size)
        placed = _placed(placed, cells, i)
    digits = _Digits.of(size)
    sums: dict[str, Any] = {}
    for name, label in (("ours", 1), ("theirs", 0)):
        chosen = placed.label == label
        sums[f"{name}_rows"] = placed.count(where=chosen)
        sums |= digits.sums(placed, models, name, chosen)
    (found,) = fetch_rows(placed.aggregate(**sums))
    check_unchanged(int(found["ours_rows"]) + int(found["theirs_rows"]) == size)
    return PlacementSums(*(digits.put_together(found, models, name) for name in ("ours", "theirs")))


def _placed(rows: Any, cells: Cells, model: int) -> Any:
    """Replace a score by the component of each row."""
    located = locate(rows.rename(score=f"score{model}"), cells.steps)
    heavy = cells.single & (cells.rows > MOST_ROWS)
    parts = []
    if not heavy.all():
        parts.append(_ranked(located, cells, ~heavy, model))
    if heavy.any():
        parts.append(_tied(located, cells, heavy, model))
    first, *others = parts
    return first.union(*others) if others else first


def _with_lines(located: Any, cells: Cells, chosen: NDArray[np.bool_]) -> Any:
    """Keep the rows of the chosen cells, each with the negatives below its cell and the positives in or above it."""
    columns = {
        "of_cell": cells.ids,
        "lower": np.cumsum(cells.negatives) - cells.negatives,
        "upper": cells.positives.sum() - np.cumsum(cells.positives) + cells.positives,
        "ours_here": cells.positives,
        "theirs_here": cells.negatives,
    }
    lines = small_table(located, {name: values[chosen] for name, values in columns.items()})
    return located.join(lines, [("cell", "of_cell")], how="inner").drop("of_cell")


def _ranked(located: Any, cells: Cells, chosen: NDArray[np.bool_], model: int) -> Any:
    rows = _with_lines(located, cells, chosen)
    tied = [rows.cell, rows.score]
    # A window over rows with equal scores takes them together: all of them are counted.
    counted = rows.mutate(
        ours=running(rows.label.sum(), rows.cell, rows.score).cast("int64"),
        reached=running(rows.count(), rows.cell, rows.score),
        ours_tied=within_groups(rows.label.sum(), tied).cast("int64"),
        rows_tied=within_groups(rows.count(), tied),
    )
    below = 2 * (counted.lower + counted.reached - counted.ours) - (counted.rows_tied - counted.ours_tied)
    above = 2 * (counted.upper - counted.ours) + counted.ours_tied
    return _component(counted, located.columns, model, below, above)


def _tied(located: Any, cells: Cells, chosen: NDArray[np.bool_], model: int) -> Any:
    """Place the rows of a single score without a window, which would bring all of them to one process."""
    rows = _with_lines(located, cells, chosen)
    below = 2 * rows.lower + rows.theirs_here
    above = 2 * (rows.upper - rows.ours_here) + rows.ours_here
    return _component(rows, located.columns, model, below, above)


def _component(rows: Any, columns: Sequence[str], model: int, below: Any, above: Any) -> Any:
    kept = [name for name in columns if name not in ("cell", "score")]
    return rows.select(*kept, **{f"component{model}": (rows.label == 1).ifelse(below, above).cast("int64")})


@dataclass(frozen=True, slots=True)
class _Digits:
    """Digits of whole numbers below `2^(bits * count)`."""

    bits: int
    count: int

    @classmethod
    def of(cls, rows: int) -> _Digits:
        """Choose digits whose products over so many rows do not overflow 64 bits."""
        bits = (63 - rows.bit_length()) // 2
        return cls(bits, -(-(rows.bit_length() + 1) // bits))  # a component is at most twice the rows

    def sums(self, rows: Any, models: int, name: str, chosen: Any) -> dict[str, Any]:
        """Return the sums of digits and of products of digits over the chosen rows."""
        digits = {
            (model, place): _digit(rows[f"component{model}"], self.bits, place, last=place == self.count - 1)
            for model in range(models)
            for place in range(self.count)
        }
        found = {f"{name}_{i}_{a}": digit.sum(where=chosen) for (i, a), digit in digits.items()}
        for (i, a), (j, b) in combinations_with_replacement(digits, 2):
            found[f"{name}_{i}_{a}_{j}_{b}"] = (digits[i, a] * digits[j, b]).sum(where=chosen)
        return found

    def put_together(self, found: dict[str, Any], models: int, name: str) -> ClassPlacements:
        """Return the sums of whole numbers from those of their digits."""

        def total(key: str) -> int:
            return int(found[f"{name}_{key}"] or 0)

        def product(i: int, j: int) -> int:
            pairs = ((a, b) for a in range(self.count) for b in range(self.count))
            return sum(
                total("_".join(map(str, sum(sorted([(i, a), (j, b)]), ())))) << self.bits * (a + b) for a, b in pairs
            )

        sums = [sum(total(f"{i}_{a}") << self.bits * a for a in range(self.count)) for i in range(models)]
        products = [[product(i, j) for j in range(models)] for i in range(models)]
        return ClassPlacements(int(found[f"{name}_rows"]), sums, products)


def _digit(value: Any, bits: int, place: int, *, last: bool) -> Any:
    """Return a digit of a whole number. Division by a power of two is exact in any engine."""
    shifted = value // (1 << bits * place) if place else value
    return shifted if last else shifted % (1 << bits)
