"""The pictures: ROC, precision-recall, calibration and decision curves.

Drawn for print and screen alike: colours of Okabe and Ito, which the colour-blind can tell apart,
line styles that differ as well, axes with equal scales where both are rates, and uncertainty shown.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.curves.decision import decision_curve
from confide.curves.pr import minimum_precision
from confide.curves.reliability import reliability_bins, smooth_calibration
from confide.curves.roc import roc_curve
from confide.intervals.bands import Band, curve_bands
from confide.intervals.interval import Estimate, normal_quantile
from confide.intervals.proportion import wilson_interval_of
from confide.metrics.precision_recall import pr_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from confide.evaluation.evaluation import Evaluation, ModelEvaluation

FURNITURE = ("chance", "perfect", "treat all", "treat none")  # how lines that belong to no model are labelled
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1)), "-")
GREY = "#6b6b6b"
_DISTRIBUTION = "confide-distribution"
_SHORT_LEGEND = 4  # lines
_BAND_SEED = 0  # the same data must give the same picture

_SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": "#222222",
    "axes.edgecolor": "#444444",
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar sign in a column's name is a dollar sign
    "svg.hashsalt": "confide",
}

Drawing = Callable[["Axes", Any], None]


def style(index: int) -> dict[str, Any]:
    """Colour and line style of the model at a position."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": STYLES[index % len(STYLES)]}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw with our settings and leave the user's alone."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def overview(evaluation: Evaluation) -> Figure:
    """All curves in one figure: two panels for ranking, two more where scores are probabilities."""
    import matplotlib.pyplot as plt

    drawings: list[Drawing] = [draw_roc, draw_pr]
    if any(model.counts.probabilities for model in evaluation.models):
        drawings += [draw_calibration, draw_decision]
    with house_style():
        figure, axes = plt.subplots(
            len(drawings) // 2, 2, figsize=(10.5, 5.0 * len(drawings) // 2), layout="constrained", squeeze=False
        )
        for ax, draw in zip(axes.flat, drawings, strict=True):
            draw(ax, evaluation)
    return figure


def as_svg(draw: Drawing, shown: Any, *, size: tuple[float, float] = (5.4, 5.0)) -> str:
    """Draw one panel as SVG with real text."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots(), shown)
        buffer = io.StringIO()
        with warnings.catch_warnings():
            # Text stays text in SVG: it is the reader's fonts that must have the letters.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    return svg[svg.index("<svg") :]


def draw_roc(ax: Axes, evaluation: Evaluation) -> None:
    """ROC curves with their bands."""
    for i, model in enumerate(evaluation.models):
        band = _bands(model.counts, evaluation.level)
        roc_line(ax, model.counts, i, label=_estimate_label(model.score, "AUC", model.auc), band=band and band[0])
    finish_roc(ax)
    ax.set_title("ROC")


def roc_line(ax: Axes, counts: ScoreCounts, index: int, *, label: str, band: Band | None = None, **line: Any) -> Any:
    """Draw one ROC curve, and its band if there is one."""
    curve = thinned(roc_curve(counts).simplified())
    look = {**style(index), "linewidth": 1.8, **line}
    if band is not None:
        ax.fill_between(band.x, band.lower, band.upper, color=look["color"], alpha=0.15, linewidth=0)
    return ax.plot(curve.false_positive_rate, curve.true_positive_rate, label=label, **look)[0]


def finish_roc(ax: Axes) -> None:
    """Axes, chance line and legend of a ROC plot."""
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle=":", label="chance")
    _square(ax)
    ax.set_xlabel("False-positive rate (1 − specificity)")
    ax.set_ylabel("True-positive rate (recall, sensitivity)")
    _legend(ax, "lower right")


def draw_pr(ax: Axes, evaluation: Evaluation) -> None:
    """Precision-recall curves with their bands, over the region that no model can reach."""
    for i, model in enumerate(evaluation.models):
        band = _bands(model.counts, evaluation.level)
        label = _estimate_label(model.score, "AP", model.average_precision)
        pr_line(ax, model.counts, i, label=label, band=band and band[1])
    finish_pr(ax, evaluation.prevalence)
    ax.set_title("Precision–recall")


def pr_line(ax: Axes, counts: ScoreCounts, index: int, *, label: str, band: Band | None = None, **line: Any) -> Any:
    """Draw one PR curve, joined as its interpolation in ROC space is, and its band if there is one."""
    path = pr_path(counts, "interpolated_thresholds")
    recall = np.unique(np.concatenate((_at_most(path.start, 2_000), _at_most(path.end, 2_000), np.linspace(0, 1, 201))))
    look = {**style(index), "linewidth": 1.8, **line}
    if band is not None:
        ax.fill_between(band.x, band.lower, band.upper, color=look["color"], alpha=0.15, linewidth=0)
    return ax.plot(recall, path.precision(recall), label=label, **look)[0]


def finish_pr(ax: Axes, prevalence: float) -> None:
    """Axes, chance line, the unachievable region and legend of a PR plot."""
    recall = np.linspace(0.0, 1.0, 201)
    floor = minimum_precision(recall, prevalence)
    ax.fill_between(recall, 0.0, floor, facecolor="#d9d9d9", edgecolor="#9a9a9a", hatch="////", linewidth=0)
    ax.plot(recall, floor, color="#7a7a7a", linewidth=1.0)
    if prevalence > 0.08:  # below that there is no room for the word
        middle = minimum_precision(0.97, prevalence) / 2
        plain = {"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85}
        ax.annotate("unachievable", (0.97, middle), ha="right", va="center", fontsize=9, color="#333333", bbox=plain)
    ax.axhline(
        prevalence,
        color=GREY,
        linewidth=0.9,
        linestyle=":",
        label=f"chance (prevalence {prevalence:.3g})",
    )
    _square(ax)
    ax.set_xlabel("Recall (sensitivity)")
    ax.set_ylabel("Precision (positive predictive value)")
    _legend(ax, "best")


def draw_calibration(ax: Axes, evaluation: Evaluation) -> None:
    """Observed share against score, smooth and in bins, with the scores' distribution below."""
    chosen = [(i, model) for i, model in enumerate(evaluation.models) if model.counts.probabilities]
    for i, model in chosen:
        calibration_line(ax, model.counts, i, label=_calibration_label(model), level=evaluation.level)
    finish_calibration(ax, [(i, model.counts) for i, model in chosen])
    ax.set_title("Calibration")


