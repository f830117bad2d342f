"""What is said about private curves: names, notes, captions, and the table of a chosen threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from confide.releases.curves_release import CURVES
from confide.releases.release import Release, ReleasedCurve
from confide.report.shared.tables import Table, number

NAMES = {
    "roc": "ROC curve, area",
    "pr": "PR curve, average precision",
    "calibration": "calibration, observed : expected",
    "counts": "rows",
    "observed_expected": "observed : expected",
}

RATIOS_AND_PLACES = ("calibration", "counts", "observed_expected", "threshold")
"""Numbers that are no share of anything, whatever their size."""

_MODELS = {"binormal": "binormal", "roc-glm": "ROC-GLM"}

_CAPTIONS = {
    "roc": "Each threshold's true-positive rate against its false-positive rate; the dotted diagonal is guessing.",
    "pr": "Each threshold's precision against its recall. The hatched region cannot be reached by any model at the "
    "released prevalence; the dotted line is guessing.",
    "calibration": "How often what was given a risk happened: dots at a bin's mean score, lines from its lower to its "
    "upper edge. On the diagonal risks can be taken at their word; below it they are too high. Bins have about equally "
    "many rows; where in a cell a score lies is not known, so that mean scores are those of the cells' middles.",
    "counts": "Positives (up) and negatives (down) in each cell of the grid, each with a scale of its own. All cells "
    "are drawn equally wide; the numbers below are edges of cells.",
}

_BANDS = (
    " Dark: where the curve of these rows lies as a whole, noise allowed for; light: where the population's does, "
    "sampling as well. {steps}"
)

_STEPS = "Between the grid's thresholds bands leave the curve open, hence their steps."


def curve_name(release: Release) -> str | None:
    """A curve, or a threshold that was chosen, in words; None for other numbers."""
    if release.metric == "threshold":
        safe = ", safe" if release.options["safe"] else ""
        return f"threshold for an estimated {release.options['target']} of {release.options['at_least']:g}{safe}"
    return NAMES.get(release.metric)


def from_cells(release: Release) -> bool:
    """Whether a number follows from a table of noisy counts on a grid."""
    return "shape" in release.options


def is_curve(release: Release) -> bool:
    """Whether there is a curve to draw."""
    return release.metric in CURVES and release.curve is not None


def achieved_table(releases: Sequence[Release]) -> Table | None:
    """What the threshold that was chosen achieves."""
    chosen = next((release for release in releases if release.metric == "threshold"), None)
    if chosen is None:
        return None
    level = f"{100 * chosen.intervals.sample.level:g} %"
    return Table(
        title=f"At the chosen threshold, {number(chosen.value, 4)}{_ENDS.get(chosen.value, '')}",
        head=("measure", "value", f"sample, {level}", f"population, {level}"),
        body=tuple(
            (
                measure,
                number(chosen.parts[measure]),
                *(_ends(chosen.parts[f"{measure}_intervals"][name]) for name in ("sample", "population")),
            )
            for measure in ("recall", "specificity")
        ),
        note="These intervals hold although the threshold was chosen after looking: they hold for all edges of the "
        f"grid at once. {_how_sure(chosen)}",
    )  # fmt: skip


_ENDS = {math.inf: ": nobody is called positive", -math.inf: ": everybody is called positive"}


def _how_sure(chosen: Release) -> str:
    if math.isinf(chosen.value):
        return "No edge of the grid was found to reach the target: give more epsilon, a finer grid or a lower target."
    if chosen.options["safe"]:
        return "Even the lower end of the sample's interval reaches the target."
    return "The target is reached by estimate; a safe threshold reaches it at the interval's lower end."


def _ends(plain: dict[str, Any]) -> str:
    return f"{plain['lower']:.3f} to {plain['upper']:.3f}"


def curve_notes(releases: Sequence[Release]) -> Iterator[str]:
    """What a reader of private curves should know."""
    counted = next((release for release in releases if from_cells(release)), None)
    if counted is not None:
        yield (
            f"All from one table of noisy counts on {cells_of(counted)} cells of scores. Curves and the AUC take the "
            "order within a cell that its neighbours suggest; other values take the classes to be mixed evenly within "
            f"a cell, and their intervals leave that order open. {_range_note(counted)}"
        )
        yield from _crowded(releases)
        yield _shape_note(counted.options["shape"])
    if any(release.curve is not None and release.curve.bands for release in releases):
        yield "Bands hold for the whole curve at once."
    if any("assumed" in release.options for release in releases):
        yield "The ROC curve's shape is an assumption, and its bands rest on it: only its area was measured."


def _crowded(releases: Sequence[Release]) -> Iterator[str]:
    """Whether most rows lie in one cell, which the released table itself shows."""
    table = next((release.curve for release in releases if release.metric == "counts"), None)
    if table is None or "positives" not in table.points:
        return
    rows = [ours + theirs for ours, theirs in zip(table.points["positives"], table.points["negatives"], strict=True)]
    if max(rows) > 0.8 * sum(rows):
        yield "Most rows lie in one cell: the grid does not fit these scores, and another one would tell more."


def _range_note(release: Release) -> str:
    """Between which scores cells lie: a grid that does not fit costs as much, and says little."""
    grid = release.options.get("grid")
    low, high = release.options.get("range", [grid[0], grid[-1]] if grid else [0.0, 1.0])
    return f"Scores are counted between {low:.4g} and {high:.4g}; those outside the grid count in its end cells."


def cells_of(release: Release) -> int:
    """How many cells the grid has."""
    return int(release.options["cells"] if "cells" in release.options else len(release.options["grid"]) - 1)


def _shape_note(shape: str) -> str:
    if shape == "concave":
        return (
            "Curves were drawn proper (concave): the higher the cell, the larger its share of positives, but for "
            "rounding to whole rows."
        )
    if shape in _MODELS:
        return f"Curves were drawn {_MODELS[shape]}, which is an assumption; the bands do not rest on it."
    return (
        "Curves were drawn through the noisy counts, dents and all: they contradict a proper (concave) curve, or this "
        "was asked for."
    )


def _probabilities(curve: ReleasedCurve) -> bool:
    return curve.points["lower_edge"][0] >= 0.0 and curve.points["upper_edge"][-1] <= 1.0


def curve_caption(release: Release) -> str:
    """What a picture shows, and what its shape rests on."""
    said = _CAPTIONS[release.metric]
    if release.curve is not None and release.curve.bands:
        said += _BANDS.format(steps=_STEPS if "threshold" in release.curve.points else "").rstrip()
    if release.metric == "calibration" and release.curve is not None and not _probabilities(release.curve):
        said += " The grid leaves [0, 1]: such scores are no probabilities, and the shares alone mean something."
    if "assumed" in release.options:
        said += (
            f" The shape is an assumption ({release.options['assumed']}): only the area was measured, and the bands "
            "hold as far as the assumption does."
        )
    elif release.options.get("shape") in _MODELS and release.metric != "counts":
        said += f" The shape ({_MODELS[release.options['shape']]}) is an assumption; the bands do not rest on it."
    return said
