"""Text of a scored submission and of a board, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from confide.contest.terms import Mode
from confide.report.shared.numbers import DASH, amount, has_ends, interval_text, number, percent
from confide.report.shared.tables import Table
from confide.report.shared.text import print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from confide.client.results import Leaderboard, LeaderboardEntry, Limits, Submission
    from confide.contest.terms import ContestTerms
    from confide.intervals.interval import Interval


def print_submission(done: Submission, board: Leaderboard | None, terms: ContestTerms, console: Console) -> None:
    """Print the value of a submission, its intervals, its place on the board and what is left."""
    for line in submission_lines(done, board, terms.metric.title, mode=terms.mode):
        print_line(line, console)


def submission_lines(
    done: Submission, board: Leaderboard | None, title: str, *, mode: Mode = Mode.MASKED
) -> Iterator[str]:
    """Yield what a participant wants to know of a submission; `title` names the metric, `mode` how it is answered."""
    noise = "as labels are masked" if mode == Mode.MASKED else "as the answer has noise"
    yield f"{title} {number(done.value, 4)}: submission {done.id} of {done.participant} to {done.contest}"
    yield f"  on the contest's rows: {_interval(done.sample)}, {noise}"
    yield f"  on new rows like them: {_interval(done.population)}, with sampling error"
    entry = None if board is None else board.entry(done.participant)
    if board is not None and entry is not None:
        yield f"  {_place(done, entry, len(board.entries))}"
    if done.replayed:
        yield "  the server has these scores already: nothing was counted again"
    if done.limits is not None:
        yield f"  {limits_line(done.limits)}"


def limits_line(limits: Limits) -> str:
    """Write how many submissions are left."""
    today = f"{amount(limits.daily_left)} of {amount(limits.daily_limit)} until {moment_text(limits.resets_at)}"
    return f"submissions left: {today}, {amount(limits.total_left)} of {amount(limits.total_limit)} in all"


def print_board(board: Leaderboard, title: str, console: Console) -> None:
    """Print a board. Entries that cannot be told apart share a rank."""
    print_table(board_table(board, title), console)


def board_table(board: Leaderboard, title: str) -> Table:
    """Return a board as a table; `title` names the metric."""
    body = tuple(
        (
            rank_text(entry),
            entry.name,
            number(entry.value, 4),
            interval_text(entry.sample),
            interval_text(entry.population),
            amount(entry.submissions),
        )
        for entry in board.entries
    )
    return Table(
        title=f"Board of {board.contest}, {counted(board.scored, 'submission')} scored",
        head=("rank", "participant", title, "these rows", "new rows", "submissions"),
        body=body,
        note="A rank counts the entries that are significantly better; in brackets the ranks that are possible.",
        text_columns=("participant",),
    )


def rank_text(entry: LeaderboardEntry) -> str:
    """Write a rank with the ranks that are possible.

    A rank that is certain stands alone.
    """
    lowest, highest = entry.rank_lowest, entry.rank_highest
    return str(entry.rank) if lowest == highest else f"{entry.rank} ({lowest}–{highest})"


def _place(done: Submission, entry: LeaderboardEntry, entries: int) -> str:
    own = (
        "your entry" if entry.submission == done.id else f"your entry, {number(entry.value, 4)} by {entry.submission},"
    )
    open_ranks = (
        ""
        if entry.rank_lowest == entry.rank_highest
        else (f"; between {entry.rank_lowest} and {entry.rank_highest} are possible")
    )
    return f"on the board, {own} has rank {entry.rank} of {entries}{open_ranks}"


def _interval(interval: Interval | None) -> str:
    if not has_ends(interval):
        return DASH
    return f"{interval_text(interval, 4)} ({percent(interval.level)} interval)"


def counted(count: int, word: str) -> str:
    """Write a count with its word.

    >>> counted(1, "submission"), counted(1200, "submission")
    ('1 submission', '1,200 submissions')
    """
    return f"{amount(count)} {word}{'' if count == 1 else 's'}"


def moment_text(moment: str) -> str:
    """Write a moment of the server, which is in UTC, up to the minute.

    >>> moment_text("2026-11-17T06:02:33.123456+00:00")
    '2026-11-17 06:02 UTC'
    """
    return f"{moment[:16].replace('T', ' ')} UTC"
