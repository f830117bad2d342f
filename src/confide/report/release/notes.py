"""Notes below the tables of a release, made from the released numbers alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from confide.releases.release import Release
from confide.report.release.names import SHAPE_NAMES, at_a_threshold, drawable, from_cells, metric_name


def notes(releases: Sequence[Release]) -> list[str]:
    """Return what a reader of these numbers should know."""
    said = []
    if any(at_a_threshold(release) for release in releases):
        said.append("At a threshold: a score of at least so much is called positive.")
    if any("scores_cut_to" in release.options for release in releases):
        said.append("For the Brier score, scores are cut to [0, 1] first; it means something for probabilities only.")
    if any(release.metric == "average_precision" and not from_cells(release) for release in releases):
        said.append("Average precision counts tied negatives as above.")
    said += curve_notes(releases)
    empty = [metric_name(release) for release in releases if says_little(release)]
    if empty:
        said.append(
            f"The interval of {', '.join(empty)} leaves nearly everything open: too few rows for this epsilon, or a "
            "grid that does not fit the scores."
        )
    return said


def says_little(release: Release) -> bool:
    """Return whether the interval of a proportion covers nearly all of [0, 1]."""
    return drawable(release) and release.intervals.sample.width >= 0.9


def curve_notes(releases: Sequence[Release]) -> Iterator[str]:
    """Yield what a reader of private curves should know."""
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
    """Yield a note if most rows lie in one cell, judged from the released counts."""
    table = next((release.curve for release in releases if release.metric == "counts"), None)
    if table is None or "positives" not in table.points:
        return
    rows = [ours + theirs for ours, theirs in zip(table.points["positives"], table.points["negatives"], strict=True)]
    if max(rows) > 0.8 * sum(rows):
        yield "Most rows lie in one cell: the grid does not fit these scores, and another one would tell more."


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
            "Curves were drawn proper (concave): the higher the cell, the larger its share of positives, but for "
            "rounding to whole rows."
        )
    if shape in SHAPE_NAMES:
        return f"Curves were drawn {SHAPE_NAMES[shape]}, which is an assumption; the bands do not rest on it."
    return (
        "Curves were drawn through the noisy counts, dents and all: they contradict a proper (concave) curve, or this "
        "was asked for."
    )
