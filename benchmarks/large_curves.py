"""How long private curves take once ten million rows are counted: on 1,024 cells, every strategy and kind of noise."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.timing import seconds, table, timed
from confide.counts import ScoreCounts
from confide.grid import Grid
from confide.releases.counting import Counting
from confide.releases.curves import curves_of, prepare_curves, release_curves
from confide.releases.terms import Terms

ROWS, CELLS = 10_000_000, 1_024
STRATEGIES = ("flat", "tree", "haar")
FAMILIES = ("laplace", "gaussian")
TARGET = 3.0


def run(*, quick: bool = False) -> None:
    rows, size = (ROWS // 100, CELLS // 8) if quick else (ROWS, CELLS)
    grid = Grid.arcsine(size)
    rng = np.random.default_rng(0)
    labels = rng.random(rows) < 0.24
    scores = rng.beta(np.where(labels, 3.0, 1.0), np.where(labels, 1.0, 3.0))
    every, counted = timed(lambda: ScoreCounts.from_arrays(labels, scores))
    cells, projected = timed(lambda: _projected(every, grid))
    print(f"{rows:,} rows with {len(every):,} different scores: {seconds(counted)} to count,")
    print(f"{seconds(projected)} to put into {size:,} cells; then, from the counts of the cells:")
    lines = []
    for strategy in STRATEGIES:
        for family in FAMILIES:
            lines.append(_line(cells, grid, strategy, family))
    head = ("strategy, noise", "integers", "drawn", "curves and bands", "release_curves", "its CPU time", "target", "")
    table(head, lines)
    busy = time.process_time()
    _, whole = timed(lambda: release_curves(every, epsilon=1, grid=grid, neighbours="add-remove-one"))
    busy = time.process_time() - busy
    print(f"release_curves of all {len(every):,} scores, auto: {seconds(whole)} (CPU {seconds(busy)}){_mark(whole)}")


def _line(cells: ScoreCounts, grid: Grid, strategy: str, family: str) -> tuple[str, ...]:
    options: dict[str, Any] = {"grid": grid, "strategy": strategy, "mechanism": family}
    given: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "neighbours": "add-remove-one"}
    integers = len(Counting.checked(Terms.checked(**given), **options).ask(cells, grid).values)
    prepared = prepare_curves(cells, **options, **given)
    (raw,), drawn = timed(prepared.draw)
    _, worked_out = timed(lambda: curves_of(raw))
    busy = time.process_time()
    _, whole = timed(lambda: release_curves(cells, **options, **given))
    busy = time.process_time() - busy
    return (
        f"{strategy}, {family}",
        f"{integers:,}",
        seconds(drawn),
        seconds(worked_out),
        seconds(whole),
        seconds(busy),
        f"{TARGET:g} s",
        _mark(whole).strip(),
    )


def _projected(counts: ScoreCounts, grid: Grid) -> ScoreCounts:
    """The rows of each cell at its middle: what a database that counts would hand over."""
    where = grid.cells(counts.scores)
    positives, negatives = (
        np.bincount(where, column, len(grid)).astype(np.int64) for column in (counts.positives, counts.negatives)
    )
    used = positives + negatives > 0
    return ScoreCounts(grid.representatives[used], positives[used], negatives[used])


def _mark(taken: float) -> str:
    return " MISS" if taken > TARGET else ""