def calibration_line(ax: Axes, counts: ScoreCounts, index: int, *, label: str, level: float = 0.95, **line: Any) -> Any:
    """Draw the smooth calibration curve with its band, and ten bins of equal mass with Wilson intervals."""
    curve, z = smooth_calibration(counts), normal_quantile(level)
    look = {**style(index), "linewidth": 1.8, **line}
    lower, upper = (np.clip(curve.observed + sign * z * curve.standard_error, 0, 1) for sign in (-1, 1))
    ax.fill_between(curve.score, lower, upper, color=look["color"], alpha=0.15, linewidth=0)
    drawn = ax.plot(curve.score, curve.observed, label=label, **look)[0]
    bins = reliability_bins(counts, binning="mass")
    ends = [wilson_interval_of(o, w, level=level) for o, w in zip(bins.observed, bins.weight, strict=True)]
    reach = np.array([[o - e.lower, e.upper - o] for o, e in zip(bins.observed, ends, strict=True)]).clip(0.0).T
    ax.errorbar(
        bins.mean_score,
        bins.observed,
        yerr=reach,
        fmt="os^Dv<>"[index % 7],
        markersize=4,
        color=look["color"],
        elinewidth=0.9,
        linestyle="none",
        zorder=3,
    )
    return drawn


def finish_calibration(ax: Axes, shown: Sequence[tuple[int, ScoreCounts]]) -> None:
    """Axes, the diagonal, and below it the distribution of scores: positives up, negatives down."""
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle=":", label="perfect")
    end = max(_calibration_end(counts) for _, counts in shown)
    _square(ax, end)
    ax.set_xlabel("Score")
    ax.set_ylabel("Observed share of positives")
    ax.legend(loc="upper left")
    below: Any = next((child for child in ax.child_axes if child.get_gid() == _DISTRIBUTION), None)
    if below is None:
        below = _distribution_axes(ax)
    edges = np.linspace(0.0, end, 41)
    for i, counts in shown:
        for side, sign in ((counts.positives, 1.0), (counts.negatives, -1.0)):
            height, _ = np.histogram(np.minimum(counts.scores, end), bins=edges, weights=side)
            below.stairs(sign * height / max(height.sum(), 1e-300), edges, color=style(i)["color"], linewidth=1.1)


