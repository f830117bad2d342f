"""Check of a file of scores on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.report.shared.text import print_bullets, print_line
from confide.tasks.contest_check import SubmissionCheck

if TYPE_CHECKING:
    from rich.console import Console


def print_check(check: SubmissionCheck, file: str, console: Console) -> None:
    """Print whether a file fits a contest, or every problem with its next step."""
    if not check.fits:
        print_line(f"{file} does not fit contest {check.contest}, whose template has {check.rows:,} rows:", console)
        print_bullets((f"{problem}." for problem in check.problems), console)
        return
    order = "in the order of the template" if check.in_order else "in another order than the template, which is fine"
    print_line(f"{file} fits contest {check.contest}: {check.rows:,} rows, {order}.", console)
    print_line(f"Scores lie between {check.lowest:g} and {check.highest:g}; {check.distinct:,} are distinct.", console)
    if check.constant:
        print_line("All scores are equal, so they rank nothing. Check that this is the right column.", console)
