"""Pictures of the simulated validation studies: differences by bin, areas, and errors as coloured boxes.

Blue is within the limit of 0.01, orange beyond it, darker the further away; every box has its mean error in numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.counts import FloatArray
from confide.report import style
from studies.schalk.errors import Errors
from studies.schalk.plan import CELLS, HALF, PERSON
from studies.schalk.published import AREA, BINS, DELTAS, EDGES, EPSILONS, LIMIT, TABLE_1, written
from studies.schalk.study import Study, Way

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = (0.0025, 0.005, LIMIT, 0.02, 0.05)
SHADES = ("#08519c", "#4292c6", "#b3d4ea", "#fdd0a2", "#f58220", "#9c3a00")
NO_FIT: dict[str, Any] = {"facecolor": "#f2f2f2", "edgecolor": "#8a8a8a", "hatch": "////"}

_GAP, _SIDE = 0.06, 0.88
_OURS, _THEIRS = style.COLOURS[0], style.COLOURS[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Boxes of errors: one row from bottom to top for each of `up`, one column for each of `across`."""

    title: str
    across: tuple[str, ...]
    up: tuple[str, ...]
    across_label: str
    up_label: str
    boxes: tuple[tuple[Errors, ...], ...]
    studies: int

    @property
    def size(self) -> tuple[float, float]:
        """Return the size of the picture."""
        return (5.6, 1.5 + 0.85 * len(self.up))


def noisy_panel(study: Study, sensitivity: float, way: Way, *, interval: bool = False) -> Panel:
    """Return the panel of the paper's mode at a sensitivity, over all epsilons and deltas."""
    errors = study.interval_errors if interval else study.errors
    person = ", another person's score" if sensitivity == PERSON else ""
    return Panel(
        title=f"Noisy scores (not private), sensitivity {sensitivity:g}{person}",
        across=tuple(f"{epsilon:g}" for epsilon in EPSILONS),
        up=tuple(written(delta) for delta in DELTAS),
        across_label="Epsilon, as stated",
        up_label="Delta, as stated",
        boxes=tuple(tuple(errors(way, epsilon, delta, sensitivity) for epsilon in EPSILONS) for delta in DELTAS),
        studies=study.settings.repetitions,
    )


def private_panel(study: Study) -> Panel:
    """Return the panel of our mode over all epsilons, with delta 0."""
    rows = [(cells, share) for cells in reversed(CELLS) for share in (HALF, 1.0)]
    return Panel(
        title="Private mode: every person's row, delta 0",
        across=tuple(f"{epsilon:g}" for epsilon in EPSILONS),
        up=tuple(f"{cells} cells,\n{'all' if share == 1.0 else 'half'}" for cells, share in rows),
        across_label="Epsilon, guaranteed",
        up_label="Cells, and how much of epsilon the sum gets",
        boxes=tuple(tuple(study.private(epsilon, cells, share) for epsilon in EPSILONS) for cells, share in rows),
        studies=study.settings.repetitions,
    )


def shade_of(value: float) -> int:
    """Return the shade of an error.

    >>> shade_of(0.01), shade_of(0.0101)
    (2, 3)
    """
    return int(np.searchsorted(LEVELS, value, side="left"))


