"""The options of `confide release` that are for curves: a grid, a target, exact curves on the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import ParameterError, UsageError

if TYPE_CHECKING:
    from confide.grid import Grid
    from confide.releases.operating import Target
    from confide.releases.release import PreparedRelease

GRIDS = (
    "arcsine:32, uniform:16, uniform:16:-4:4, logit:64, edges:0,0.1,0.3,1, quantiles:16 (private), "
    "public:FILE:COLUMN:16 (quantiles of public scores), medians:10"
)


def asked_grid(text: str | None) -> Grid | str | None:
    """The grid that was typed: own edges and public files are read here, names where they are used.

    >>> asked_grid("edges:0,0.1,1").edges
    array([0. , 0.1, 1. ])
    """
    if text is not None and text.startswith("public:"):
        return _public_quantiles(text)
    if text is None or not text.startswith("edges:"):
        return text
    import numpy as np

    from confide.grid import Grid

    try:
        edges = [float(edge) for edge in text.removeprefix("edges:").split(",")]
    except ValueError:
        raise ParameterError(
            f"grid must have numbers between commas, for example edges:0,0.1,0.3,1; got {text!r}"
        ) from None
    return Grid(np.array(edges))


def _public_quantiles(text: str) -> Grid:
    """Cells of equal mass for the scores of a public file."""
    from confide.grid import Grid
    from confide.sources.tables import table_column

    *path, column, cells = text.removeprefix("public:").split(":")
    if not path or not cells.isdecimal():
        raise ParameterError(f"grid must look like public:FILE:COLUMN:16; got {text!r}")
    return Grid.quantiles(table_column(":".join(path), column), int(cells))


def grid_in_words(text: str | None) -> str:
    """What a page says about the grid: everything typed is public."""
    return "the default, for scores that are probabilities" if text is None else text


def asked_target(given: list[str], *, safe: bool) -> Target | None:
    """The target that a threshold is chosen for."""
    if not given:
        if safe:
            raise UsageError("--safe is for a threshold that is chosen; give a --target, for example recall=0.9")
        return None
    from confide.releases.operating import Target

    return Target.parse(given[0], safe=safe)


def check_reveal(prepared: Sequence[PreparedRelease], report: Path | None) -> None:
    """Refuse exact curves where there is no page to draw them on, or no curve."""
    from confide.releases.curve_set import CURVES

    if report is None:
        raise UsageError("--reveal draws exact curves on a report and nowhere else; give --report OUT.html with it")
    if not any(name in CURVES for part in prepared for name in part.asked):
        raise UsageError("--reveal draws exact curves; ask for roc, pr, calibration or counts, or leave it out")
