"""Pictures of a study: accuracies as bars from the majority's, and lines over thresholds, epsilons and rates.

What is not private is grey: bars hatched, lines dotted with open marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confide.report import style
from studies.stoddard.methods import ENFORCED, METHODS, Standing, shown_name
from studies.stoddard.results import Line, TrialResult
from studies.stoddard.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OURS, _THEIRS, _BROKEN = style.COLOURS[0], style.COLOURS[4], "#8a8a8a"

BARS: dict[str, dict[str, Any]] = {
    "without privacy": {"facecolor": "#ffffff", "edgecolor": "#333333"},
    "sound, from the paper": {"facecolor": _THEIRS, "edgecolor": "#7a5200"},
    "sound, added here": {"facecolor": _OURS, "edgecolor": "#003d60"},
    "not private, though published as such": {"facecolor": "#e4e4e4", "edgecolor": _BROKEN, "hatch": "////"},
}
"""Styles of bars, by the privacy of the method."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Accuracies to be drawn from the majority's: those without privacy first, each group from the best down."""

    title: str
    majority: float
    exact: Line
    private: Line

    @property
    def ordered(self) -> tuple[TrialResult, ...]:
        """From top to bottom."""
        groups = (self.exact, self.private)
        return tuple(o for group in groups for o in sorted(group, key=lambda outcome: -outcome.mean.value))

    @property
    def size(self) -> tuple[float, float]:
        """Return the size of the picture."""
        return (7.6, 1.7 + 0.26 * len(self.ordered))


def look_of(outcome: TrialResult) -> str:
    """Return the style in `BARS` of a result."""
    method = METHODS[outcome.trial.method]
    if method.standing is Standing.EXACT:
        return "without privacy"
    if method.standing is Standing.NOT_PRIVATE:
        return "not private, though published as such"
    return "sound, from the paper" if method.from_paper else "sound, added here"


