"""Tables of measures with their intervals, models side by side or below each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from confide.intervals.interval import Estimate
from confide.report.shared.numbers import DASH, estimate_text, has_ends, interval_text, number, percent
from confide.report.shared.tables import Table

_SIDE_BY_SIDE = 3  # models whose columns fit beside each other
_METHOD = "interval by"


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure and its estimate for each model, None where it does not exist."""

    title: str
    estimates: tuple[Estimate | None, ...]


def measure_table(title: str, models: Sequence[str], measures: Sequence[Measure], *, level: float, note: str) -> Table:
    """Return a table of measures; for more than three models each has lines of its own."""
    known = [measure for measure in measures if any(each is not None for each in measure.estimates)]
    if len(models) > _SIDE_BY_SIDE:
        return _below_each_other(title, models, known, level, note)
    body = tuple(
        (measure.title, *(estimate_text(each) for each in measure.estimates), methods(measure.estimates))
        for measure in known
    )
    interval = f"Intervals: {percent(level)}."
    return Table(
        title=title,
        head=("measure", *models, _METHOD),
        body=body,
        note=f"{interval} {note}".strip(),
        text_columns=(_METHOD,),
    )


def methods(estimates: Sequence[Estimate | None]) -> str:
    """Name the methods of the intervals, each once; a dash without any."""
    named = [each.interval.method for each in estimates if each is not None and has_ends(each.interval)]
    return " / ".join(dict.fromkeys(named)) or DASH


def _below_each_other(title: str, models: Sequence[str], measures: Sequence[Measure], level: float, note: str) -> Table:
    body = tuple(
        (
            measure.title,
            model,
            number(None if each is None else each.value),
            interval_text(None if each is None else each.interval),
            methods((each,)),
        )
        for measure in measures
        for model, each in zip(models, measure.estimates, strict=True)
    )
    head = ("measure", "score", "value", f"{percent(level)} interval", _METHOD)
    return Table(title=title, head=head, body=body, note=note, text_columns=("score", _METHOD))
