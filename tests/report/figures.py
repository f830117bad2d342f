"""Evaluations of simulated models, and figures of them, for tests of their looks."""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import confide
from confide.evaluation.evaluation import Evaluation
from confide.report import style
from confide.report.evaluation import plots

LONG = "St. Elisabeth University Hospital, department of cardiology"
NAMES = ("logistic", "support vector machine (calibrated on other data)", "random_forest", LONG)


@cache
def simulated(models: int, groups: int = 0, rows: int = 120, prevalence: float = 0.3) -> Evaluation:
    """Evaluate models of falling quality, some with long names, in groups of which the first has a long name."""
    rng = np.random.default_rng(models + 100 * groups)
    labels = rng.random(rows) < prevalence
    signal = rng.standard_normal(rows)
    start = np.log(prevalence / (1.0 - prevalence))
    scores = {
        NAMES[i] if i < len(NAMES) else f"model {i}": 1.0
        / (1.0 + np.exp(-(start + 1.2 * labels * (1 - 0.05 * i) + 0.5 * signal + 0.7 * rng.standard_normal(rows))))
        for i in range(models)
    }
    names = np.array([LONG, *(f"clinic {i}" for i in range(1, max(groups, 1)))])
    divided = names[np.arange(rows) % groups] if groups else None
    return confide.evaluate(labels, scores, groups=divided, replicates=0)


def drawn(evaluation: Evaluation, name: str) -> Figure:
    """Draw one figure as a page does."""
    with style.house_style():
        figure = Figure(figsize=plots.figure_size(evaluation, name), layout=style._layout())
        FigureCanvasAgg(figure)
        ax = figure.subplots()
        ax.set_anchor("N")
        plots.DRAWINGS[name](ax, evaluation)
        figure.draw_without_rendering()
    return figure


def model_lines(ax: Axes, colour: str) -> int:
    """Count the curves of a colour."""
    joined = [line for line in ax.lines if line.get_linestyle() != "None" and np.size(line.get_xdata()) > 2]
    return sum(line.get_color() == colour for line in joined)