def _calibration_end(counts: ScoreCounts) -> float:
    """Where the axes end: at 1, or sooner if nearly all risks and shares are small."""
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


def draw_decision(ax: Axes, evaluation: Evaluation) -> None:
    """Net benefit against the threshold probability, with treating everybody and nobody."""
    chosen = [(i, model) for i, model in enumerate(evaluation.models) if model.counts.probabilities]
    for i, model in chosen:
        decision_line(ax, model.counts, i, label=shortened(model.score))
    finish_decision(ax, chosen[0][1].counts)
    ax.set_title("Decision curve")


def decision_line(ax: Axes, counts: ScoreCounts, index: int, *, label: str, **line: Any) -> Any:
    """Draw one model's net benefit."""
    curve = decision_curve(counts)
    return ax.plot(curve.threshold, curve.net_benefit, label=label, **{**style(index), "linewidth": 1.8, **line})[0]


def finish_decision(ax: Axes, counts: ScoreCounts) -> None:
    """Axes and the two policies that need no model."""
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


def draw_forest(ax: Axes, evaluation: Evaluation) -> None:
    """AUC of each group and model with its interval, beside all rows together."""
    models = evaluation.models
    entries = [("all rows", models), *((group.group, group.models) for group in evaluation.groups if group.models)]
    for row, (_, shown) in enumerate(entries):
        for i, model in enumerate(shown):
            y = row + (i - (len(models) - 1) / 2) * min(0.22, 0.8 / len(models))
            interval = model.auc.interval
            if interval is not None:
                ax.plot([interval.lower, interval.upper], [y, y], color=style(i)["color"], linewidth=1.6)
            marker = {"marker": "osD^v<>"[i % 7], "markersize": 6, "color": style(i)["color"], "linestyle": "none"}
            ax.plot([model.auc.value], [y], label=shortened(model.score) if row == 0 else None, **marker)
    ax.axvline(0.5, color=GREY, linewidth=0.9, linestyle=":")
    ax.set_yticks(range(len(entries)), [shortened(name) for name, _ in entries])
    ax.set_ylim(len(entries) - 0.5, -0.5)
    ax.set_xlabel(f"AUC with {100 * evaluation.level:g} % interval")
    ax.grid(True, axis="x")
    ax.set_axisbelow(True)
    ax.set_title("AUC by group")
    ax.legend(loc="best")


def thinned(curve: Any, most: int = 4_000) -> Any:
    """Keep no more points of a curve than a picture can show."""
    size = curve.false_positive_rate.size
    if size <= most:
        return curve
    keep = np.unique(np.linspace(0, size - 1, most).round().astype(np.int64))
    return type(curve)(curve.false_positive_rate[keep], curve.true_positive_rate[keep], curve.thresholds[keep])


def _bands(counts: ScoreCounts, level: float) -> tuple[Band, Band] | None:
    if counts.weighted:
        return None
    return curve_bands(counts, level=level, rng=_BAND_SEED)


def _at_most(values: FloatArray, most: int) -> FloatArray:
    if values.size <= most:
        return values
    return values[np.linspace(0, values.size - 1, most).round().astype(np.int64)]


def shortened(name: str, most: int = 32) -> str:
    """Cut a long name so that it leaves room for the picture."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _legend(ax: Axes, loc: Literal["best", "lower right"]) -> None:
    """Put a legend inside the axes where it is short, else below them, where it covers nothing."""
    if len(ax.get_legend_handles_labels()[1]) <= _SHORT_LEGEND:
        ax.legend(loc=loc)
    else:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13))


def _square(ax: Axes, end: float = 1.0) -> None:
    ax.set_xlim(-0.01 * end, 1.01 * end)
    ax.set_ylim(-0.01 * end, 1.01 * end)
    ax.set_aspect("equal", adjustable="box")
    ax.grid(True)
    ax.set_axisbelow(True)


def _estimate_label(name: str, what: str, estimate: Estimate) -> str:
    if estimate.interval is None:
        return f"{shortened(name)}: {what} {estimate.value:.3f}"
    return (
        f"{shortened(name)}: {what} {estimate.value:.3f} ({estimate.interval.lower:.3f}–{estimate.interval.upper:.3f})"
    )


def _calibration_label(model: ModelEvaluation) -> str:
    if model.calibration is None or model.calibration.slope is None:
        return shortened(model.score)
    return f"{shortened(model.score)}: slope {model.calibration.slope:.2f}"
