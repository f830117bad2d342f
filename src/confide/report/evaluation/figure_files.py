"""Figures of an evaluation as files for a journal: one file for each figure and format.

Figures are as wide as one column (89 mm) or two (183 mm), with text of 5 to 8 points. SVG has text as outlines, so that
it looks the same where the font is missing. PDF embeds its fonts as TrueType (`pdf.fonttype` 42), which journals can
edit. PNG has 300 dots an inch. The same evaluation gives the same bytes.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.errors import ConfideWarning, ParameterError
from confide.evaluation.evaluation import Evaluation
from confide.files import replacement
from confide.report.evaluation import plots
from confide.report.shared.style import house_style
from confide.tasks.output_files import check_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf", "png")
ONE_COLUMN, TWO_COLUMNS = 89.0, 183.0
"""Widths of figures in millimetres."""

_GLYPH = re.compile("Glyph .* missing from")  # how matplotlib warns
_INCH = 25.4  # millimetres
_WIDE = 6.0  # inches on a page, from which a figure takes two columns
_DOTS = 300  # an inch
_LARGEST_TEXT, _SMALLEST_TEXT, _THICKEST_LINE, _LARGEST_MARK = 8.0, 5.0, 1.2, 3.5  # points

_SETTINGS: Any = {
    "font.size": 7,
    "axes.titlesize": 8,
    "legend.fontsize": 6,
    "axes.linewidth": 0.6,
    "axes.titlepad": 4,
    "axes.labelpad": 2.5,
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.5,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "savefig.dpi": _DOTS,
}

# No clock and no program in a file: the same evaluation gives the same bytes.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def journal_size(evaluation: Evaluation, name: str) -> tuple[float, float]:
    """Return width and height of a figure in millimetres: one column, or two if it is wide on a page."""
    width, height = plots.figure_size(evaluation, name)
    column = ONE_COLUMN if width < _WIDE else TWO_COLUMNS
    return column, column * height / width


def write_figures(
    evaluation: Evaluation,
    folder: str | Path,
    *,
    formats: Sequence[str] = FORMATS,
    source: str | Path | None = None,
) -> tuple[Path, ...]:
    """Write every figure that applies to an evaluation, and return the files.

    The folder is made if it does not exist. Files that an earlier run wrote are replaced, each in one step. `source` is
    the file that was evaluated: a figure never overwrites it.
    """
    folder = Path(folder)
    check_figures(folder, formats=formats, source=source)
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(
        path for name in plots.available(evaluation) for path in _write(name, evaluation, folder / name, formats)
    )


def check_figures(folder: Path, *, formats: Sequence[str] = FORMATS, source: str | Path | None = None) -> None:
    """Refuse formats and folders that `write_figures` cannot write, before anything is computed."""
    unknown = [name for name in formats if name not in FORMATS]
    if unknown or not formats:
        raise ParameterError(f"`formats` must be some of {', '.join(FORMATS)}; got {', '.join(unknown) or 'none'}")
    check_folder(folder, [f"{name}.{kind}" for name in plots.DRAWINGS for kind in formats], source)


def _write(name: str, evaluation: Evaluation, stem: Path, formats: Sequence[str]) -> Iterator[Path]:
    with _journal_style():
        drawn = _drawn(name, evaluation)
        for kind in dict.fromkeys(formats):
            path = stem.with_suffix(f".{kind}")
            with replacement(path) as unfinished, _one_warning_for_missing_letters():
                drawn.savefig(unfinished, format=kind, metadata=_METADATA[kind])
            yield path


@contextmanager
def _journal_style() -> Iterator[None]:
    import matplotlib

    with house_style(), matplotlib.rc_context(_SETTINGS):
        yield


def _drawn(name: str, evaluation: Evaluation) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    width, height = journal_size(evaluation, name)
    drawn = Figure(figsize=(width / _INCH, height / _INCH), layout=ConstrainedLayoutEngine(h_pad=0.03, w_pad=0.03))
    plots.DRAWINGS[name](drawn.subplots(), evaluation)
    _reduce(drawn)
    return drawn


def _reduce(figure: Figure) -> None:
    """Bring text, lines and marks that drawings size for a page to the sizes of a journal."""
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_fontsize(min(max(text.get_fontsize(), _SMALLEST_TEXT), _LARGEST_TEXT))
    for line in figure.findobj(Line2D):
        line.set_linewidth(min(line.get_linewidth(), _THICKEST_LINE))
        line.set_markersize(min(line.get_markersize(), _LARGEST_MARK))


@contextmanager
def _one_warning_for_missing_letters() -> Iterator[None]:
    """Warn once if names have letters that the figures' font lacks; matplotlib warns for every letter."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing = [warning for warning in caught if _GLYPH.match(str(warning.message))]
    for other in (warning for warning in caught if warning not in missing):
        warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    if missing:
        warnings.warn(
            "a name has letters that the font of the figures lacks; they are drawn as boxes. Rename the column or "
            "group in Latin letters for these files",
            ConfideWarning,
            stacklevel=2,
        )
