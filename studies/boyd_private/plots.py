"""Pictures of the study, on the papers' scales. A colour, a line style and a marker stand for one thing throughout."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from confide.curves.roc import roc_curve
from confide.privacy.adversary import success_bound
from confide.report import style
from studies.boyd_private.curves import METHODS, PLACES
from studies.boyd_private.data import Population
from studies.boyd_private.errors import SHOWN
from studies.boyd_private.histograms import BINS
from studies.boyd_private.histograms import SHOWN as IN_HISTOGRAMS
from studies.boyd_private.mechanisms import MECHANISMS, OURS, TRUE_PRICE
from studies.boyd_private.published import BETAS, SENSITIVITY_ROWS, SIZES
from studies.boyd_private.reidentification import PUBLICATIONS, Neighbours
from studies.boyd_private.sensitivity import exact_sensitivities, printed_sensitivities, smooth_sensitivities
from studies.boyd_private.study import Study
from studies.boyd_private.tables import NAMES, SHORT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OURS, _THEIRS = style.COLOURS[0], style.COLOURS[1]
_TINT = "#eef5fb"  # behind panels of confide's mechanisms
_MECHANISM: dict[str, dict[str, Any]] = {
    SHOWN[0].key: {"color": style.COLOURS[1], "linestyle": "-", "marker": "s"},
    SHOWN[1].key: {"color": style.COLOURS[4], "linestyle": "--", "marker": "D"},
    SHOWN[2].key: {"color": style.COLOURS[2], "linestyle": "-.", "marker": "^"},
    SHOWN[3].key: {"color": style.COLOURS[0], "linestyle": "-", "marker": "o"},
}


def _panels(ax: Axes, rows: int, columns: int, **options: Any) -> list[list[Axes]]:
    """Replace axes by a grid of them."""
    figure = cast("Figure", ax.figure)
    ax.remove()
    found: list[list[Axes]] = figure.subplots(rows, columns, squeeze=False, **options).tolist()
    return found


def draw_neighbours(ax: Axes, pair: Neighbours) -> None:
    """Draw Figure 1: the ROC curves of two neighbours."""
    for counts, name, auc, look in zip(
        (pair.first, pair.second), ("D", "D′"), pair.aucs, (style.style(0), style.style(1)), strict=True
    ):
        roc = roc_curve(counts)
        ax.plot(roc.false_positive_rate, roc.true_positive_rate, label=f"{name}, AUC {auc:.3f}", linewidth=1.8, **look)
    _unit_square(ax)
    ax.set_xlabel("False-positive rate")
    ax.set_ylabel("True-positive rate")
    ax.legend(loc="lower right")


def draw_attack(ax: Axes, study: Study) -> None:
    """Draw Figure 2: success over the number of rows, a line for each number of digits."""
    rows = study.settings.attacked
    found = {name: [study.attack(each)[name] for each in rows] for name in PUBLICATIONS}
    for place, (name, means) in enumerate(found.items()):
        last = place == len(PUBLICATIONS) - 1
        look = {"color": style.GREY, "linestyle": "-"} if last else style.style(place)
        values = np.array([mean.value for mean in means])
        ax.plot(rows, values, label=name, marker=style.marker(place), markersize=3.5, linewidth=1.5, **look)
        if last:
            reach = 2.0 * np.array([mean.standard_error for mean in means])
            ax.fill_between(rows, values - reach, values + reach, color=style.GREY, alpha=0.2, linewidth=0.0)
    ax.axhline(0.5, color="#000000", linewidth=1.0)
    ax.axhline(success_bound(1.0), color=style.GREY, linewidth=1.0, linestyle=(0, (6, 3)))
    ax.annotate("bound at epsilon 1", (0.3 * max(rows), success_bound(1.0)), va="bottom", fontsize=9)
    ax.set_xlim(0, max(rows) * 1.02)
    ax.set_ylim(0.0, 1.02)
    _tidy(ax)
    ax.set_xlabel("Rows, half of them positive")
    ax.set_ylabel("Missing row's class guessed right")
    ax.legend(loc="lower right", ncols=2, title="AUC given to")


def draw_sensitivity(ax: Axes, metric: str) -> None:
    """Draw Figure 3 for AUC; for average precision the printed bound beside the exact sensitivity."""
    prevalence = np.arange(SENSITIVITY_ROWS + 1) / SENSITIVITY_ROWS
    printed, exact = printed_sensitivities(metric, SENSITIVITY_ROWS), exact_sensitivities(metric, SENSITIVITY_ROWS)
    for place, beta in enumerate((*BETAS, np.inf)):
        name = "∞, local" if np.isinf(beta) else f"{beta:g}"
        values = smooth_sensitivities(printed, beta)
        ax.plot(prevalence, values, label=f"β = {name}", linewidth=1.8, **style.style(place))
        if metric != "auc" and beta >= BETAS[2]:
            ours = smooth_sensitivities(exact, beta)
            ax.plot(prevalence, ours, color=style.COLOURS[place], linewidth=1.0, linestyle="-", alpha=0.9)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, 1.02)
    _tidy(ax)
    ax.set_xlabel(f"Prevalence, {SENSITIVITY_ROWS:,} rows")
    ax.set_ylabel(f"Smooth sensitivity of {NAMES[metric]}")
    ax.legend(loc="upper center" if metric == "auc" else "upper right")


def draw_database_sizes(ax: Axes, sizes: Sequence[int]) -> None:
    """Draw Figure 5.3: smooth sensitivity over the number of positives, a panel for each database size."""
    axes = _panels(ax, len(sizes), 1, sharey=True)
    for (panel,), rows in zip(axes, sizes, strict=True):
        local = printed_sensitivities("auc", rows)
        for place, beta in enumerate((*BETAS, np.inf)):
            name = "none" if np.isinf(beta) else f"{beta:g}"
            values = smooth_sensitivities(local, beta)
            panel.plot(np.arange(rows + 1), values, label=f"β {name}", linewidth=1.6, **style.style(place))
        panel.set_title(f"{rows:,} rows")
        panel.set_xlim(0, rows)
        panel.set_ylim(0.0, 1.05)
        _tidy(panel)
    axes[-1][0].set_xlabel("Positives")
    axes[len(sizes) // 2][0].set_ylabel("Smooth sensitivity of AUC")
    handles, labels = axes[0][0].get_legend_handles_labels()
    panel.figure.legend(handles, labels, loc="outside lower center", ncols=5, columnspacing=1.0, handlelength=1.8)


def draw_histograms(ax: Axes, data: tuple[Study, Population, Sequence[int], Sequence[str]]) -> None:
    """Draw Figures 4 and 5.6: the private values of one test set, the papers' filled and ours as a line."""
    study, population, sizes, metrics = data
    across = len(metrics) > 1
    axes = _panels(ax, *((len(metrics), len(sizes)) if across else (len(sizes), 1)), sharex=True)
    edges = np.linspace(0.0, 1.0, BINS + 1)
    for row, metric in enumerate(metrics):
        for column, size in enumerate(sizes):
            panel = axes[row][column] if across else axes[column][0]
            theirs, ours = (study.histogram(population, size, metric, each.key) for each in IN_HISTOGRAMS)
            panel.stairs(theirs.shares, edges, fill=True, color="#f3b98b", edgecolor=_THEIRS, label="paper, δ = 0.01")
            panel.stairs(ours.shares, edges, color=_OURS, linewidth=1.3, label="confide, δ = 0")
            panel.axvline(theirs.exact, color="#000000", linewidth=1.2, linestyle=(0, (3, 2)), label="exact")
            panel.set_title(f"{SHORT[metric]}, n = m = {size:,}", fontsize=10)
            panel.set_xlim(-0.01, 1.01)
            panel.set_ylim(0.0, min(1.0, 1.15 * max(theirs.shares.max(), min(ours.shares.max(), 0.5))))
            panel.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    for panel in axes[-1]:
        panel.set_xlabel("Private value")
    handles, labels = axes[0][0].get_legend_handles_labels()
    panel.figure.legend(handles, labels, loc="outside lower center", ncols=3)


