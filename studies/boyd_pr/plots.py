"""Pictures of the study of precision-recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from confide.counts import FloatArray
from confide.curves.pr import minimum_area, minimum_precision, pr_curve
from confide.metrics.precision_recall import pr_path
from confide.report import style
from studies.boyd_pr.claims import shown
from studies.boyd_pr.kernels import ESTIMATORS as RECOMMENDED
from studies.boyd_pr.region import CURVE_PREVALENCES, F_POINTS, RANGES, SAMPLE_PREVALENCE, example_counts, worst_recall
from studies.boyd_pr.running import ALL_ESTIMATORS, AS_PRINTED
from studies.boyd_pr.scenarios import PAPERS, Scenario
from studies.boyd_pr.study import METHODS
from studies.repeatable_noise import generator_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from studies.boyd_pr.study import Study

_FINE: FloatArray = np.linspace(0.0, 1.0, 401)
_METHOD_COLOURS = dict(zip(METHODS, style.COLOURS, strict=False))
_METHOD_MARKERS = dict(zip(METHODS, "o^sD", strict=True))
_LOWEST_SHOWN = 0.75


def _pr_axes(ax: Axes, title: str) -> None:
    ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="Recall", ylabel="Precision", title=title)
    ax.set_aspect("equal")


def _region(ax: Axes, prevalence: float) -> None:
    lowest = minimum_precision(_FINE, prevalence)
    ax.fill_between(_FINE, 0.0, lowest, color="#d9d9d9", linewidth=0, label="unachievable")
    ax.plot(_FINE, lowest, color="black", linewidth=1.2, label="minimum PR curve")


def _legend_below(ax: Axes, columns: int = 2) -> None:
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns)


def draw_sample_curve(ax: Axes, seed: int) -> None:
    """Figure 3.1: a sampled curve, random guessing and the minimum curve."""
    counts = Scenario(name="binormal", prevalence=SAMPLE_PREVALENCE).draw(300, generator_for(seed, "figure 3.1"))
    curve = pr_curve(counts)
    _region(ax, SAMPLE_PREVALENCE)
    ax.plot(curve.recall, curve.precision, **style.style(0), label="sampled PR curve")
    ax.axhline(SAMPLE_PREVALENCE, **style.style(1), label="random guessing")
    _pr_axes(ax, f"A sample with skew {SAMPLE_PREVALENCE:g}")
    _legend_below(ax)


def draw_minimum_curves(ax: Axes, _: None) -> None:
    """Figure 3.2: minimum curves for several skews."""
    for place, prevalence in enumerate(CURVE_PREVALENCES):
        ax.plot(_FINE, minimum_precision(_FINE, prevalence), **style.style(place), label=f"π = {prevalence:g}")
    _pr_axes(ax, "Minimum PR curves")
    _legend_below(ax, 3)


def draw_minimum_areas(ax: Axes, scaled: bool) -> None:
    """Figure 3.3: the minimum area over the skew."""
    skews = np.linspace(0.0, 1.0, 201)
    for place, (low, high) in enumerate(RANGES):
        areas = [minimum_area(float(skew), low, high) / (high - low if scaled else 1.0) for skew in skews]
        ax.plot(skews, areas, **style.style(place), label=f"recall {low:g} to {high:g}")
    ax.set(
        xlim=(0, 1),
        ylim=(0, 1),
        xlabel="Skew π",
        ylabel="Minimum / maximum AUCPR" if scaled else "Minimum AUCPR",
        title="Scaled to the maximum" if scaled else "Minimum AUCPR",
    )
    ax.grid(visible=True)
    ax.legend(loc="upper left")


def draw_f_contours(ax: Axes, _: None) -> None:
    """Figure 3.4: contours of F1 with the unachievable region."""
    recall, precision = np.meshgrid(_FINE[1:], _FINE[1:])
    lines = ax.contour(
        recall,
        precision,
        2 * recall * precision / (recall + precision),
        levels=np.arange(0.1, 1.0, 0.1),
        colors=style.GREY,
        linewidths=0.9,
    )
    ax.clabel(lines, fontsize=8, fmt="%.1f", manual=[(level, level) for level in lines.levels])
    _region(ax, SAMPLE_PREVALENCE)
    worst = worst_recall(SAMPLE_PREVALENCE, F_POINTS)
    points = {"A": (0.25, 1.0), "B": (worst, float(minimum_precision(worst, SAMPLE_PREVALENCE)))}
    for name, (x, y) in points.items():
        ax.plot(x, y, "o", color=style.COLOURS[1], clip_on=False, zorder=5)
        beside = (8, -13 if y == 1.0 else 5)  # inside the axes
        ax.annotate(name, (x, y), xytext=beside, textcoords="offset points", fontweight="bold")
    _pr_axes(ax, "F1 in PR space, skew 0.33")
    _legend_below(ax)


def draw_example_points(ax: Axes, _: None) -> None:
    """Figure 4.1: the points of Table 4.1."""
    counts = example_counts()
    curve = pr_curve(counts)
    _region(ax, counts.prevalence)
    ax.axhline(counts.prevalence, **style.style(1), label="random guessing")
    ax.plot(curve.recall, curve.precision, "o", color=style.COLOURS[0], label="empirical points", clip_on=False)
    _pr_axes(ax, "The points of Table 4.1")
    _legend_below(ax)


def draw_paths(ax: Axes, _: None) -> None:
    """Figure 4.2: how each estimator joins the points."""
    counts = example_counts()
    names = tuple(name for name in ALL_ESTIMATORS if name not in ("binormal", AS_PRINTED))
    panels = style.small_multiples(
        ax, tuple(map(shown, names)), columns=3, title="How estimators join the points", axes=("Recall", "Precision")
    )
    curve = pr_curve(counts)
    for panel, name in zip(panels, names, strict=True):
        path = pr_path(counts, name)
        recall = np.unique(np.concatenate((_FINE[1:], path.start[1:], path.start + 1e-9)))
        recall = recall[(recall > 0.0) & (recall <= 1.0)]
        panel.fill_between(_FINE, 0.0, minimum_precision(_FINE, counts.prevalence), color="#d9d9d9", linewidth=0)
        panel.plot(curve.recall, curve.precision, "o", color=style.GREY, markersize=3)
        panel.plot(recall, path.precision(recall), color=style.COLOURS[0])
        panel.set(xlim=(0, 1), ylim=(0, 1.03))


def draw_density(ax: Axes, name: str) -> None:
    """Figure 4.3: densities of both classes."""
    low, high = {"binormal": (-3.0, 4.0), "bibeta": (0.0, 1.0), "offset uniform": (-0.2, 1.7)}[name]
    scenario, at = Scenario(name=name), np.linspace(low, high, 801)
    ax.plot(at, scenario.negatives.pdf(at), **style.style(0), label="negatives")
    ax.plot(at, scenario.positives.pdf(at), **style.style(1), label="positives")
    ax.set(xlabel="Score", ylabel="Density", title=name.capitalize(), ylim=(0, None))
    _legend_below(ax)


def draw_true_curves(ax: Axes, seed: int) -> None:
    """Figure 4.4: true curves, and curves of samples of 500 rows."""
    panels = style.small_multiples(
        ax, PAPERS, columns=3, title="True PR curves (black) and four samples of 500", axes=("Recall", "Precision")
    )
    for panel, name in zip(panels, PAPERS, strict=True):
        scenario = Scenario(name=name)
        for sample in range(4):
            curve = pr_curve(scenario.draw(500, generator_for(seed, "figure 4.4", name, sample)))
            panel.plot(curve.recall, curve.precision, color=style.COLOURS[sample], linewidth=0.9)
        panel.plot(_FINE[1:], scenario.precision(_FINE[1:]), color="black", linewidth=2.2)
        panel.set(xlim=(0, 1), ylim=(0, 1.02))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ratios:
    """Lines of bias ratios of one scenario, over rows or over skews."""

    title: str
    label: str
    at: tuple[float, ...]
    lines: dict[str, tuple[float, ...]]


def size_ratios(study: Study, name: str) -> Ratios:
    """Return the lines of Figure 4.5."""
    found = [study.at(name, rows) for rows in study.settings.sizes]
    return Ratios(
        title=name.capitalize(),
        label="Rows, n + m",
        at=tuple(map(float, study.settings.sizes)),
        lines={estimator: tuple(1 + each.bias(estimator).value for each in found) for estimator in ALL_ESTIMATORS},
    )


def skew_ratios(study: Study, name: str) -> Ratios:
    """Return the lines of Figure 4.6."""
    found = [study.at_prevalence(name, prevalence) for prevalence in study.settings.prevalences]
    return Ratios(
        title=name.capitalize(),
        label="Prevalence π",
        at=study.settings.prevalences,
        lines={estimator: tuple(1 + each.bias(estimator).value for each in found) for estimator in ALL_ESTIMATORS},
    )


def draw_ratios(ax: Axes, ratios: Ratios) -> None:
    """Draw bias ratios."""
    ax.axhline(1.0, color="black", linewidth=1.6)
    for place, (estimator, values) in enumerate(ratios.lines.items()):
        ax.plot(
            ratios.at, values, **style.style(place), marker=style.marker(place), markersize=4, label=shown(estimator)
        )
    ax.set(xscale="log", xlabel=ratios.label, ylabel="Bias ratio", title=ratios.title)
    ax.set_xticks(ratios.at, [f"{value:g}" for value in ratios.at], minor=False)
    ax.minorticks_off()
    ax.tick_params(axis="x", labelsize=8)
    ax.grid(visible=True, axis="y")
    _legend_below(ax)


def draw_coverage(ax: Axes, study: Study) -> None:
    """Figure 4.7: coverage over rows, a panel for each estimator and scenario."""
    titles = [f"{shown(estimator)}, {name}" for estimator in RECOMMENDED for name in PAPERS]
    panels = style.small_multiples(
        ax, titles, columns=3, title="Coverage of 95 % intervals", axes=("Rows, n + m", "Coverage")
    )
    keys = [(estimator, name) for estimator in RECOMMENDED for name in PAPERS]
    for panel, (estimator, name) in zip(panels, keys, strict=True):
        sizes = study.settings.interval_sizes
        panel.axhline(0.95, color="black", linewidth=1.6)
        for method in METHODS:
            shares = [study.at(name, rows).coverage(method, estimator).value for rows in sizes]
            panel.plot(
                sizes,
                np.maximum(shares, _LOWEST_SHOWN),
                color=_METHOD_COLOURS[method],
                marker=_METHOD_MARKERS[method],
                markersize=5,
                linewidth=1.1,
                label=method,
                clip_on=False,
            )
        panel.set(xscale="log", ylim=(_LOWEST_SHOWN, 1.0))
        panel.set_xticks([200, 1000, 10000], ["200", "1,000", "10,000"])
        panel.minorticks_off()
    panels[0].legend(loc="lower right", fontsize=8)


def draw_widths(ax: Axes, study: Study) -> None:
    """Figure 4.8: width over the ideal against coverage, every setting a point."""
    for method in METHODS:
        points = [
            (found.width(method, estimator).value, max(found.coverage(method, estimator).value, _LOWEST_SHOWN))
            for estimator in RECOMMENDED
            for name in PAPERS
            for rows in study.settings.interval_sizes
            for found in (study.at(name, rows),)
        ]
        widths, shares = zip(*points, strict=True)
        ax.plot(
            widths,
            shares,
            _METHOD_MARKERS[method],
            color=_METHOD_COLOURS[method],
            markersize=6,
            markerfacecolor="none",
            markeredgewidth=1.4,
            label=method,
            clip_on=False,
        )
    ax.axhline(0.95, color="black", linewidth=1.6)
    ax.axvline(1.0, color=style.GREY, linewidth=1.0)
    ax.set(
        ylim=(_LOWEST_SHOWN, 1.0), xlabel="Mean width / ideal width", ylabel="Coverage", title="Width against coverage"
    )
    ax.grid(visible=True)
    _legend_below(ax)


def draw_locations(ax: Axes, study: Study) -> None:
    """Figure 4.9: where intervals lie, for average precision."""
    panels = style.small_multiples(
        ax,
        PAPERS,
        columns=3,
        title="Location of intervals over the true area, average precision",
        axes=("Rows, n + m", "Bias ratio"),
    )
    for panel, name in zip(panels, PAPERS, strict=True):
        sizes = study.settings.interval_sizes
        panel.axhline(1.0, color="black", linewidth=1.6)
        for method in METHODS:
            if method != "logit":
                places = [1 + study.at(name, rows).location(method, "average_precision").value for rows in sizes]
                panel.plot(
                    sizes,
                    places,
                    color=_METHOD_COLOURS[method],
                    marker=_METHOD_MARKERS[method],
                    markersize=5,
                    linewidth=1.1,
                    label="binomial, logit" if method == "binomial" else method,
                )
        panel.set(xscale="log")
        panel.set_xticks([200, 1000, 10000], ["200", "1,000", "10,000"])
        panel.minorticks_off()
    panels[0].legend(loc="upper right", fontsize=8)
