"""ROC, precision-recall, calibration and decision curves of exact counts, one line at a time.

Axes have equal scales where both are rates. Lines that belong to no model, such as chance, are drawn by the
`_reference` functions, which also set the limits. The `finish_` functions label the axes and place the legend below
them, where it covers nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.curves.pr import minimum_precision
from confide.curves.reliability import decision_curve, reliability_bins
from confide.curves.roc import roc_curve
from confide.curves.smoothing import smooth_calibration
from confide.intervals.proportions import wilson_interval_of
from confide.intervals.resample import Band
from confide.metrics.precision_recall import pr_path
from confide.report.style import GREY, marker, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FURNITURE = ("chance", "perfect", "treat all", "treat none")
"""Labels of lines that belong to no model."""

ROC_LABELS = ("False-positive rate (1 − specificity)", "True-positive rate (recall, sensitivity)")
PR_LABELS = ("Recall (sensitivity)", "Precision (positive predictive value)")
CALIBRATION_LABELS = ("Score", "Observed share of positives")
DECISION_LABELS = ("Threshold probability", "Net benefit (true positives per row)")

SHADE = 0.15
"""Opacity of the band around a line."""

_POLICIES = ("treat all", "treat none")  # labelled on the lines themselves
_POLICY = "_confide-policy"  # legends leave out labels that begin so
_DISTRIBUTION = "_confide-distribution"
_DISTRIBUTION_FOOT = -0.36  # of the height of the axes
_SHORT_LEGEND = 4  # lines
_LEGEND_BELOW_AXES, _LEGEND_BELOW_WORDS = 0.55, 0.12  # inches: with the axis label in between, and without it

_CURVE_POINTS = 200  # of a smooth curve
# Fine where outcomes are rare, and fine enough everywhere for a plot.
THRESHOLDS = np.unique(np.concatenate(([0.0], np.geomspace(1e-5, 0.1, 241), np.linspace(0.1, 0.99, 357))))
_BENEFIT, _HARM = 0.02, 0.1  # of the prevalence: net benefits nearer to 0 are not worth more room


def roc_line(
    ax: Axes,
    counts: ScoreCounts,
    index: int,
    *,
    label: str,
    band: Band | None = None,
    shade: float = SHADE,
    **line: Any,
) -> Any:
    """Draw one ROC curve, and its band if there is one."""
    curve = thinned(roc_curve(counts).simplified())
    look = {**style(index), "linewidth": 1.8, **line}
    if band is not None:
        ax.fill_between(band.x, band.lower, band.upper, color=look["color"], alpha=shade, linewidth=0)
    return ax.plot(curve.false_positive_rate, curve.true_positive_rate, label=label, **look)[0]


def finish_roc(ax: Axes) -> None:
    """Draw the chance line, and set the axes and legend of a ROC plot."""
    roc_reference(ax)
    ax.set_xlabel(ROC_LABELS[0])
    ax.set_ylabel(ROC_LABELS[1])
    _legend(ax, "lower right")


def roc_reference(ax: Axes) -> None:
    """Draw the chance line and set the limits of a ROC plot."""
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle=":", label="chance")
    _square(ax)


def pr_line(
    ax: Axes,
    counts: ScoreCounts,
    index: int,
    *,
    label: str,
    band: Band | None = None,
    shade: float = SHADE,
    **line: Any,
) -> Any:
    """Draw one PR curve, interpolated in ROC space, and its band if there is one."""
    path = pr_path(counts, "interpolated_thresholds")
    recall = np.unique(np.concatenate((_at_most(path.start, 2_000), _at_most(path.end, 2_000), np.linspace(0, 1, 201))))
    look = {**style(index), "linewidth": 1.8, **line}
    if band is not None:
        ax.fill_between(band.x, band.lower, band.upper, color=look["color"], alpha=shade, linewidth=0)
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
    pr_reference(ax, prevalence)
    ax.set_xlabel(PR_LABELS[0])
    ax.set_ylabel(PR_LABELS[1])
    _legend(ax, "best")


def pr_reference(ax: Axes, prevalence: float, *, word: bool = True) -> None:
    """Draw the chance line and the unachievable region, and set the limits of a PR plot."""
    _unachievable(ax, prevalence, word=word)
    label = f"chance (prevalence {prevalence:.3g})"
    ax.axhline(prevalence, color=GREY, linewidth=0.9, linestyle=":", label=label)
    _square(ax)


def _unachievable(ax: Axes, prevalence: float, *, word: bool) -> None:
    """Hatch the region below the PR curve of the worst possible ranking."""
    recall = np.linspace(0.0, 1.0, 201)
    floor = minimum_precision(recall, prevalence)
    ax.fill_between(recall, 0.0, floor, facecolor="#d9d9d9", edgecolor="#9a9a9a", hatch="////", linewidth=0)
    ax.plot(recall, floor, color="#7a7a7a", linewidth=1.0)
    if word and prevalence > 0.08:  # below that there is no room for the word
        middle = minimum_precision(0.97, prevalence) / 2
        plain = {"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85}
        ax.annotate("unachievable", (0.97, middle), ha="right", va="center", fontsize=9, color="#333333", bbox=plain)


def calibration_line(ax: Axes, counts: ScoreCounts, index: int, *, label: str, level: float = 0.95, **line: Any) -> Any:
    """Draw the smooth calibration curve with its pointwise band, and ten bins of equal mass with Wilson intervals."""
    curve = smooth_calibration(counts, at=_curve_scores(counts))
    look = {**style(index), "linewidth": 1.8, **line}
    ax.fill_between(curve.score, *curve.band(level), color=look["color"], alpha=0.15, linewidth=0)
    _calibration_bins(ax, counts, index, level, look["color"])
    return ax.plot(curve.score, curve.observed, label=label, **look)[0]


def smooth_calibration_line(ax: Axes, counts: ScoreCounts, index: int, *, label: str, **line: Any) -> Any:
    """Draw the smooth calibration curve alone."""
    curve = smooth_calibration(counts, at=_curve_scores(counts))
    return ax.plot(curve.score, curve.observed, label=label, **{**style(index), "linewidth": 1.6, **line})[0]


def _curve_scores(counts: ScoreCounts) -> FloatArray:
    """Return the scores at which a smooth curve is drawn: close together, from the lowest to the highest."""
    return np.linspace(counts.scores[0], counts.scores[-1], _CURVE_POINTS)


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
    end = calibration_reference(ax, [counts for _, counts in models])
    ax.set_xlabel(CALIBRATION_LABELS[0])
    ax.set_ylabel(CALIBRATION_LABELS[1])
    distributions(ax, models, end)
    _legend(ax, "best", foot=_DISTRIBUTION_FOOT)


def calibration_reference(ax: Axes, every: Sequence[ScoreCounts]) -> float:
    """Draw the diagonal, set the limits of a calibration plot for these models, and return the upper limit."""
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle=":", label="perfect")
    end = max(_calibration_end(counts) for counts in every)
    _square(ax, end)
    return end


def distributions(ax: Axes, models: Sequence[tuple[int, ScoreCounts]], end: float) -> None:
    """Draw the distribution of scores below the axes of a calibration plot."""
    drawn = (child for child in ax.child_axes if child.get_label() == _DISTRIBUTION)
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
    below = ax.inset_axes((0.0, _DISTRIBUTION_FOOT, 1.0, 0.18), sharex=ax)
    below.set_label(_DISTRIBUTION)
    below.axhline(0.0, color="#444444", linewidth=0.6)
    below.set_yticks([])
    below.tick_params(labelbottom=False, length=0)
    below.set_ylabel("pos.\nneg.", rotation=0, ha="right", va="center", fontsize=8)
    for spine in ("left", "bottom"):
        below.spines[spine].set_visible(False)
    return below


def decision_line(
    ax: Axes,
    counts: ScoreCounts,
    index: int,
    *,
    label: str,
    band: Band | None = None,
    shade: float = SHADE,
    **line: Any,
) -> Any:
    """Draw one model's net benefit, and its band if there is one."""
    curve = decision_curve(counts, THRESHOLDS)
    look = {**style(index), "linewidth": 1.8, **line}
    if band is not None:
        ax.fill_between(band.x, band.lower, band.upper, color=look["color"], alpha=shade, linewidth=0)
    return ax.plot(curve.threshold, curve.net_benefit, label=label, **look)[0]


