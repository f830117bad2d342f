"""Style of all plots: colours, line styles, matplotlib settings, new figures and SVG.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart. Line styles differ as well.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import LayoutEngine

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1)), "-")
MARKERS = "os^Dv<>"
GREY = "#6b6b6b"
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
    """Return colour and line style of the model at a position."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": STYLES[index % len(STYLES)]}


def marker(index: int) -> str:
    """Return the marker of the model at a position."""
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
        draw(figure.subplots(), data)
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
            draw(ax, data)
            ax.set_anchor("NW")  # square axes begin where the others of their column do
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