def draw_errors(ax: Axes, data: tuple[Study, Population, str, bool]) -> None:
    """Draw Figure 5, 5.4 or 5.5 for one population: a panel for each mechanism, a line for each size."""
    from matplotlib.lines import Line2D

    study, population, metric, root = data
    epsilons = study.settings.epsilons
    axes = _panels(ax, 3, 2, sharex=True, sharey=True)
    held = {size: study.errors(population, size) for size in SIZES}
    for panel, mechanism in zip((each for row in axes for each in row), MECHANISMS, strict=True):
        for place, size in enumerate(SIZES):
            of = held[size].root_mean_square if root else held[size].mean_absolute
            values = [of(metric, mechanism.key, epsilon).value for epsilon in epsilons]
            look: dict[str, Any] = {"color": style.COLOURS[place], "marker": style.marker(place)}
            panel.plot([float(each) for each in epsilons], values, markersize=3.0, linewidth=1.4, **look)
            if not root:
                estimation = held[size].estimation_error(metric).value
                panel.axhline(estimation, color=style.COLOURS[place], linewidth=0.9, linestyle=(0, (4, 3)))
        panel.set_title(_panel_title(mechanism.key, mechanism.name), fontsize=9.5)
        if mechanism is OURS:
            panel.set_facecolor(_TINT)
        panel.set_xlim(0.0, 1.03)
        panel.set_xticks([0.0, 0.5, 1.0])
        if not root:
            panel.set_yscale("log")
            panel.set_ylim(0.001, 1.0)
            panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        else:
            panel.set_ylim(0.0, 0.72)
        _tidy(panel)
    for panel in axes[-1]:
        panel.set_xlabel("epsilon")
    axes[1][0].set_ylabel(f"{'RMSE' if root else 'Mean absolute error'} of {NAMES[metric]}")
    handles = [
        Line2D([], [], color=style.COLOURS[k], marker=style.marker(k), markersize=4, label=f"n = m = {size:,}")
        for k, size in enumerate(SIZES)
    ]
    if not root:
        handles.append(Line2D([], [], color=style.GREY, linestyle=(0, (4, 3)), label="estimation error"))
    panel.figure.legend(handles=handles, loc="outside lower center", ncols=3)


