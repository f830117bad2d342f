"""The options of `confide release` that are for curves: a grid, a target, exact curves on the page."""

from __future__ import annotations

import filecmp
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import ParameterError, UsageError

if TYPE_CHECKING:
    from confide.grid import Grid
    from confide.releases.operating import Target
    from confide.releases.release import PreparedRelease

GRIDS = (
    "arcsine:32, uniform:16, uniform:16:-4:4, logit:64, edges:0,0.1,0.3,1 or public:FILE:COLUMN:16 (quantiles of "
    "public scores); or, for a fifth of epsilon, quantiles:16, quantiles:16:-4:4 (of the private ones) or medians:10"
)


def asked_grid(text: str | None, private: str) -> Grid | str | None:
    """The grid that was typed: a public file is read here, names where they are used."""
    if text is not None and text.startswith("public:"):
        return _public_quantiles(text, private)
    return text


def _public_quantiles(text: str, private: str) -> Grid:
    """Cells of equal mass for the scores of a public file, which must not be the private one."""
    from confide.grid import Grid
    from confide.sources.tables import table_column

    *path, column, cells = text.removeprefix("public:").split(":")
    if not path or not cells.isdecimal():
        raise ParameterError(f"grid must look like public:FILE:COLUMN:16; got {text!r}")
    file = Path(":".join(path))
    if file.is_file() and Path(private).is_file() and filecmp.cmp(file, private, shallow=False):
        raise UsageError(
            f"{file} holds the private rows: their quantiles would give scores away; "
            "give a public file, or quantiles:16 to find private ones"
        )
    return Grid.quantiles(table_column(file, column), int(cells))


def public_files(text: str | None) -> tuple[Path, ...]:
    """The file that a grid's cells are taken from, if there is one."""
    if text is None or not text.startswith("public:"):
        return ()
    return (Path(":".join(text.removeprefix("public:").split(":")[:-2])),)


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
    from confide.releases.curves_release import CURVES

    if report is None:
        raise UsageError("--reveal draws exact curves on a report and nowhere else; give --report OUT.html with it")
    if not any(name in CURVES for part in prepared for name in part.requested):
        raise UsageError("--reveal draws exact curves; ask for roc, pr, calibration or counts, or leave it out")
