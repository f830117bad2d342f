"""The curves of a validation across sites: all rows together, and each site's own where they are seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.federation.question import PRIVATE
from confide.intervals.interval import Estimate
from confide.report.release.curves import pr_joined
from confide.report.shared import plots
from confide.report.shared.plots import COLOURS, GREY, Drawing
from confide.report.shared.tables import number, span
from confide.report.validation.names import distinct, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from confide.federation.coordinator.calibration_points import CalibrationPoints
    from confide.federation.coordinator.performance import Pooled
    from confide.federation.coordinator.validation import SiteResult, Validation
    from confide.intervals.bands import Band


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Shown:
    """A validation to draw, with the bands of its curves, which take a while to work out."""

    validation: Validation
    bands: Mapping[str, Band]

    @classmethod
    def of(cls, validation: Validation) -> Shown:
        """Work out the bands: those of the population's curves as a whole in the private mode, else none."""
        return cls(validation=validation, bands=_private_bands(validation))

    @property
    def pooled(self) -> Pooled:
        """The results of all rows together."""
        return self.validation.pooled


MOST_NAMED = 10
"""Of more sites, lines in one picture cannot be told apart: all are grey then."""

_POOLED = COLOURS[0]
_SITE_COLOURS = (COLOURS[1], COLOURS[2], COLOURS[3], COLOURS[4], COLOURS[5])
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (1, 1)), (0, (3, 1, 1, 1, 1, 1)))
_BAND = "#d3e5f1"
_LEGEND_LETTERS = 26
_AXES_INCHES, _LINE_INCHES = 5.36, 0.19
_MOST_POINTS = 2_000
_FEW_POINTS = 300  # so many points of a PR curve are joined as they are in ROC space
_PANEL_INCHES, _PANELS_ACROSS = 1.95, 5
_WIDEST = 0.95  # bins whose interval is wider say nothing, and are not drawn

WORDS = {
    "roc": "Each threshold's true-positive rate against its false-positive rate. The further up and left, the better; "
    "the dotted diagonal is guessing.",
    "pr": "Each threshold's precision against its recall, all rows together. The hatched region cannot be reached by "
    "any model at this prevalence; the dotted line is guessing.",
    "calibration": "How often what was given a risk happened, all rows together, in bins with {level} intervals. On "
    "the diagonal risks can be taken at their word; below it they are too high.",
    "decision": "What acting on the score is worth at each threshold probability, in true positives per row after "
    "paying for false ones, all rows together. A model is useful where its line is above treating all and none.",
}


def drawings(validation: Validation) -> dict[str, Drawing]:
    """The pictures of all rows together for which there is something to draw, by name."""
    pooled = validation.pooled
    found: dict[str, Drawing] = {}
    if pooled.roc is not None or pooled.roc_glm is not None:
        found["roc"] = draw_roc
    for name, draw in (("pr", draw_pr), ("calibration", draw_calibration), ("decision", draw_decision)):
        if getattr(pooled, name) is not None:
            found[name] = draw
    return found


def picture_size(validation: Validation, name: str) -> tuple[float, float]:
    """Inches of a picture: axes of the same size, and room for the legend below."""
    return 5.4, _AXES_INCHES + _LINE_INCHES * _legend_lines(validation, name)


def _legend_lines(validation: Validation, name: str) -> int:
    band = int(validation.question.mode == PRIVATE and name in ("roc", "pr"))
    if name != "roc":
        return band + (3 if name == "decision" else 2)
    sites, pooled = len(with_results(validation)), validation.pooled
    named = sites if sites <= MOST_NAMED else 1
    return band + named + 1 + (pooled.roc is not None) + (pooled.roc_glm is not None)


def captions(validation: Validation) -> dict[str, str]:
    """What each picture shows."""
    level = f"{100 * validation.level:g} %"
    said = {name: words.format(level=level) for name, words in WORDS.items()}
    if with_results(validation):
        said["roc"] += " Thick: all rows together; thin: each site by itself."
    if validation.pooled.roc_glm is not None:
        said["roc"] += " Dashed: the binormal curve fitted to all rows (ROC-GLM)."
    if validation.question.mode == PRIVATE:
        band = f" Shaded: where the population's curve lies as a whole, noise and sampling allowed for ({level})."
        said["roc"] += band
        said["pr"] += band
    said["calibration"] += not_drawn_words([validation.pooled])
    return said


