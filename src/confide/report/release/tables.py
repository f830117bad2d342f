"""Releases as tables: the numbers with both intervals, what they cost, what a reader should know."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from confide.intervals.interval import Interval
from confide.ledger.receipts import Receipt
from confide.privacy.guarantee import Guarantee, shown
from confide.releases.confusion import CELLS, CONFUSION_METRICS
from confide.releases.release import Release
from confide.report.release.curve_text import RATIOS_AND_PLACES, curve_name, curve_notes, from_cells
from confide.report.shared.tables import Table, number


def release_table(releases: Sequence[Release]) -> Table:
    """One line for each released number."""
    level = f"{100 * releases[0].intervals.sample.level:g} %"
    return Table(
        title="Private release",
        head=("metric", "value", f"sample, {level}", f"population, {level}", "mechanism"),
        body=tuple(
            (
                shown_name(release),
                number(release.value, _digits(release)),
                ends(release.intervals.sample, _digits(release)),
                ends(release.intervals.population, _digits(release)),
                release.mechanism,
            )
            for release in releases
        ),
        note=" ".join(notes(releases)),
    )


def ends(interval: Interval, digits: int = 3) -> str:
    """Write an interval, which may have no end or not exist."""
    if math.isnan(interval.lower):
        return "–"
    return f"{number(interval.lower, digits)} to {number(interval.upper, digits)}"


def shown_name(release: Release) -> str:
    """A metric in words, with its threshold."""
    of_curve = curve_name(release)
    if of_curve is not None:
        return of_curve
    words = release.metric.replace("_", " ")
    words = words.upper() if words == "auc" else "Brier score" if words == "brier" else words
    return f"{words} at {release.options['threshold']:g}" if _at_a_threshold(release) else words


def _at_a_threshold(release: Release) -> bool:
    return release.metric in CONFUSION_METRICS and "threshold" in release.options


def notes(releases: Sequence[Release]) -> list[str]:
    """What a reader of these numbers should know, from the numbers themselves."""
    said = []
    if any(_at_a_threshold(release) for release in releases):
        said.append("At a threshold: a score of at least so much is called positive.")
    if any("scores_cut_to" in release.options for release in releases):
        said.append("For the Brier score, scores are cut to [0, 1] first; it means something for probabilities only.")
    if any(release.metric == "average_precision" and not from_cells(release) for release in releases):
        said.append("Average precision counts tied negatives as above.")
    said += curve_notes(releases)
    empty = [shown_name(release) for release in releases if says_little(release)]
    if empty:
        said.append(
            f"The interval of {', '.join(empty)} leaves nearly everything open: too few rows for this epsilon, or a "
            "grid that does not fit the scores."
        )
    return said


def says_little(release: Release) -> bool:
    """Whether an interval for a number in [0, 1] covers nearly all of it."""
    return drawable(release) and release.intervals.sample.width >= 0.9


def drawable(release: Release) -> bool:
    """Whether a number lies in [0, 1] (or [-1, 1]) by its nature and so fits one picture."""
    if release.metric in RATIOS_AND_PLACES:
        return False
    ends = (release.intervals.population.lower, release.intervals.population.upper)
    return not math.isnan(release.value) and release.intervals.sample.upper <= 1.0 and -1.0 <= ends[0] <= ends[1] <= 1.0


def _digits(release: Release) -> int:
    if release.metric == "threshold":
        return 4
    if release.metric == "counts":
        return 0
    return 1 if release.metric in CELLS else 3


def split_table(parts: Sequence[tuple[Sequence[str], Guarantee]]) -> Table:
    """How the budget is divided among noises; metrics on one line share one."""
    return Table(
        title="Budget",
        head=("metrics", "epsilon", "delta"),
        body=tuple(
            (", ".join(name.replace("_", " ") for name in names), shown(part.epsilon), shown(part.delta))
            for names, part in parts
        ),
    )


def ledger_table(receipt: Receipt[Any]) -> Table:
    """What was paid and what is left."""
    return Table(
        title="Ledger",
        head=(
            "account",
            "charged",
            "spent in all",
            "left" if receipt.analyst is None else f"left to {receipt.analyst}",
        ),
        body=((receipt.account, receipt.in_words(), receipt.spent.in_words(), receipt.remaining.in_words()),),
    )


def about_table(about: Mapping[str, str]) -> Table:
    """What was measured."""
    return Table(title="What was measured", head=("", "meaning"), body=tuple(about.items()))


def one_line(release: Release) -> str:
    """The value with both intervals and the price."""
    intervals = release.intervals
    return (
        f"{shown_name(release)} {number(release.value)} (sample {ends(intervals.sample)}, "
        f"population {ends(intervals.population)}; epsilon {shown(release.guarantee.epsilon)}, "
        f"{release.guarantee.neighbours.value})"
    )
