"""Plot of a linear model: the weights of its most important features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from confide.learning.workflow import Workflow
from confide.report.model.tables import MOST_SHOWN, NO_WORDS
from confide.report.shared.style import COLOURS, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_weights(ax: Axes, workflow: Workflow, words: Mapping[str, str] = NO_WORDS) -> None:
    """Draw bars for the most important features, to the right if they speak for the positive class."""
    strongest = list(workflow.weights().items())[:MOST_SHOWN][::-1]
    values = np.array([weight for _, weight in strongest])
    for_it, against = COLOURS[1], COLOURS[0]
    ax.barh(range(len(strongest)), values, color=[for_it if value > 0 else against for value in values], height=0.7)
    ax.set_yticks(range(len(strongest)), [words.get(name, name) for name, _ in strongest])
    ax.axvline(0.0, color=GREY, linewidth=1.0)
    ax.set_ylim(-0.6, len(strongest) - 0.4)
    ax.set_xlabel("Log-odds added (right: speaks for the positive class)")
    ax.grid(True, axis="x")
    ax.set_axisbelow(True)
