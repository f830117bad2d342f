"""ROC, precision-recall, calibration and decision curves of exact counts, one line at a time.

Axes have equal scales where both are rates. Lines that belong to no model, such as chance, are drawn by the `finish_`
functions, which also label the axes and place the legend.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.curves.decision import decision_curve
from confide.curves.pr import minimum_precision
from confide.curves.reliability import reliability_bins, smooth_calibration
from confide.curves.roc import roc_curve
from confide.intervals.bands import Band
from confide.intervals.interval import normal_quantile
from confide.intervals.proportion import wilson_interval_of
from confide.metrics.precision_recall import pr_path
from confide.report.shared.style import GREY, marker, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FURNITURE = ("chance", "perfect", "treat all", "treat none")
"""Labels of lines that belong to no model."""

_DISTRIBUTION = "confide-distribution"
_SHORT_LEGEND = 4  # lines


def roc_line(ax: Axes, counts: ScoreCounts, index: int, *, label: str, band: Band | None = None, **line: Any) -> Any:
    """Draw one ROC curve, and its band if there is one."""
    curve = thinned(roc_curve(counts).simplified())
    look = {**style(index), "linewidth": 1.8, **line}
    if band is not None:
        ax.fill_between(band.x, band.lower, band.upper, color=look["color"], alpha=0.15, linewidth=0)
    return ax.plot(curve.false_positive_rate, curve.true_positive_rate, label=label, **look)[0]


def finish_roc(ax: Axes) -> None:
    """Draw the chance line, and set the axes and legend of a ROC plot."""
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle=":", label="chance")
    _square(ax)
    ax.set_xlabel("False-positive rate (1 − specificity)")
    ax.set_ylabel("True-positive rate (recall, sensitivity)")
    _legend(ax, "lower right")


def pr_line(ax: Axes, counts: ScoreCounts, index: int, *, label: str, band: Band | None = None, **line: Any) -> Any:
    """Draw one PR curve, interpolated in ROC space, and its band if there is one."""
    path = pr_path(counts, "interpolated_thresholds")
    recall = np.unique(np.concatenate((_at_most(path.start, 2_000), _at_most(path.end, 2_000), np.linspace(0, 1, 201))))
    look = {**style(index), "linewidth": 1.8, **line}
    if band is not None:
        ax.fill_between(band.x, band.lower, band.upper, color=look["color"], alpha=0.15, linewidth=0)
    return ax.plot(recall, path.precision(recall), label=label, **look)[0]


def pr_joined(recall: FloatArray, precision: FloatArray, steps: int = 16) -> tuple[FloatArray, FloatArray]:
    """Interpolate between points of a PR curve: false positives grow linearly with recall (Davis and Goadrich 2006).

    From recall 0 to the first point precision is constant. Points with precision 0 are joined by straight lines.
    """
    xs, ys = [recall[:1]], [precision[:1]]
    for left, right in zip(range(recall.size - 1), range(1, recall.size), strict=True):
        share = np.arange(1, steps + 1) / steps
        x = recall[left] + share * (recall[right] - recall[left])
        if precision[left] > 0.0 and precision[right] > 0.0 and recall[right] > recall[left]:
            false = [recall[i] * (1.0 - precision[i]) / precision[i] for i in (left, right)]
            y = x / (x + false[0] + share * (false[1] - false[0]))
        else:
            y = precision[left] + share * (precision[right] - precision[left])
        xs.append(x)
        ys.append(y)
    return np.concatenate(xs), np.concatenate(ys)


def finish_pr(ax: Axes, prevalence: float) -> None:
    """Draw the chance line and the unachievable region, and set the axes and legend of a PR plot."""
    _unachievable(ax, prevalence)
    label = f"chance (prevalence {prevalence:.3g})"
    ax.axhline(prevalence, color=GREY, linewidth=0.9, linestyle=":", label=label)
    _square(ax)
    ax.set_xlabel("Recall (sensitivity)")
    ax.set_ylabel("Precision (positive predictive value)")
    figure = ax.get_figure(root=True)
    _legend(ax, "best", inside=figure is None or figure.get_layout_engine() is None)


def _unachievable(ax: Axes, prevalence: float) -> None:
    """Hatch the region below the PR curve of the worst possible ranking."""
    recall = np.linspace(0.0, 1.0, 201)
    floor = minimum_precision(recall, prevalence)
    ax.fill_between(recall, 0.0, floor, facecolor="#d9d9d9", edgecolor="#9a9a9a", hatch="////", linewidth=0)
    ax.plot(recall, floor, color="#7a7a7a", linewidth=1.0)
    if prevalence > 0.08:  # below that there is no room for the word
        middle = minimum_precision(0.97, prevalence) / 2
        plain = {"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85}
        ax.annotate("unachievable", (0.97, middle), ha="right", va="center", fontsize=9, color="#333333", bbox=plain)


def calibration_line(ax: Axes, counts: ScoreCounts, index: int, *, label: str, level: float = 0.95, **line: Any) -> Any:
    """Draw the smooth calibration curve with its band, and ten bins of equal mass with Wilson intervals."""
    curve, z = smooth_calibration(counts), normal_quantile(level)
    look = {**style(index), "linewidth": 1.8, **line}
    lower, upper = (np.clip(curve.observed + sign * z * curve.standard_error, 0, 1) for sign in (-1, 1))
    ax.fill_between(curve.score, lower, upper, color=look["color"], alpha=0.15, linewidth=0)
    _calibration_bins(ax, counts, index, level, look["color"])
    return ax.plot(curve.score, curve.observed, label=label, **look)[0]


def _calibration_bins(ax: Axes, counts: ScoreCounts, index: int, level: float, colour: str) -> None:
    bins = reliability_bins(counts, binning="mass")
    ends = [wilson_interval_of(o, w, level=level) for o, w in zip(bins.observed, bins.weight, strict=True)]
    reach = np.array([[o - e.lower, e.upper - o] for o, e in zip(bins.observed, ends, strict=True)]).clip(0.0).T
    ax.errorbar(
        bins.mean_score, bins.observed, yerr=reach, fmt=marker(index), markersize=4, color=colour, elinewidth=0.9,
        linestyle="none", zorder=3,
    )  # fmt: skip


def finish_calibration(ax: Axes, models: Sequence[tuple[int, ScoreCounts]]) -> None:
    """Draw the diagonal and, below the axes, the distribution of scores: positives up, negatives down."""
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle=":", label="perfect")
    end = max(_calibration_end(counts) for _, counts in models)
    _square(ax, end)
    ax.set_xlabel("Score")
    ax.set_ylabel("Observed share of positives")
    ax.legend(loc="upper left")
    _distributions(ax, models, end)


def _distributions(ax: Axes, models: Sequence[tuple[int, ScoreCounts]], end: float) -> None:
    drawn = (child for child in ax.child_axes if child.get_gid() == _DISTRIBUTION)
    below: Any = next(drawn, None) or _distribution_axes(ax)
    edges = np.linspace(0.0, end, 41)
    for i, counts in models:
        for side, sign in ((counts.positives, 1.0), (counts.negatives, -1.0)):
            height, _ = np.histogram(np.minimum(counts.scores, end), bins=edges, weights=side)
            below.stairs(sign * height / max(height.sum(), 1e-300), edges, color=style(i)["color"], linewidth=1.1)


def _calibration_end(counts: ScoreCounts) -> float:
    """Return the end of the axes: 1, or less if nearly all risks and observed shares are small."""
    weight = counts.positives + counts.negatives
    most = counts.scores[np.searchsorted(np.cumsum(weight), 0.995 * weight.sum())]
    highest = max(float(most), float(reliability_bins(counts, binning="mass").observed.max()))
    return min(1.0, 1.3 * highest) if highest < 0.5 else 1.0


def _distribution_axes(ax: Axes) -> Axes:
    below = ax.inset_axes((0.0, -0.36, 1.0, 0.18), sharex=ax)
    below.set_gid(_DISTRIBUTION)
    below.axhline(0.0, color="#444444", linewidth=0.6)
    below.set_yticks([])
    below.tick_params(labelbottom=False, length=0)
    below.set_ylabel("pos.\nneg.", rotation=0, ha="right", va="center", fontsize=8)
    for spine in ("left", "bottom"):
        below.spines[spine].set_visible(False)
    return below


def decision_line(ax: Axes, counts: ScoreCounts, index: int, *, label: str, **line: Any) -> Any:
    """Draw one model's net benefit."""
    curve = decision_curve(counts)
    return ax.plot(curve.threshold, curve.net_benefit, label=label, **{**style(index), "linewidth": 1.8, **line})[0]


