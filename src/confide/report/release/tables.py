"""Tables of a release: the numbers with both intervals, the budget and the ledger."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from confide.intervals.interval import Interval
from confide.ledger.receipts import Receipt
from confide.privacy.guarantee import Guarantee, shown
from confide.releases.confusion import CELLS
from confide.releases.release import Release
from confide.report.release.names import metric_name
from confide.report.release.notes import notes
from confide.report.shared.numbers import interval_text, number, percent
from confide.report.shared.tables import Table


def release_table(releases: Sequence[Release]) -> Table:
    """Return one line for each released number, with both intervals."""
    level = percent(releases[0].intervals.sample.level)
    return Table(
        title="Private release",
        head=("metric", "value", f"sample, {level}", f"population, {level}", "mechanism"),
        body=tuple(
            (
                metric_name(release),
                number(release.value, _digits(release)),
                interval_text(release.intervals.sample, _digits(release)),
                interval_text(release.intervals.population, _digits(release)),
                release.mechanism,
            )
            for release in releases
        ),
        note=" ".join(notes(releases)),
        text_columns=("mechanism",),
    )


def _digits(release: Release) -> int:
    if release.metric == "threshold":
        return 4
    if release.metric == "counts":
        return 0
    return 1 if release.metric in CELLS else 3


def achieved_table(releases: Sequence[Release]) -> Table | None:
    """Return recall and specificity at the chosen threshold; None if none was chosen."""
    chosen = next((release for release in releases if release.metric == "threshold"), None)
    if chosen is None:
        return None
    level = percent(chosen.intervals.sample.level)
    return Table(
        title=f"At the chosen threshold, {number(chosen.value, 4)}{_ENDS.get(chosen.value, '')}",
        head=("measure", "value", f"sample, {level}", f"population, {level}"),
        body=tuple(_achieved_row(chosen, measure) for measure in ("recall", "specificity")),
        note="These intervals are valid although the threshold was chosen from the released numbers: they are "
        f"simultaneous over all edges of the grid. {_target_note(chosen)}",
    )


def _achieved_row(chosen: Release, measure: str) -> tuple[str, ...]:
    intervals = chosen.parts[f"{measure}_intervals"]
    ends = (interval_text(Interval(**intervals[name])) for name in ("sample", "population"))
    return (measure, number(chosen.parts[measure]), *ends)


_ENDS = {math.inf: ": nobody is called positive", -math.inf: ": everybody is called positive"}


def _target_note(chosen: Release) -> str:
    if math.isinf(chosen.value):
        return "No edge of the grid reaches the target: use more epsilon, a finer grid or a lower target."
    if chosen.options["safe"]:
        return "Even the lower end of the sample interval reaches the target."
    return "The estimate reaches the target; a safe threshold reaches it at the lower end of the interval."


def split_table(parts: Sequence[tuple[Sequence[str], Guarantee]]) -> Table:
    """Return how the budget is divided; metrics on one line share one draw of noise."""
    return Table(
        title="Budget",
        head=("metrics", "epsilon", "delta"),
        body=tuple(
            (
                ", ".join(name.replace("_", " ") for name in names),
                shown(part.epsilon, up=True),
                shown(part.delta, up=True),
            )
            for names, part in parts
        ),
    )


def split_of(receipt: Receipt[Release]) -> list[tuple[list[str], Guarantee]]:
    """Return the metrics of each answer, which share one draw of noise, with its guarantee."""
    return [([release.metric for release in answer], answer[0].guarantee) for answer in receipt.answers]


def ledger_table(receipt: Receipt[Any]) -> Table:
    """Return what was charged and what is left."""
    charged, note = receipt.in_a_cell()
    return Table(
        title="Ledger",
        head=(
            "account",
            "charged",
            "spent in total",
            "left" if receipt.analyst is None else f"left to {receipt.analyst}",
        ),
        body=((receipt.account, charged, receipt.spent.in_words(), receipt.remaining.in_words()),),
        note=note,
    )


def about_table(about: Mapping[str, str]) -> Table:
    """Return the description of what was measured."""
    return Table(title="What was measured", head=("", "meaning"), body=tuple(about.items()), text_columns=("meaning",))