def draw_bars(ax: Axes, bars: Bars) -> None:
    """Draw horizontal bars from the majority's accuracy, with standard errors and the means in numbers."""
    from matplotlib.patches import Patch

    ordered = bars.ordered
    for row, outcome in enumerate(ordered):
        mean = outcome.mean
        ax.barh(
            row, mean.value - bars.majority, left=bars.majority, height=0.72, linewidth=0.8, **BARS[look_of(outcome)]
        )
        ax.errorbar(mean.value, row, xerr=mean.standard_error, color="#000000", elinewidth=1.1, capsize=2.0)
        ax.annotate(
            f"{mean.value:.3f}",
            (1.0, row),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    ax.axvline(bars.majority, color="#000000", linewidth=1.2)
    ax.axhline(len(bars.exact) - 0.5, color="#bbbbbb", linewidth=0.8)
    ax.set_yticks(range(len(ordered)), [_bar_name(outcome) for outcome in ordered], fontsize=9)
    for tick, outcome in zip(ax.get_yticklabels(), ordered, strict=True):
        tick.set_fontweight("bold" if METHODS[outcome.trial.method].joint else "normal")
    ax.set_ylim(len(ordered) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(True, axis="x")
    ax.set_axisbelow(True)
    ax.set_xlabel(f"Accuracy on held-out rows (bars start at the majority's, {bars.majority:.3f})")
    ax.set_title(bars.title)
    used = {look_of(outcome) for outcome in ordered}
    handles = [Patch(label=name, **look) for name, look in BARS.items() if name in used]
    ax.legend(handles=handles, loc="upper right", bbox_to_anchor=(1.0, -0.55 / bars.size[1] - 0.03), ncols=2)


def _bar_name(outcome: TrialResult) -> str:
    method = METHODS[outcome.trial.method]
    name = f"{outcome.trial.method}*" if method.standing is Standing.NOT_PRIVATE else outcome.trial.method
    return name if outcome.trial.k is None else f"{name}, k = {outcome.trial.k}"


def draw_overlaps(ax: Axes, shown: tuple[Study, bool]) -> None:
    """F1 of the features found against the threshold, for the sound methods or for the others."""
    study, sound = shown
    lines = {key: line for key, line in study.overlaps().items() if (METHODS[key].standing is Standing.SOUND) is sound}
    thresholds = study.settings.thresholds
    for key, line in lines.items():
        _line(ax, thresholds, line, METHODS[key].name, shown_name(key))
    _log_axis(ax, thresholds)
    ax.set_ylim(-0.02, 1.04)
    ax.set_xlabel("Threshold: rows that have the word")
    ax.set_ylabel("F1 of the features found")
    above = ax.secondary_xaxis("top")
    above.set_xticks(thresholds, [f"{study.wanted(threshold):,.0f}" for threshold in thresholds], fontsize=8)
    above.tick_params(which="minor", length=0)
    above.set_xlabel("Words that reach it", fontsize=9)
    ax.set_title("Sound" if sound else "As published (not private)", pad=12)
    _finish(ax)


def draw_budgets(ax: Axes, shown: tuple[Study, str]) -> None:
    """Accuracy against total epsilon, with the majority as a line."""
    study, dataset = shown
    epsilons = [float(epsilon) for epsilon in study.settings.epsilons]
    for name, line in study.budgets(dataset).items():
        _line(ax, epsilons, line, name.removesuffix(" (not private)"), name)
    _majority(ax, study, dataset)
    _log_axis(ax, epsilons)
    ax.set_xlabel("Total epsilon (smaller is more private)")
    ax.set_ylabel("Accuracy on held-out rows")
    ax.set_title(study.datasets[dataset].corpus.name)
    _finish(ax)


def draw_splits(ax: Axes, shown: tuple[Study, str]) -> None:
    """Accuracy against the share of epsilon that goes to the selection."""
    study, dataset = shown
    shares = [float(share) for share in study.settings.shares]
    _line(ax, shares, study.splits(dataset), "score perturbation", f"score perturbation TC, {ENFORCED} words a row")
    ours = study.best(dataset, "joint naive Bayes").mean
    ax.axhspan(ours.value - ours.standard_error, ours.value + ours.standard_error, color=_OURS, alpha=0.15, linewidth=0)
    ax.axhline(ours.value, color=_OURS, linewidth=1.8, label="joint naive Bayes (nothing to divide)")
    _majority(ax, study, dataset)
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel("Share of epsilon for selecting features")
    ax.set_ylabel("Accuracy on held-out rows")
    ax.set_title(f"{study.datasets[dataset].corpus.name}: budget split")
    _finish(ax)


def draw_rates(ax: Axes, shown: tuple[Study, str]) -> None:
    """Accuracy against how many features of a row count."""
    study, dataset = shown
    for key, line in study.rates(dataset).items():
        _line(ax, study.settings.rates, line, METHODS[key].name, key)
    _majority(ax, study, dataset)
    _log_axis(ax, study.settings.rates)
    ax.set_xlabel("Words that a row may count with (sampling rate, row weight)")
    ax.set_ylabel("Accuracy on held-out rows")
    ax.set_title(f"{study.datasets[dataset].corpus.name}: sampling rate")
    _finish(ax)


LOOKS: dict[str, tuple[str, Any, str]] = {
    "joint naive Bayes": (style.COLOURS[0], "-", "o"),
    "score perturbation": (style.COLOURS[4], "--", "s"),
    "all, sampling": (style.COLOURS[1], "-.", "^"),
    "other sound selection": (style.COLOURS[2], (0, (5, 1, 1, 1)), "D"),
    "sparse vector": (style.COLOURS[5], (0, (3, 1)), "v"),
    "peeling": (style.COLOURS[2], "-.", "D"),
    "permute-and-flip": (style.COLOURS[3], (0, (5, 1, 1, 1)), "P"),
    "clusters of noisy scores": (style.COLOURS[6], "-", "X"),
    "PTT": ("#4d4d4d", ":", "o"),
    "noisycut": ("#858585", ":", "^"),
    "clusters": ("#a8a8a8", ":", "s"),
}
"""Colour, line and mark of a method or a family of methods, the same in every picture."""


def _line(ax: Axes, x: Sequence[float], line: Line, name: str, label: str) -> None:
    colour, stroke, mark = LOOKS[name]
    means = [outcome.mean for outcome in line]
    ax.errorbar(
        x,
        [mean.value for mean in means],
        yerr=[mean.standard_error for mean in means],
        label=label,
        color=colour,
        linestyle=stroke,
        marker=mark,
        markersize=6,
        markerfacecolor="#ffffff" if stroke == ":" else colour,
        linewidth=1.8,
        elinewidth=0.9,
        capsize=2.0,
    )


def _majority(ax: Axes, study: Study, dataset: str) -> None:
    ax.axhline(
        study.datasets[dataset].majority, color="#000000", linewidth=1.0, linestyle=(0, (6, 4)), label="majority"
    )


def _log_axis(ax: Axes, ticks: Sequence[float]) -> None:
    from matplotlib.ticker import NullFormatter, NullLocator

    ax.set_xscale("log")
    ax.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())


def _finish(ax: Axes) -> None:
    ax.grid(True)
    ax.set_axisbelow(True)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
