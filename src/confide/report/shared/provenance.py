"""Origin of a result on pages and terminals: version, day, command, digest and seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from confide.provenance import Provenance, PublicProvenance
from confide.report.shared.page import html_table
from confide.report.shared.tables import Table
from confide.report.shared.text import print_line

if TYPE_CHECKING:
    from rich.console import Console

TITLE = "Where this comes from"


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