def finish_decision(ax: Axes, counts: ScoreCounts) -> None:
    """Draw the two policies that need no model, and set the axes and legend."""
    decision_reference(ax, counts)
    ax.set_xlabel(DECISION_LABELS[0])
    ax.set_ylabel(DECISION_LABELS[1])
    _legend(ax, "best")


def decision_reference(ax: Axes, counts: ScoreCounts, *, words: bool = True) -> None:
    """Draw the two policies that need no model, and set the limits. The axes end where all models' lines are flat."""
    curve, prevalence, end = decision_curve(counts, THRESHOLDS), counts.prevalence, _decision_end(ax, counts)
    ax.plot(curve.threshold, curve.treat_all, color=GREY, linewidth=1.0, linestyle="-.", label="treat all")
    ax.axhline(0.0, color=GREY, linewidth=0.9, linestyle=":", label="treat none")
    ax.set_xlim(0.0, end)
    ax.set_ylim(-0.25 * prevalence, 1.08 * prevalence)
    ax.grid(True)
    ax.set_axisbelow(True)
    for text in [text for text in ax.texts if text.get_label() == _POLICY]:
        text.remove()
    if words:
        _policy_words(ax, prevalence, end)


def _decision_end(ax: Axes, counts: ScoreCounts) -> float:
    """Return the end of the axes: twice the prevalence, or somewhat beyond the last notable net benefit of a model."""
    ends = [2.0 * counts.prevalence]
    for line in ax.lines:
        threshold, benefit = (np.asarray(values, dtype=np.float64) for values in line.get_data())
        share = benefit / counts.prevalence
        notable = threshold[(share > _BENEFIT) | (share < -_HARM)]
        if line.get_label() not in _POLICIES and notable.size:
            ends.append(1.15 * float(notable.max()))
    return 1.0 if max(ends) > 0.75 else max(ends)


