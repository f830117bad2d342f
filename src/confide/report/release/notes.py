"""Notes below the tables of a release, made from the released numbers alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from confide.releases.release import Release
from confide.report.release.names import SHAPE_NAMES, at_a_threshold, drawable, from_cells, metric_name

_WITHOUT_ORDER = {"roc", "auc", "counts", "prevalence"}
"""Metrics that need no assumption that classes are mixed evenly within a cell."""


def notes(releases: Sequence[Release]) -> list[str]:
    """Return what a reader of these numbers should know."""
    lines = []
    if any(at_a_threshold(release) for release in releases):
        lines.append("At a threshold: rows with a score at or above it are called positive.")
    if any("scores_cut_to" in release.options for release in releases):
        lines.append(
            "For the Brier score, scores are clipped to [0, 1] first; it has a meaning for probabilities only."
        )
    if any(release.metric == "average_precision" and not from_cells(release) for release in releases):
        lines.append("Average precision ranks tied negatives above positives.")
    lines += curve_notes(releases)
    empty = [metric_name(release) for release in releases if says_little(release)]
    if empty:
        lines.append(
            f"The interval of {', '.join(empty)} covers nearly all possible values: there are too few rows for this "
            "epsilon, or the grid does not fit the scores."
        )
    return lines


def says_little(release: Release) -> bool:
    """Return whether the interval of a proportion covers nearly all of [0, 1]."""
    return drawable(release) and release.intervals.sample.width >= 0.9


def curve_notes(releases: Sequence[Release]) -> Iterator[str]:
    """Yield what a reader of private curves should know."""
    counted = next((release for release in releases if from_cells(release)), None)
    if counted is not None:
        own_auc = any(has_own_auc(release) for release in releases)
        yield f"{_table_note(counted, own_auc=own_auc)} {_order_note(releases, own_auc=own_auc)}{_range_note(counted)}"
        yield from _crowded(releases)
        if any(release.curve is not None for release in releases):
            yield _shape_note(counted.options["shape"])
    if any(release.curve is not None and release.curve.bands for release in releases):
        yield "Bands are simultaneous: they cover the whole curve."
    if any("assumed" in release.options for release in releases):
        yield "The shape of the ROC curve is an assumption, and its bands depend on it: only the area was measured."


def has_own_auc(release: Release) -> bool:
    """Return whether the AUC of a ROC curve was released with noise of its own."""
    return release.metric == "roc" and "area" in release.options and from_cells(release)


def _table_note(counted: Release, *, own_auc: bool) -> str:
    """Return which numbers come from the table of noisy counts."""
    table = f"one table of noisy counts in {cells_of(counted)} cells of scores."
    if not own_auc:
        return f"All numbers come from {table}"
    return (
        "The AUC, also that of the ROC curve, has noise of its own, for a quarter of epsilon; the area under the drawn "
        f"curve may differ from it. All other numbers come from {table}"
    )


def _order_note(releases: Sequence[Release], *, own_auc: bool) -> str:
    """Return what is assumed about the order of rows within a cell, for the numbers that were released."""
    metrics = {release.metric for release in releases}
    curves, area = bool(metrics & {"roc", "pr"}), bool(metrics & {"roc", "auc"}) and not own_auc
    ranked = "Curves and the AUC estimate" if curves and area else "Curves estimate" if curves else "The AUC estimates"
    lines = [f"{ranked} the order within a cell from its neighbours. "] if curves or area else []
    if metrics - _WITHOUT_ORDER:
        lines.append(
            f"{'Other values' if lines else 'Values'} assume that classes are mixed evenly within a cell, and their "
            "intervals allow for any order. "
        )
    return "".join(lines)


def _crowded(releases: Sequence[Release]) -> Iterator[str]:
    """Yield a note if most rows lie in one cell, judged from the released counts."""
    table = next((release.curve for release in releases if release.metric == "counts"), None)
    if table is None or "positives" not in table.points:
        return
    rows = [ours + theirs for ours, theirs in zip(table.points["positives"], table.points["negatives"], strict=True)]
    if max(rows) > 0.8 * sum(rows):
        yield "Most rows lie in one cell: the grid does not fit these scores, and a better one would tell more."


def _range_note(release: Release) -> str:
    """Return the range of scores that the grid covers."""
    grid = release.options.get("grid")
    low, high = release.options.get("range", [grid[0], grid[-1]] if grid else [0.0, 1.0])
    return f"Scores are counted between {low:.4g} and {high:.4g}; those outside the grid count in its end cells."


def cells_of(release: Release) -> int:
    """Return the number of cells of the grid."""
    return int(release.options["cells"] if "cells" in release.options else len(release.options["grid"]) - 1)


def _shape_note(shape: str) -> str:
    if shape == "concave":
        return (
            "Curves were made proper (concave): the share of positives rises from cell to cell, up to rounding to "
            "whole rows."
        )
    if shape in SHAPE_NAMES:
        return f"Curves have a {SHAPE_NAMES[shape]} shape, which is an assumption; the bands do not depend on it."
    return (
        "Curves follow the noisy counts, including their dents: either the counts contradict a proper (concave) curve, "
        "or this shape was requested."
    )