def not_drawn_words(results: Iterable[Pooled]) -> str:
    """That bins were left out of pictures of calibration, where some were."""
    every = (result.calibration for result in results)
    hidden = any(points is not None and not _says_something(points).all() for points in every)
    return f" Bins whose interval is wider than {_WIDEST:g} are not drawn." if hidden else ""


def _says_something(points: CalibrationPoints) -> NDArray[np.bool_]:
    """Which bins are drawn: those whose interval, if there is one, leaves something out."""
    return ~(points.upper - points.lower > _WIDEST)


def picture(validation: Validation) -> Figure:
    """Draw all curves in one figure."""
    import matplotlib.pyplot as plt

    chosen, shown = drawings(validation), Shown.of(validation)
    rows = math.ceil(len(chosen) / 2)
    height = max(picture_size(validation, name)[1] for name in chosen)
    with plots.house_style():
        figure, axes = plt.subplots(rows, 2, figsize=(10.8, rows * height), layout="constrained", squeeze=False)
        for ax, draw in zip(axes.flat, chosen.values(), strict=False):
            draw(ax, shown)
        for ax in list(axes.flat)[len(chosen) :]:
            ax.set_axis_off()
    return figure


def with_results(validation: Validation) -> list[SiteResult]:
    """The sites whose own results are seen beside those of others; one alone is all there is."""
    seen = [site for site in validation.sites if site.result is not None]
    return seen if len(seen) > 1 else []


def draw_roc(ax: Axes, shown: Shown) -> None:
    """All rows together with a band where there is one, the fitted curve, and each site's own."""
    pooled = shown.pooled
    _band(ax, shown, "roc")
    if pooled.roc is not None:
        curve = plots.thinned(pooled.roc, _MOST_POINTS)
        ax.plot(
            curve.false_positive_rate, curve.true_positive_rate, color=_POOLED, linewidth=2.4, zorder=4,
            label=f"all rows: AUC {_short(pooled.auc)}",
        )  # fmt: skip
    if pooled.roc_glm is not None:
        at = np.linspace(0.0, 1.0, 201)
        ax.plot(
            at, pooled.roc_glm.roc(at), color="#000000", linewidth=1.2, linestyle=(0, (4, 2)), zorder=5,
            label=f"ROC-GLM, all rows: AUC {number(pooled.roc_glm.auc)}",
        )  # fmt: skip
    for curve, look in _site_curves(shown.validation):
        ax.plot(curve.false_positive_rate, curve.true_positive_rate, zorder=3, **look)
    plots.finish_roc(ax)
    _legend_below(ax)
    ax.set_title("ROC")


def _site_curves(validation: Validation) -> Iterator[tuple[Any, dict[str, Any]]]:
    sites = [site for site in with_results(validation) if site.result is not None and site.result.roc is not None]
    names = distinct([site.name for site in sites], _LEGEND_LETTERS)
    for place, (site, name) in enumerate(zip(sites, names, strict=True)):
        assert site.result is not None  # noqa: S101  # chosen above
        if len(sites) > MOST_NAMED:
            label = f"each of {len(sites)} sites" if place == 0 else None
            look: dict[str, Any] = {"color": "#8a8a8a", "linewidth": 0.8, "alpha": 0.8, "label": label}
        else:
            look = {**site_style(place), "linewidth": 1.2, "label": f"{name}: {_short(site.result.auc)}"}
        yield plots.thinned(site.result.roc, _MOST_POINTS), look


