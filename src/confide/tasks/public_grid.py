"""Cells of scores from a public file: `public:FILE:COLUMN:CELLS`."""

from __future__ import annotations

import filecmp
from pathlib import Path
from typing import Any

from confide.errors import ParameterError, UsageError
from confide.grid import Grid

_PREFIX = "public:"


def read_grid(grid: Grid | str | None, source: Any) -> Grid | str | None:
    """Return a grid; cells of a public file are read, other names are resolved by the release."""
    if not isinstance(grid, str) or not grid.startswith(_PREFIX):
        return grid
    *path, column, cells = ["", "", *grid.removeprefix(_PREFIX).split(":")]
    file = Path(":".join(path[2:]))
    if len(path) < 3 or not cells.isdecimal():
        raise ParameterError(f"`grid` must look like public:FILE:COLUMN:16; got {grid!r}")
    if isinstance(source, Path) and _same(file, source):
        raise UsageError(
            f"{file} holds the private rows: their quantiles would give scores away; "
            "give a public file, or quantiles:16 to find private ones"
        )
    from confide.sources.tables import table_column

    return Grid.quantiles(table_column(file, column), int(cells))


def public_files(grid: Grid | str | None) -> tuple[Path, ...]:
    """Return the file that the cells of a grid come from, if there is one."""
    if not isinstance(grid, str) or not grid.startswith(_PREFIX):
        return ()
    return (Path(":".join(grid.removeprefix(_PREFIX).split(":")[:-2])),)


def describe_grid(grid: Grid | str | None) -> str:
    """Describe a grid for readers of a page; all that the user typed is public."""
    if grid is None:
        return "the default, for scores that are probabilities"
    return grid if isinstance(grid, str) else f"{len(grid)} cells that were given"


def _same(one: Path, other: Path) -> bool:
    return one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False)
