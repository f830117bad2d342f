"""What pages show, as plain text: contests, boards, finals and submissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from confide.contest.metric import ContestMetric
from confide.contest.server.clock import written
from confide.contest.terms import ContestTerms, FinalMechanism
from confide.intervals.interval import Interval
from confide.report.contest_plots import Move, RankedEntry, dot_plot, slope_plot
from confide.report.numbers import DASH, interval_text, number, percent
from confide.report.promises import at_most

WIDE, PHONE = 1000, 358
"""Widths of plots in pixels. The style sheet shows one of the two."""


SHOWN, DRAWN = 1_000, 100
"""Entries in the table and in the plot of a page. The API lists all of them."""


@dataclass(frozen=True, slots=True)
class Plot:
    """SVG of one plot in two widths. Templates do not escape it: the functions that draw it have escaped all names."""

    wide: str
    narrow: str


@dataclass(frozen=True, slots=True)
class Tab:
    """A link between the pages of a contest."""

    name: str
    address: str
    current: bool


@dataclass(frozen=True, slots=True)
class ContestView:
    """A contest as pages name it."""

    name: str
    title: str
    state: str
    summary: str
    rows: str
    id_column: str
    score_column: str

    @classmethod
    def of(cls, terms: ContestTerms, state: str, *, participants: int, submissions: int) -> ContestView:
        """Return the view of a contest."""
        people = f"{participants:,} {'participant' if participants == 1 else 'participants'}"
        files = f"{submissions:,} scored {'submission' if submissions == 1 else 'submissions'}"
        return cls(
            name=terms.name,
            title=terms.title,
            state=state,
            summary=f"{_capital(terms.metric.title)} · {people} · {files} · epsilon {float(terms.epsilon):g}: at most "
            f"{at_most(terms.certainty)} % sure of one label" + ("" if terms.flip else " after one answer"),
            rows=f"{terms.rows:,}",
            id_column=terms.id_column,
            score_column=terms.score_column,
        )

    @property
    def address(self) -> str:
        """Return the path of the contest's page."""
        return f"/contests/{self.name}"

    @property
    def open(self) -> bool:
        """Return whether the contest takes submissions."""
        return self.state == "open"


def tabs(contest: ContestView, current: str, *, participant: bool, organiser: bool, final: bool) -> list[Tab]:
    """Return the links that a reader can use."""
    names = [("Board", "")]
    if not organiser and (contest.open or (participant and contest.state in ("draft", "paused"))):
        names.append(("Submit", "/submit"))
    if participant:
        names.append(("My submissions", "/mine"))
    if final:
        names.append(("Final", "/final"))
    if organiser:
        names.append(("Organise", "/organise"))
    return [Tab(name, contest.address + path, path == current) for name, path in names]


def facts(terms: ContestTerms) -> list[tuple[str, str]]:
    """Return the terms for readers."""
    known = [
        ("Metric", f"{terms.metric.title}, estimated without bias, with {percent(terms.level)} intervals"),
        ("Rows to score", f"{terms.rows:,}"),
        ("Rows of the board", f"{terms.public_rows:,}, chosen by a keyed hash of the id"),
        ("Epsilon of the board", f"{float(terms.epsilon):g}" + ("" if terms.flip else " for each answer")),
    ]
    if terms.flip is not None:
        known.append(("Flipped labels", f"each with probability {100 * float(terms.flip):.4g} %"))
    if terms.final_epsilon is not None:
        shaped = terms.final_mechanism == FinalMechanism.SHAPED
        delta = f", delta {float(terms.final_delta):.2g}" if shaped else ""
        how = "noise shaped to the finalists" if shaped else "masked labels"
        known.append(("Final", f"once, on {terms.rows - terms.public_rows:,} other rows, by {how}"))
        known.append(("Epsilon of the final", f"{float(terms.final_epsilon):g}{delta}"))
        known.append(("Finalists", f"at most {terms.finalists} for each participant"))
    known.append(("Submissions", f"{terms.daily_limit:,} a day (UTC), {terms.total_limit:,} in all; scored files only"))
    return known


@dataclass(frozen=True, slots=True)
class RankRow:
    """One line of a table of ranks."""

    rank: str
    span: str
    name: str
    value: str
    sample: str
    population: str
    submissions: str
    band: bool
    own: bool