def _policy_words(ax: Axes, prevalence: float, end: float) -> None:
    """Label both policies on their lines, away from the models' lines."""
    words: dict[str, Any] = {"fontsize": 9, "color": "#4d4d4d", "label": _POLICY, "textcoords": "offset points"}
    low = -0.19 * prevalence
    crossing = 1.19 * prevalence / (1.0 + 0.19 * prevalence)  # where treating all has this net benefit
    left = crossing > 0.2 * end
    ax.annotate(
        "treat all", (crossing, low), xytext=(-5 if left else 5, 0), ha="right" if left else "left", va="center",
        **words,
    )  # fmt: skip
    x, below = _free_place(ax, prevalence, end)
    ax.annotate("treat none", (x, 0.0), xytext=(4, -3 if below else 3), va="top" if below else "bottom", **words)


def _free_place(ax: Axes, prevalence: float, end: float) -> tuple[float, bool]:
    """Return where the words "treat none" begin, and whether below the line: where no line passes, if possible."""
    width, height = 0.2 * end, 0.09 * prevalence
    places = [(share * end, below) for share in (0.79, 0.6, 0.4, 0.2, 0.0) for below in (True, False)]
    drawn = [np.asarray(line.get_data(), dtype=np.float64) for line in ax.lines if line.get_label() != _POLICIES[1]]

    def passing(place: tuple[float, bool]) -> int:
        x, below = place
        bottom, top = (-height, 0.01 * prevalence) if below else (-0.01 * prevalence, height)
        return sum(int(np.any((at >= x) & (at <= x + width) & (y >= bottom) & (y <= top))) for at, y in drawn)

    return min(places, key=passing)


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


def _legend(ax: Axes, loc: Literal["best", "lower right"], *, foot: float = 0.0) -> None:
    """Put the legend below the axes, where it covers nothing, or below `foot`, a share of their height.

    Axes of a figure without layout have no room there. They get a short legend inside, on white.
    """
    handles, labels = ax.get_legend_handles_labels()
    shown = [(handle, label) for handle, label in zip(handles, labels, strict=True) if label not in _POLICIES]
    entries = ([handle for handle, _ in shown], [label for _, label in shown])
    figure = ax.get_figure(root=True)
    if (figure is None or figure.get_layout_engine() is None) and len(shown) <= _SHORT_LEGEND:
        ax.legend(*entries, loc=loc, frameon=True, facecolor="white", edgecolor="none", framealpha=0.85)
    else:
        inches = _LEGEND_BELOW_WORDS if foot else _LEGEND_BELOW_AXES
        legend_below(ax, *entries, inches=inches, foot=foot)


def legend_below(
    ax: Axes, handles: Sequence[Any], labels: Sequence[str], *, inches: float, foot: float = 0.0, columns: int = 1
) -> None:
    """Put a legend so many inches below the axes, or below `foot`, a share of their height."""
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure(root=True)
    assert figure is not None  # noqa: S101  # axes that are drawn belong to a figure
    below = ax.transAxes + ScaledTranslation(0.0, -inches, figure.dpi_scale_trans)
    ax.legend(
        list(handles), list(labels), loc="upper left", bbox_to_anchor=(0.0, foot), bbox_transform=below,
        borderaxespad=0.0, borderpad=0.0, handlelength=2.6, ncols=columns,
    )  # fmt: skip


def _square(ax: Axes, end: float = 1.0) -> None:
    ax.set_xlim(-0.01 * end, 1.01 * end)
    ax.set_ylim(-0.01 * end, 1.01 * end)
    ax.set_aspect("equal", adjustable="box")
    ax.grid(True)
    ax.set_axisbelow(True)
