"""A validation that came to no result: a table of all sites for the terminal, and JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from confide.federation.site_state import SiteState
from confide.report.validation.word_table import print_words

if TYPE_CHECKING:
    from rich.console import Console

    from confide.federation.outcome import RunError, SiteReport
    from confide.federation.question import Question

SCHEMA = "confide.validation-failure/1"


def print_failure(error: RunError, console: Console, *, words: Callable[[str], str] = str) -> None:
    """Print how each site took part, and its message; `words` turns parameters in messages into flags."""
    body = [(report.name, state_words(report, error), words(report.message) or "–") for report in error.reports]
    print_words("Reply of each site", ("site", "state", "message"), body, console)


def failure_document(error: RunError, question: Question) -> dict[str, Any]:
    """Return plain data in the published schema."""
    return {
        "schema": SCHEMA,
        "question": question.to_dict(),
        "sites": [report.to_dict() for report in error.reports],
        "error": error.summary,
        "exit_code": error.exit_code,
    }


def state_words(report: SiteReport, error: RunError) -> str:
    """Return the state of a site after a failed run, in which no answer came to a result."""
    if report.state is not SiteState.ANSWERED:
        return report.state
    return "was ready" if error.rounds < 2 else "did its part"
