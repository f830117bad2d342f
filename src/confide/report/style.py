"""Style of all plots: colours, line styles, matplotlib settings, new figures, small multiples and SVG.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart. Line styles and markers differ as well.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from confide.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import LayoutEngine


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1)), (0, (8, 2, 1, 2, 1, 2)))
MARKERS = "os^Dv<>PXphd"
GREY, LIGHT_GREY = "#6b6b6b", "#b5b5b5"
_MARGIN = 0.09  # inches

_SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": "#222222",
    "axes.edgecolor": "#444444",
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar sign in a column's name is a dollar sign
    "svg.hashsalt": "confide",
}

Drawing = Callable[["Axes", Any], None]


def style(index: int) -> dict[str, Any]:
    """Return colour and line style of the model at a position: 49 combinations, in which neighbours differ in both."""
    colours = len(COLOURS)
    return {"color": COLOURS[index % colours], "linestyle": STYLES[(index + index // colours) % len(STYLES)]}


def marker(index: int) -> str:
    """Return the marker of the model at a position: twelve markers."""
    return MARKERS[index % len(MARKERS)]


@contextmanager
def house_style() -> Iterator[None]:
    """Draw with the package's settings and restore the user's afterwards. Create figures before entering."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def as_svg(draw: Drawing, data: Any, *, size: tuple[float, float] = (5.4, 5.0)) -> str:
    """Draw one panel as SVG with real text."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=size, layout=_layout())
        ax = figure.subplots()
        ax.set_anchor("N")  # spare room lies below the legend
        draw(ax, data)
        buffer = io.StringIO()
        with warnings.catch_warnings():
            # Text stays text in SVG: the reader's fonts must have the letters, not ours.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    return svg[svg.index("<svg") :]


def drawn_figure(
    panels: Sequence[tuple[Drawing, Any]], *, size: tuple[float, float], columns: int | None = None
) -> Figure:
    """Draw panels of the given size side by side, in so many columns, and return the figure."""
    across = columns or len(panels)
    down = -(-len(panels) // across)
    figure = new_figure((across * size[0], down * size[1]))
    with house_style():
        axes = list(figure.subplots(down, across, squeeze=False).flat)
        for ax, (draw, data) in zip(axes, panels, strict=False):
            ax.set_anchor("NW")  # square axes begin where the others of their column do
            draw(ax, data)
        for ax in axes[len(panels) :]:
            ax.set_axis_off()
    return figure


def new_figure(size: tuple[float, float]) -> Figure:
    """Return an empty figure for a method that returns it.

    pyplot knows the figure only if the backend opens windows, so that `plt.show()` shows it there. A notebook shows the
    figure because it is returned, and would show it twice if pyplot knew it too.

    Call this outside `house_style`: the first use of pyplot may load a backend that changes matplotlib's settings, and
    these changes must last.
    """
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    plt.draw_if_interactive()  # type: ignore[no-untyped-call]  # loads the backend, so that notebooks display figures
    make = plt.figure if plt.get_backend().lower() in _window_backends() else Figure
    return make(figsize=size, layout=_layout())


def small_multiples(ax: Axes, titles: Sequence[str], *, columns: int, title: str, axes: tuple[str, str]) -> list[Axes]:
    """Replace axes by a grid of small ones that share their scales, one for each title. `axes` names x and y."""
    holder, place = ax.get_figure(root=False), ax.get_subplotspec()
    if holder is None or place is None:
        raise UsageError("small multiples need axes from `figure.subplots`")
    ax.remove()
    part = holder.add_subfigure(place)
    part.suptitle(title, x=0.012, ha="left", fontsize=_SETTINGS["axes.titlesize"], fontweight="bold")
    part.supylabel(axes[1], fontsize=_SETTINGS["font.size"])
    down = -(-len(titles) // columns)
    every = list(part.subplots(down, columns, sharex=True, sharey=True, squeeze=False).flat)
    for position, (small, words) in enumerate(zip(every, titles, strict=False)):
        small.set_title(words, fontsize=9, fontweight="normal")
        if position + columns >= len(titles):  # nothing below it
            small.tick_params(labelbottom=True)
            small.set_xlabel(axes[0], fontsize=9)
    for small in every[len(titles) :]:
        small.remove()
    return every[: len(titles)]


def _layout() -> LayoutEngine:
    """Return a layout that makes room for legends below axes, and leaves a margin around titles."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return ConstrainedLayoutEngine(h_pad=_MARGIN, w_pad=_MARGIN)


def _window_backends() -> set[str]:
    from matplotlib.backends.registry import BackendFilter, backend_registry

    names = backend_registry.list_builtin(BackendFilter.INTERACTIVE)  # type: ignore[no-untyped-call]
    return {name.lower() for name in names} - {"nbagg", "notebook", "webagg"}


def shortened(name: str, most: int = 32) -> str:
    """Cut a long name so that it leaves room for the plot."""
    return name if len(name) <= most else f"{name[: most - 1]}…"
