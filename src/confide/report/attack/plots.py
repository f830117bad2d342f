"""The pictures of what publications give away: what an outsider believes, and what an insider learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from confide.attacks.exposure import AttackReport
from confide.report.shared import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_posteriors(ax: Axes, attacked: AttackReport) -> None:
    """Each label's probability to an outsider, by rank of its score, for every publication."""
    shown = [exposure for exposure in attacked.exposures if exposure.outsider is not None]
    for position, exposure in enumerate(shown):
        if exposure.outsider is None:
            continue
        probability = exposure.outsider.probability
        look: dict[str, Any] = {"drawstyle": "steps-mid", "linewidth": 1.5, **plots.style(position)}
        if exposure.published.metric == "roc" and not exposure.published.private:
            look = {"color": plots.style(position)["color"], "linestyle": "none", "marker": ".", "markersize": 5}
        ax.plot(np.arange(1, probability.size + 1), probability, label=str(exposure.published), **look)
    for edge in (attacked.level, 1.0 - attacked.level):
        ax.axhline(edge, color=plots.GREY, linewidth=0.8, linestyle=":")
    ax.set_xlim(0.5, attacked.rows + 0.5)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("Row, from the lowest score to the highest")
    ax.set_ylabel("Probability of being positive")
    ax.set_title("What an outsider believes")
    ax.grid(True)
    ax.set_axisbelow(True)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)


def draw_insiders(ax: Axes, attacked: AttackReport) -> None:
    """How often somebody who knows all else is right about a label, with intervals and bounds."""
    every = attacked.exposures[::-1]
    for position, exposure in enumerate(every):
        game = exposure.insider.game
        noisy = game is not None
        if game is not None:
            ax.plot([game.interval.lower, game.interval.upper], [position] * 2, color=plots.COLOURS[0], linewidth=2.0)
            if game.bound is not None:
                ax.plot([game.bound], [position], "|", color=plots.COLOURS[1], markersize=18, markeredgewidth=2.2)
        ax.plot([exposure.insider.success], [position], "o" if noisy else "s", color=plots.COLOURS[0], markersize=7)
    ax.axvline(0.5, color=plots.GREY, linewidth=1.0, linestyle=":")
    ax.set_yticks(range(len(every)), [str(exposure.published) for exposure in every])
    ax.set_ylim(-0.6, len(every) - 0.4)
    ax.set_xlim(0.4, 1.02)
    ax.set_xlabel("Labels guessed right (0.5 is guessing)")
    ax.set_title("What somebody learns who knows all else")
    ax.grid(True, axis="x")
    ax.set_axisbelow(True)


def both(attacked: AttackReport) -> Figure:
    """Both pictures side by side."""
    import matplotlib.pyplot as plt

    with plots.house_style():
        fig, axes = plt.subplots(1, 2, figsize=(12.5, 5.2), layout="constrained")
        draw_posteriors(axes[0], attacked)
        draw_insiders(axes[1], attacked)
    return fig
