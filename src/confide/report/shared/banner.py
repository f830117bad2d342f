"""Banner of exact results: they are not for publication where labels are private, and `confide release` is."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from confide.report.shared.text import print_line

if TYPE_CHECKING:
    from rich.console import Console

HEADLINE = "Exact numbers, not differentially private."
ADVICE = "Where labels are private, do not publish them: exact numbers can reveal labels."
COMMAND = "confide release"


def exact_banner() -> str:
    """Return the banner that opens the page of an exact evaluation."""
    return (
        f'<p class="banner" role="note"><strong>{escape(HEADLINE)}</strong> {escape(ADVICE)} '
        f"To publish, make private numbers with <code>{escape(COMMAND)}</code>.</p>"
    )


def banner_text() -> str:
    """Return the banner as one line of plain text."""
    return f"{HEADLINE} {ADVICE} To publish, make private numbers with `{COMMAND}`."


def print_banner(console: Console) -> None:
    """Print the banner. Give a console on standard error: results go to standard output."""
    print_line(banner_text(), console)