def _panel_title(key: str, name: str) -> str:
    return "Cauchy, true price, δ = 0" if key == TRUE_PRICE.key else name


def draw_prevalence(ax: Axes, data: tuple[Study, str, Fraction, Sequence[int]]) -> None:
    """Draw errors over prevalence, a panel for each number of rows."""
    study, metric, epsilon, every = data
    axes = _panels(ax, len(every), 1, sharex=True, sharey=True)
    for (panel,), rows in zip(axes, every, strict=True):
        held = study.prevalence(rows, epsilon)
        prevalence = np.array(held.positives) / rows
        for mechanism in SHOWN:
            values = [mean.value for mean in held.of(metric, mechanism.key)]
            panel.plot(
                prevalence, values, label=mechanism.name, markersize=3.0, linewidth=1.4, **_MECHANISM[mechanism.key]
            )
        panel.set_yscale("log")
        panel.set_ylim(1e-4, 1.0)
        panel.set_xlim(0.0, 1.0)
        panel.set_title(f"{rows:,} rows, epsilon {float(epsilon):g}", fontsize=10)
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        _tidy(panel)
    axes[-1][0].set_xlabel("Prevalence")
    axes[len(every) // 2][0].set_ylabel(f"Mean absolute error of {NAMES[metric]}")
    handles, labels = axes[0][0].get_legend_handles_labels()
    panel.figure.legend(handles, labels, loc="outside lower center", ncols=1)


def draw_curves(ax: Axes, data: tuple[Study, str]) -> None:
    """Draw Figure 6 for one method: the exact curve, and quantiles of the private ones, a panel for each population."""
    study, method = data
    axes = _panels(ax, 2, 2, sharex=True, sharey=True)
    for panel, population in zip((each for row in axes for each in row), study.curve_populations, strict=True):
        lower, middle, upper = study.curve(population, method).quantiles
        true = study.found[f"curves {population.key}"]["true"]
        colour = _THEIRS if method in ("published", "stoddard") else _OURS
        panel.fill_between(PLACES, lower, upper, color=colour, alpha=0.25, linewidth=0.0, label="2.5 % to 97.5 %")
        panel.plot(PLACES, middle, color=colour, linewidth=1.6, linestyle="--", label="median")
        panel.plot(*true, color="#000000", linewidth=1.1, label="exact")
        panel.set_title(population.name, fontsize=10)
        _unit_square(panel)
    for panel in axes[-1]:
        panel.set_xlabel("False-positive rate")
    for row in axes:
        row[0].set_ylabel("True-positive rate")
    panel.figure.suptitle(METHODS[method], fontsize=11, fontweight="bold", x=0.02, ha="left")
    handles, labels = axes[0][0].get_legend_handles_labels()
    panel.figure.legend(handles, labels, loc="outside lower center", ncols=3)


def _unit_square(ax: Axes) -> None:
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    ax.set_xticks([0.0, 0.5, 1.0])
    ax.set_yticks([0.0, 0.5, 1.0])
    ax.set_aspect("equal")
    _tidy(ax)


def _tidy(ax: Axes) -> None:
    ax.grid(True)
    ax.set_axisbelow(True)