def finish_decision(ax: Axes, counts: ScoreCounts) -> None:
    """Draw the two policies that need no model, and set the axes and legend."""
    curve = decision_curve(counts)
    prevalence = counts.prevalence
    ax.plot(curve.threshold, curve.treat_all, color=GREY, linewidth=1.0, linestyle="-.", label="treat all")
    ax.axhline(0.0, color=GREY, linewidth=0.9, linestyle=":", label="treat none")
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(-0.25 * prevalence, 1.08 * prevalence)
    ax.grid(True)
    ax.set_axisbelow(True)
    ax.set_xlabel("Threshold probability")
    ax.set_ylabel("Net benefit (true positives per row)")
    _legend(ax, "best")


def thinned(curve: Any, most: int = 4_000) -> Any:
    """Keep no more points of a curve than a plot can show."""
    size = curve.false_positive_rate.size
    if size <= most:
        return curve
    keep = np.unique(np.linspace(0, size - 1, most).round().astype(np.int64))
    return type(curve)(curve.false_positive_rate[keep], curve.true_positive_rate[keep], curve.thresholds[keep])


def _at_most(values: FloatArray, most: int) -> FloatArray:
    if values.size <= most:
        return values
    return values[np.linspace(0, values.size - 1, most).round().astype(np.int64)]


def _legend(ax: Axes, loc: Literal["best", "lower right"], *, inside: bool = True) -> None:
    """Put a short legend inside the axes, on white. Put others below them, where they cover nothing.

    A PR curve leaves no place that is always free, so its legend lies inside only if no layout makes room below.
    """
    if inside and len(ax.get_legend_handles_labels()[1]) <= _SHORT_LEGEND:
        ax.legend(loc=loc, frameon=True, facecolor="white", edgecolor="none", framealpha=0.85)
    else:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13))


def _square(ax: Axes, end: float = 1.0) -> None:
    ax.set_xlim(-0.01 * end, 1.01 * end)
    ax.set_ylim(-0.01 * end, 1.01 * end)
    ax.set_aspect("equal", adjustable="box")
    ax.grid(True)
    ax.set_axisbelow(True)
