"""Names of released metrics, and what kind of number each is."""

from __future__ import annotations

import math

from confide.releases.confusion import CONFUSION_METRICS
from confide.releases.curves_release import CURVES
from confide.releases.release import Release

NAMES = {
    "roc": "ROC curve, area",
    "pr": "PR curve, average precision",
    "calibration": "calibration, observed : expected",
    "counts": "rows",
    "observed_expected": "observed : expected",
}

SHAPE_NAMES = {"binormal": "binormal", "roc-glm": "ROC-GLM"}
"""Parametric shapes of curves, in words."""

RATIOS_AND_PLACES = ("calibration", "counts", "observed_expected", "threshold")
"""Metrics that are ratios or positions, and so share no axis with proportions."""


def metric_name(release: Release) -> str:
    """Return a metric in words, with its threshold."""
    of_curve = curve_name(release)
    if of_curve is not None:
        return of_curve
    words = release.metric.replace("_", " ")
    words = words.upper() if words == "auc" else "Brier score" if words == "brier" else words
    return f"{words} at {release.options['threshold']:g}" if at_a_threshold(release) else words


def curve_name(release: Release) -> str | None:
    """Return a curve, or a chosen threshold, in words; None for other numbers."""
    if release.metric == "threshold":
        safe = ", safe" if release.options["safe"] else ""
        return f"threshold for an estimated {release.options['target']} of {release.options['at_least']:g}{safe}"
    return NAMES.get(release.metric)


def at_a_threshold(release: Release) -> bool:
    """Return whether a number belongs to a confusion matrix at a threshold."""
    return release.metric in CONFUSION_METRICS and "threshold" in release.options


def from_cells(release: Release) -> bool:
    """Return whether a number was computed from noisy counts on a grid."""
    return "shape" in release.options


def is_curve(release: Release) -> bool:
    """Return whether there is a curve to draw."""
    return release.metric in CURVES and release.curve is not None


def drawable(release: Release) -> bool:
    """Return whether a number lies in [0, 1] or [-1, 1] by definition, so that one axis fits all of them."""
    if release.metric in RATIOS_AND_PLACES:
        return False
    ends = (release.intervals.population.lower, release.intervals.population.upper)
    return not math.isnan(release.value) and release.intervals.sample.upper <= 1.0 and -1.0 <= ends[0] <= ends[1] <= 1.0
