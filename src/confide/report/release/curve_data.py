"""A released curve to draw, and the labels, shades and legend that its plots share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confide.counts import ScoreCounts
from confide.releases.release import Release, ReleasedCurve
from confide.report.release.names import is_curve
from confide.report.shared.curves import FURNITURE
from confide.report.shared.numbers import interval_text, number, percent
from confide.report.shared.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXACT = "exact: NOT private, not to be published"
"""Label of a curve that was drawn from the rows themselves."""

BLUE, RED = COLOURS[:2]

SHADES = {"population": "#d3e5f1", "sample": "#8fbfdd"}  # solid: bands that overlap do not darken each other

_BAND_NAMES = {"population": "population (noise and sampling)", "sample": "these rows (noise)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveData:
    """A curve to draw, with the threshold chosen on it and, for the data holder alone, the exact rows."""

    release: Release
    chosen: Release | None = None
    exact: ScoreCounts | None = None

    @property
    def curve(self) -> ReleasedCurve:
        """Released curve."""
        assert self.release.curve is not None  # noqa: S101  # `curves_to_draw` takes only curves
        return self.release.curve

    @property
    def extra(self) -> int:
        """Number of legend lines beyond the usual ones."""
        ringed = self.chosen is not None and self.release.metric in ("roc", "pr")
        return ringed + (self.exact is not None)

    @property
    def sizes(self) -> tuple[float, float]:
        """Released numbers of positives and negatives."""
        return float(self.release.parts["positives"]), float(self.release.parts["negatives"])


def curves_to_draw(releases: Sequence[Release], exact: ScoreCounts | None = None) -> list[CurveData]:
    """Return every curve among the releases."""
    chosen = next((release for release in releases if release.metric == "threshold"), None)
    return [CurveData(release=release, chosen=chosen, exact=exact) for release in releases if is_curve(release)]


def ordered_bands(curve: ReleasedCurve) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the bands, the wider one first so that the other is drawn over it."""
    return [(name, curve.bands[name]) for name in SHADES if name in curve.bands]


def band_label(release: Release, name: str) -> str:
    """Return the legend entry of a band."""
    return f"{percent(release.intervals.sample.level)} band, {_BAND_NAMES[name]}"


def value_label(release: Release, name: str) -> str:
    """Return the legend entry of a curve: its value with the interval for these rows."""
    return f"{name} {number(release.value)} (these rows {interval_text(release.intervals.sample)})"


def legend_below(ax: Axes, below: float = -0.13) -> None:
    """Put the legend under the axes: released values first, then bands, then lines that belong to no model."""
    ax.set_anchor("N")  # no empty room above
    handles, labels = ax.get_legend_handles_labels()
    last = [f"band, {_BAND_NAMES['sample']}", f"band, {_BAND_NAMES['population']}", *FURNITURE]

    def place(position: int) -> int:
        return next((place for place, words in enumerate(last, 1) if words in labels[position]), 0)

    order = sorted(range(len(labels)), key=place)
    ax.legend(
        [handles[i] for i in order], [labels[i] for i in order], loc="upper left", bbox_to_anchor=(0.0, below),
        borderaxespad=0.0, handlelength=2.2,
    )  # fmt: skip
