"""Plots of an attack: what an outsider believes, and what an insider learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from confide.attacks.exposure import AttackReport
from confide.report.shared.style import COLOURS, GREY, drawn_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_posteriors(ax: Axes, attacked: AttackReport) -> None:
    """Draw each label's probability to an outsider against the rank of its score, for every publication."""
    exposures = [(exposure, exposure.outsider) for exposure in attacked.exposures if exposure.outsider is not None]
    for position, (exposure, outsider) in enumerate(exposures):
        probability = outsider.probability
        look: dict[str, Any] = {"drawstyle": "steps-mid", "linewidth": 1.5, **style(position)}
        if exposure.published.metric == "roc" and not exposure.published.private:
            look = {"color": style(position)["color"], "linestyle": "none", "marker": ".", "markersize": 5}
        ax.plot(np.arange(1, probability.size + 1), probability, label=str(exposure.published), **look)
    for edge in (attacked.level, 1.0 - attacked.level):
        ax.axhline(edge, color=GREY, linewidth=0.8, linestyle=":")
    ax.set_xlim(0.5, attacked.rows + 0.5)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("Row, from the lowest score to the highest")
    ax.set_ylabel("Probability of being positive")
    ax.set_title("What an outsider believes")
    ax.grid(True)
    ax.set_axisbelow(True)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)


def draw_insiders(ax: Axes, attacked: AttackReport) -> None:
    """Draw how often an insider is right about a label, with intervals and bounds."""
    every = attacked.exposures[::-1]
    for position, exposure in enumerate(every):
        game = exposure.insider.game
        noisy = game is not None
        if game is not None:
            ax.plot([game.interval.lower, game.interval.upper], [position] * 2, color=COLOURS[0], linewidth=2.0)
            if game.bound is not None:
                ax.plot([game.bound], [position], "|", color=COLOURS[1], markersize=18, markeredgewidth=2.2)
        ax.plot([exposure.insider.success], [position], "o" if noisy else "s", color=COLOURS[0], markersize=7)
    ax.axvline(0.5, color=GREY, linewidth=1.0, linestyle=":")
    ax.set_yticks(range(len(every)), [str(exposure.published) for exposure in every])
    ax.set_ylim(-0.6, len(every) - 0.4)
    ax.set_xlim(0.4, 1.02)
    ax.set_xlabel("Share of labels guessed correctly (0.5 is guessing)")
    ax.set_title("What an insider learns")
    ax.grid(True, axis="x")
    ax.set_axisbelow(True)


def plot_attack(attacked: AttackReport) -> Figure:
    """Draw both plots side by side."""
    return drawn_figure([(draw_posteriors, attacked), (draw_insiders, attacked)], size=(6.25, 5.2))