def rank_rows(entries: Sequence[RankedEntry], own: str | None) -> list[RankRow]:
    """Return the lines of a table of ranks; each second group of ties is shaded."""
    rows = []
    for place, (_, members) in enumerate(groupby(entries, key=lambda entry: entry.rank)):
        for entry in members:
            rows.append(
                RankRow(
                    rank=str(entry.rank),
                    span=span_text(entry.rank_lowest, entry.rank_highest),
                    name=entry.name,
                    value=number(entry.value, 4),
                    sample=interval_text(entry.sample, 4),
                    population=interval_text(entry.population, 4),
                    submissions=f"{getattr(entry, 'submissions', 0):,}",
                    band=place % 2 == 0,
                    own=entry.name == own,
                )
            )
    return rows


def first_entries(entries: Sequence[RankedEntry], most: int, own: str | None) -> Sequence[RankedEntry]:
    """Return the first entries, and after them the reader's own if it is not among them."""
    return [*entries[:most], *(entry for entry in entries[most:] if entry.name == own)]


def parts_words(entries: int) -> str:
    """Say that a plot or a table leaves entries out; the empty text if none does."""
    if entries <= DRAWN:
        return ""
    table = "" if entries <= SHOWN else f", and the table the first {SHOWN:,}; programs read all of them"
    return f" The plot shows the first {DRAWN:,} of {entries:,} entries{table}."


def late_words(as_of: datetime) -> str:
    """Say that a board is old."""
    return (
        f"This board is of {moment(written(as_of))} UTC. A newer one could not be computed, so later submissions are "
        "missing. They are recorded, and the server keeps trying."
    )


def span_text(lowest: int, highest: int) -> str:
    """Write an interval of ranks."""
    return str(lowest) if lowest == highest else f"{lowest} to {highest}"


def entries_plot(entries: Sequence[RankedEntry], metric: ContestMetric, own: str | None, name: str) -> Plot:
    """Draw a board or a final in both widths."""
    return Plot(*(dot_plot(entries, metric, width=width, prefix=f"{name}-{width}", own=own) for width in (WIDE, PHONE)))


def ties_words(entries: Sequence[RankedEntry]) -> str:
    """Say how many entries share the first rank."""
    first = sum(entry.rank == 1 for entry in entries)
    if len(entries) == 1:
        return "One entry so far."
    if first == 1:
        return f"{len(entries):,} entries. The first is better than every other by more than chance explains."
    if first == len(entries):
        return f"{len(entries):,} entries. They share rank 1: the data cannot tell any two of them apart yet."
    return f"{len(entries):,} entries. {first} of them share rank 1: no entry is significantly better than any of them."


def ranks_note(level: float) -> str:
    """Explain ranks and intervals."""
    return (
        "The rank is 1 plus the number of entries that are significantly better (paired comparisons, corrected for "
        "their number). Entries with the same rank are a tie, and no tie is broken by time. The interval for these "
        "rows reflects the noise that protects the labels; that for new rows also reflects the choice of rows. Both "
        f"hold at {percent(level)} for one entry, chosen beforehand."
    )


CAPTION = (
    "Each line is one participant's best submission. Dot: estimate. Thick bar: interval for these rows. Thin line: "
    "interval for new rows. Band: entries that share a rank. The table below holds the same numbers."
)


def moves_plot(moves: Sequence[Move]) -> Plot:
    """Draw the shake-up in both widths."""
    return Plot(*(slope_plot(moves, width=width, prefix=f"moves-{width}") for width in (760, PHONE)))


def move_rows(moves: Sequence[Move]) -> list[dict[str, str]]:
    """Return the lines of the table of the shake-up."""
    return [
        {
            "name": move.name,
            "before": str(move.before),
            "before_span": span_text(*move.before_span),
            "after": str(move.after),
            "after_span": span_text(*move.after_span),
            "words": move.words(),
        }
        for move in moves
    ]


def interval_of(plain: Mapping[str, Any]) -> Interval:
    """Read an interval from plain data."""
    return Interval(
        lower=float(plain["lower"]),
        upper=float(plain["upper"]),
        level=float(plain["level"]),
        method=str(plain["method"]),
    )


def moment(text: str | None) -> str:
    """Write an instant in UTC to the minute; a dash if there is none.

    >>> moment("2026-01-02T03:04:05.678Z")
    '2026-01-02 03:04'
    """
    return DASH if text is None else text[:16].replace("T", " ")


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
