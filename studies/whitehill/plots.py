"""Pictures of the study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.privacy.adversary import success_bound
from confide.report import style
from studies.whitehill.counting import LINES
from studies.whitehill.plan import EPSILONS
from studies.whitehill.published import GROWTH
from studies.whitehill.running import masked_name
from studies.whitehill.study import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from studies.whitehill.study import Study


def draw_growth(ax: Axes, study: Study) -> None:
    """The table on growth: published and counted, and 108 rows beside them."""
    rows = list(GROWTH)
    ax.plot(rows, study.found["counts"]["growth"], color=style.COLOURS[0], marker="o", label="counted here")
    ax.plot(
        rows, list(GROWTH.values()), "x", color=style.COLOURS[1], markersize=9, markeredgewidth=1.8, label="published"
    )
    ax.set(xlabel="Rows", ylabel="Labelings", title="AUC 1387/1440", ylim=(400_000, 700_000))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.grid(visible=True, axis="y")
    ax.legend(loc="lower left")


def draw_many(ax: Axes, study: Study) -> None:
    """Number of labelings over the rows, for several AUCs."""
    found = study.found["growth"]
    for place, auc in enumerate(LINES):
        known = np.isfinite(found[auc])
        ax.plot(
            found["rows"][known],
            found[auc][known],
            style.marker(place),
            color=style.COLOURS[place],
            markersize=4,
            label=f"AUC {auc}",
        )
    ax.plot(found["rows"], found["rows"] * np.log10(2.0), color="black", linewidth=1.2, label="all labelings")
    ax.set(xlabel="Rows", ylabel="Labelings, power of ten", title="Labelings that fit an AUC")
    ax.grid(visible=True)
    ax.legend(loc="upper left")


def draw_contest(ax: Axes, study: Study) -> None:
    """Labels that are read from a contest."""
    names = METHODS[::-1]
    for place, method in enumerate(names):
        colour = style.COLOURS[0] if method.startswith("masked") else style.COLOURS[1]
        ax.barh(place, study.right(method).value - 0.5, left=0.5, color=colour, height=0.7)
        ax.annotate(
            f"{study.right(method).value:.3f}, {study.queries(method).value:,.0f} submissions",
            (0.505, place),
            va="center",
            color="white",
            fontsize=8,
        )
    for epsilon in EPSILONS:
        place = names.index(masked_name(epsilon))
        ax.plot([success_bound(epsilon)] * 2, [place - 0.45, place + 0.45], color="black", linewidth=2.2)
    ax.set_yticks(range(len(names)), names)
    ax.set(xlim=(0.5, 1.0), xlabel="Share of labels right (0.5 is guessing)", title="172 rows: what answers reveal")


def draw_boards(ax: Axes, study: Study) -> None:
    """Order on the board."""
    names = ("exact labels", *map(masked_name, EPSILONS))
    for place, name in enumerate(names):
        taus = [study.tau(rows, place) for rows in study.settings.board_rows]
        ax.errorbar(
            study.settings.board_rows,
            [tau.value for tau in taus],
            yerr=[2 * tau.standard_error for tau in taus],
            **style.style(place),
            marker=style.marker(place),
            capsize=3,
            label=name,
        )
    ax.set(xscale="log", ylim=(0, 1), xlabel="Rows", ylabel="Kendall's tau", title="Order on the board")
    ax.set_xticks(study.settings.board_rows, [f"{rows:,}" for rows in study.settings.board_rows])
    ax.minorticks_off()
    ax.grid(visible=True, axis="y")
    ax.legend(loc="lower right")