def draw_panel(ax: Axes, panel: Panel) -> None:
    """Draw a box for each setting, within it the AUC's bins from 0.5 at the bottom to 1 at the top."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    known, unknown = [], []
    for row, boxes in enumerate(panel.boxes):
        for column, errors in enumerate(boxes):
            fits = 2 * errors.overall.count >= panel.studies
            if fits:
                known += list(_stripes(column + _GAP, row + _GAP, errors))
            else:
                unknown.append(_rectangle(column + _GAP, row + _GAP, _SIDE))
            _number(ax, column, row, f"{errors.overall.value:.3f}" if fits else "no fit")
    for collection in (
        PolyCollection([corners for corners, _ in known], facecolors=[shade for _, shade in known], linewidths=0.0),
        PolyCollection(unknown, linewidths=0.6, **NO_FIT),
    ):
        collection.set_in_layout(False)
        ax.add_collection(collection, autolim=False)
    ax.set_xlim(0, len(panel.across))
    ax.set_ylim(0, len(panel.up))
    ax.set_xticks(np.arange(len(panel.across)) + 0.5, panel.across)
    ax.set_yticks(np.arange(len(panel.up)) + 0.5, panel.up)
    ax.tick_params(length=0)
    ax.set_xlabel(panel.across_label)
    ax.set_ylabel(panel.up_label)
    ax.set_title(panel.title)
    names = (*(f"≤ {level:g}" for level in LEVELS), f"> {LEVELS[-1]:g}")
    handles = [Patch(facecolor=shade, label=name) for shade, name in zip(SHADES, names, strict=True)]
    if unknown:
        handles.append(Patch(label="most have no fit", **NO_FIT))
    below = -0.62 / (0.85 * len(panel.up))
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.45, below), ncols=4, fontsize=8, handlelength=1.2)


def _number(ax: Axes, column: int, row: int, text: str) -> None:
    box = {"boxstyle": "round,pad=0.15", "facecolor": "#ffffff", "edgecolor": "none", "alpha": 0.85}
    drawn = ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=8.5, bbox=box)
    drawn.set_in_layout(False)


def _stripes(left: float, bottom: float, errors: Errors) -> Iterator[tuple[FloatArray, str]]:
    """Return corners and colours; adjacent bins of one shade are one rectangle."""
    height = _SIDE / BINS
    shades = ["#ffffff" if math.isnan(mean.value) else SHADES[shade_of(mean.value)] for mean in errors.bins]
    place = 0
    for shade, run in groupby(shades):
        length = len(list(run))
        yield _rectangle(left, bottom + place * height, length * height), shade
        place += length


def _rectangle(left: float, bottom: float, height: float) -> FloatArray:
    right, top = left + _SIDE, bottom + height
    return np.array([(left, bottom), (right, bottom), (right, top), (left, top)])


def draw_differences(ax: Axes, study: Study) -> None:
    """Draw the empirical AUC less that of the ROC-GLM by bin: medians and quartiles, ours beside the published ones."""
    middles = (EDGES[:-1] + EDGES[1:]) / 2.0
    for rows, shift, colour, mark, name in (
        (TABLE_1, -0.004, _THEIRS, "s", "published"),
        (study.table_1(), 0.004, _OURS, "o", "here"),
    ):
        medians = np.array([row.median for row in rows])
        spread = np.array([[row.median - row.first for row in rows], [row.third - row.median for row in rows]])
        ax.errorbar(
            middles + shift,
            medians,
            yerr=spread,
            fmt=mark,
            color=colour,
            markersize=4.5,
            markerfacecolor="#ffffff" if mark == "s" else colour,
            elinewidth=1.2,
            capsize=2.0,
            label=f"{name}: median and quartiles",
        )
    ax.axhline(0.0, color="#444444", linewidth=0.9)
    for end in (-LIMIT, LIMIT):
        ax.axhline(end, color=style.GREY, linewidth=0.9, linestyle="--")
    ax.set_xlabel("Empirical AUC")
    ax.set_ylabel("Empirical AUC less the ROC-GLM's")
    ax.set_title("Table 1")
    ax.grid(True, axis="y")
    ax.set_axisbelow(True)
    ax.legend(loc="lower left")


def draw_densities(ax: Axes, study: Study) -> None:
    """Draw the distributions of both AUCs over the studies."""
    known = np.isfinite(study.plain.glm)
    for values, colour, stroke, name in (
        (study.plain.auc, _OURS, "-", "empirical AUC"),
        (study.plain.glm[known], _THEIRS, "--", "AUC of the ROC-GLM"),
    ):
        ax.hist(
            values,
            bins=list(np.arange(0.3, 1.0001, 0.02)),
            density=True,
            histtype="step",
            color=colour,
            linestyle=stroke,
            linewidth=1.7,
            label=name,
        )
    ax.set_xlim(0.35, 1.02)
    ax.set_xlabel("AUC")
    ax.set_ylabel("Density")
    ax.set_title("Figure 3, all sizes together")
    ax.grid(True, axis="y")
    ax.set_axisbelow(True)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, -0.32), ncols=2)


def draw_areas(ax: Axes, study: Study) -> None:
    """Draw the distances between the two curves."""
    areas = study.areas()
    ax.hist(areas, bins=list(np.arange(0.0, 0.1201, 0.004)), color="#9db8c9", edgecolor="#ffffff", linewidth=0.6)
    for value, colour, stroke, name in (
        (AREA, _THEIRS, "--", f"published mean {AREA:.3f}"),
        (float(areas.mean()), _OURS, "-", f"mean here {areas.mean():.4f}"),
    ):
        ax.axvline(value, color=colour, linestyle=stroke, linewidth=1.8, label=name)
    ax.set_xlabel("Area between the empirical curve and the ROC-GLM")
    ax.set_ylabel("Simulated studies")
    ax.set_title("Figure 4")
    ax.legend(loc="upper right")


def panels(study: Study, sensitivities: Sequence[float], way: Way, *, interval: bool = False) -> tuple[Panel, ...]:
    """Return a panel for each sensitivity."""
    return tuple(noisy_panel(study, sensitivity, way, interval=interval) for sensitivity in sensitivities)
