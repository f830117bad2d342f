"""Origin of a result on pages and terminals, and the banner of exact results."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from confide.provenance import Provenance, PublicProvenance
from confide.report.writers.html import html_table
from confide.report.writers.terminal import Table, print_line

if TYPE_CHECKING:
    from rich.console import Console


TITLE = "Where this comes from"

CLASS_SIZES = (
    "The exact numbers of positives and negatives are published too. They alone reveal the last label to an insider, "
    "who knows all others: no release beside them can be private against an insider."
)


def provenance_section(origin: Provenance | PublicProvenance) -> list[str]:
    """Return the section of a page."""
    return [f"<h2>{TITLE}</h2>", html_table(provenance_table(origin), caption=False, prose=True)]


def provenance_table(origin: Provenance | PublicProvenance) -> Table:
    """Return one line for each known fact."""
    return Table(title=TITLE, head=("", "value"), body=tuple(_facts(origin)), text_columns=("value",))


def provenance_line(origin: Provenance | PublicProvenance) -> str:
    """Return the facts in one line: the first names the version, the others follow after semicolons."""
    (_, version), *others = _facts(origin)
    return "; ".join((version, *(f"{name} {value}" for name, value in others)))


def print_provenance(origin: Provenance | PublicProvenance, console: Console) -> None:
    """Print the facts in one line."""
    print_line(provenance_line(origin), console)


def _facts(origin: Provenance | PublicProvenance) -> Iterator[tuple[str, str]]:
    yield "version", f"confide {origin.version}"
    yield "date", origin.date.isoformat()
    if isinstance(origin, PublicProvenance):
        return
    if origin.command is not None:
        yield "command", origin.command
    if origin.sha256 is not None:
        yield "SHA-256 of the file", origin.sha256
    if origin.seed is not None:
        yield "seed", str(origin.seed)


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