def site_style(place: int) -> dict[str, Any]:
    """Colour and dashes of a site: 25 different ones, neighbours unlike in both."""
    colours, dashes = len(_SITE_COLOURS), len(_DASHES)
    return {
        "color": _SITE_COLOURS[place % colours],
        "linestyle": _DASHES[(place + place // colours) % dashes],
    }


def draw_pr(ax: Axes, shown: Shown) -> None:
    """All rows together, over the region that no model can reach."""
    curve = shown.pooled.pr
    assert curve is not None  # noqa: S101  # drawn only where there is one
    _band(ax, shown, "pr")
    label = f"all rows: average precision {_short(shown.pooled.average_precision)}"
    ax.plot(*_joined(curve.recall, curve.precision), color=_POOLED, linewidth=2.0, label=label)
    plots.finish_pr(ax, curve.prevalence)
    _legend_below(ax)
    ax.set_title("Precision–recall")


def _joined(recall: FloatArray, precision: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The curve from recall 0 on; many points are near enough to each other for straight lines."""
    if recall[0] > 0.0:
        recall, precision = np.append(0.0, recall), np.append(precision[:1], precision)
    if recall.size <= _FEW_POINTS:
        return pr_joined(recall, precision)
    keep = np.unique(np.linspace(0, recall.size - 1, _MOST_POINTS).round().astype(np.int64))
    return recall[keep], precision[keep]


def draw_calibration(ax: Axes, shown: Shown) -> None:
    """Observed shares of all rows together in bins, with their intervals."""
    points = shown.pooled.calibration
    assert points is not None  # noqa: S101  # drawn only where there is one
    end = _calibration_end([points])
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle=":", label="perfect")
    _bins(ax, points, _POOLED, size=6.0, label=f"all rows: {_calibration_label(shown.pooled)}")
    _finish_calibration(ax, end)
    ax.set_xlabel("Score (predicted risk)")
    ax.set_ylabel("Observed share of positives")
    _legend_below(ax)
    ax.set_title("Calibration")


def site_calibrations(validation: Validation) -> list[tuple[str, Pooled]]:
    """The sites that have a calibration curve of their own."""
    return [
        (site.name, site.result)
        for site in with_results(validation)
        if site.result is not None and site.result.calibration is not None
    ]


def panels_size(sites: int) -> tuple[float, float]:
    """Inches of one panel for each site."""
    across = min(sites, _PANELS_ACROSS)
    return 0.6 + _PANEL_INCHES * across, 0.5 + (_PANEL_INCHES + 0.55) * math.ceil(sites / across)


def draw_site_calibrations(ax: Axes, shown: Shown) -> None:
    """A small panel for each site over all rows together in grey; the axes that are given make room for them."""
    sites, pooled = site_calibrations(shown.validation), shown.pooled.calibration
    across = min(len(sites), _PANELS_ACROSS)
    down = math.ceil(len(sites) / across)
    place, figure = ax.get_subplotspec(), ax.figure
    assert place is not None  # noqa: S101  # axes are made in a grid
    ax.remove()
    panels = place.subgridspec(down, across).subplots(sharex=True, sharey=True, squeeze=False)
    ends = [result.calibration for _, result in sites if result.calibration is not None]
    end = _calibration_end([*ends, *([] if pooled is None else [pooled])])
    names = distinct([name for name, _ in sites], 44)
    for panel, name, (_, result) in zip(panels.flat, names, sites, strict=False):
        _site_panel(panel, wrapped(name), result, pooled, end)
    for panel in list(panels.flat)[len(sites) :]:
        panel.set_axis_off()
    figure.supxlabel("Score (predicted risk)", fontsize=10)
    figure.supylabel("Observed share of positives", fontsize=10)


def _site_panel(ax: Axes, name: str, result: Pooled, pooled: CalibrationPoints | None, end: float) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    if pooled is not None:
        seen = _says_something(pooled)
        ax.plot(pooled.mean_score[seen], pooled.observed[seen], color="#b0b0b0", linewidth=1.6, zorder=1)
    if result.calibration is not None:
        _bins(ax, result.calibration, _POOLED, size=4.0)
        if not _says_something(result.calibration).any():
            ax.text(0.5, 0.85, "no bin says enough", transform=ax.transAxes, ha="center", fontsize=8, color=GREY)
    _finish_calibration(ax, end)
    ax.set_title(name, fontsize=9)
    ax.tick_params(labelsize=8)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    ratio = result.observed_expected
    if ratio is not None and math.isfinite(ratio.value):
        ax.set_xlabel(f"O : E {number(ratio.value, 2)}", fontsize=8)


def _bins(ax: Axes, points: CalibrationPoints, colour: str, *, size: float, label: str | None = None) -> None:
    """Points at the bins' mean scores with their intervals; what is not a number, or says nothing, is left out."""
    good = np.isfinite(points.mean_score) & np.isfinite(points.observed) & _says_something(points)
    x, y = points.mean_score[good], points.observed[good]
    ends = [np.where(np.isfinite(each[good]), each[good], y) for each in (points.lower, points.upper)]
    reach = np.stack((y - ends[0], ends[1] - y)).clip(0.0)
    ax.errorbar(
        x, y, yerr=reach, fmt="o", markersize=size, color=colour, markeredgecolor="white", markeredgewidth=0.6,
        elinewidth=1.2, ecolor=colour, zorder=3, label=label,
    )  # fmt: skip


def _finish_calibration(ax: Axes, end: float) -> None:
    ax.set(xlim=(-0.02 * end, 1.02 * end), ylim=(-0.02 * end, 1.02 * end))
    ax.set_aspect("equal", adjustable="box")
    ax.grid(True)
    ax.set_axisbelow(True)


def _calibration_end(every: list[CalibrationPoints]) -> float:
    """Where the axes end: at 1, or sooner if all risks and shares are small."""
    highest = max(float(np.nanmax(np.append(values, 0.0))) for p in every for values in (p.mean_score, p.observed))
    return 1.0 if highest >= 0.5 else max(1.5 * highest, 0.05)


def draw_decision(ax: Axes, shown: Shown) -> None:
    """Net benefit of all rows together, beside treating everybody and nobody."""
    curve = shown.pooled.decision
    assert curve is not None  # noqa: S101  # drawn only where there is one
    ax.plot(curve.threshold, curve.net_benefit, color=_POOLED, linewidth=2.0, label="the model, all rows")
    ax.plot(curve.threshold, curve.treat_all, color=GREY, linewidth=1.2, linestyle="-.", label="treat all")
    ax.axhline(0.0, color=GREY, linewidth=1.0, linestyle=":", label="treat none")
    best = max(float(np.max(np.append(curve.net_benefit, 0.0))), float(np.max(np.append(curve.treat_all, 0.0))), 0.01)
    ax.set(xlim=(0.0, 1.0), ylim=(-0.25 * best, 1.08 * best))
    ax.grid(True)
    ax.set_axisbelow(True)
    ax.set_xlabel("Threshold probability")
    ax.set_ylabel("Net benefit (true positives per row)")
    _legend_below(ax)
    ax.set_title("Decision curve")


def _private_bands(validation: Validation) -> dict[str, Band]:
    """Where the population's ROC and PR curves lie as a whole, from the noisy sum; nothing in other modes."""
    total = validation.outcome.total
    if validation.question.mode != PRIVATE or total is None:
        return {}
    from confide.federation.coordinator.decode import pooled_counts
    from confide.releases.curves_from_counts import curves_of

    release = pooled_counts(validation.question, total, validation.outcome.sites, validation.level)
    found = curves_of(release, level=validation.level).bands
    return {name: both.population for name, both in found.items()}


def _band(ax: Axes, shown: Shown, name: str) -> None:
    if name in shown.bands:
        band, label = shown.bands[name], f"{100 * shown.validation.level:g} % band, whole curve (noise and sampling)"
        ax.fill_between(band.x, band.lower, band.upper, color=_BAND, linewidth=0, label=label)


def _short(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    ends = "" if estimate.interval is None else f" ({span(estimate.interval)})"
    return f"{number(estimate.value)}{ends}"


def _calibration_label(pooled: Pooled) -> str:
    said = []
    if pooled.observed_expected is not None:
        said.append(f"O : E {number(pooled.observed_expected.value, 2)}")
    if pooled.calibration_slope is not None:
        said.append(f"slope {number(pooled.calibration_slope.value, 2)}")
    return ", ".join(said) or "observed share"


def _legend_below(ax: Axes) -> None:
    """A legend under the label of the axis; square axes stand at the bottom of their place, or layout cuts it off."""
    ax.set_anchor("S")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), borderaxespad=4.6)
