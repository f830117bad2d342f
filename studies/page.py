"""Every study for people: tables on a terminal, and one HTML page with every figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from confide.report import style
from confide.report.writers.html import bullets, figure, figures, html_table, lead, warnings, whole_page
from confide.report.writers.terminal import Table, print_bullets, print_line, print_table
from studies.claims import CLEAR, Answer
from studies.exhibits import Exhibit, Picture, StudyReport
from studies.published import Comparison

if TYPE_CHECKING:
    from rich.console import Console

FOOTER = (
    "Public or simulated data alone. Noise is drawn from a seed, so that the study can be repeated: nothing on this "
    "page is a private release. Made with confide."
)
CLAIMS = (
    "We turn each of the paper's claims into differences that are positive if it is true. All clearly positive: it "
    "holds. All clearly negative: it does not hold. Mixed: in part. None clear: unclear. Clear means "
    f"{CLEAR:g} standard errors. Claims that allow no exceptions hold if there are none."
)
READ_OFF = "Numbers with a star were read off a picture; the others are printed in the paper."


def print_study(report: StudyReport, console: Console) -> None:
    """Print the count of claims and those that do not hold, then every table by its figure, then all claims."""
    print_line(report.lead, console)
    print_bullets(report.warnings, console)
    console.print()
    print_line(counted(report), console)
    print_bullets(failing(report), console)
    for exhibit in report.exhibits:
        console.print()
        print_line(f"{exhibit.where}: {exhibit.title}", console)
        for table in (*exhibit.tables, *_beside(report.comparisons_of(exhibit.where))):
            print_table(table, console)
        print_bullets(exhibit.notes, console)
    for table in report.summary_tables:
        console.print()
        print_table(table, console)
    claims = (CLAIMS, *(claim.text for claim in report.claims))
    for lines in (claims, report.corrections, report.summary):
        console.print()
        print_bullets(lines, console)


def study_page(report: StudyReport) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    return whole_page(report.paper.title, _parts(report), footer=FOOTER)


def counted(report: StudyReport) -> str:
    """Count the claims by their verdict.

    A claim that holds in part is clear in some settings only.
    """
    answers = report.answers
    words = ", ".join(f"{answers[answer]} {_WORDS[answer]}" for answer in Answer)
    return f"{len(report.claims)} claims tried: {words}."


def failing(report: StudyReport) -> list[str]:
    """Return the claims that do not hold, with their verdicts."""
    return [claim.text for claim in report.claims if claim.verdict.answer is Answer.FAILS]


_LONGEST_NAME = 60
"""Number of characters beyond which a cell holds a sentence, which breaks into lines."""

_WORDS = {Answer.HOLDS: "hold", Answer.FAILS: "do not hold", Answer.IN_PART: "hold in part", Answer.UNCLEAR: "unclear"}


def _parts(report: StudyReport) -> Iterator[str]:
    yield lead(report.paper.reference)
    yield lead(report.lead)
    yield warnings(report.warnings)
    for table in report.summary_tables:
        yield html_table(table, prose=_has_sentences(table))
    yield bullets((*report.summary, counted(report)))
    if failing(report):
        yield f"<p>These claims do not hold:</p>{bullets(failing(report))}"
    for exhibit in report.exhibits:
        yield from _exhibit(report, exhibit)
    if report.corrections:
        yield "<h2>Where paper and results do not agree</h2>"
        yield bullets(report.corrections)
    yield "<h2>How it was done</h2>"
    yield bullets((*report.setup, CLAIMS))


def _has_sentences(table: Table) -> bool:
    return any(len(cell) > _LONGEST_NAME for row in table.body for cell in row)


def _exhibit(report: StudyReport, exhibit: Exhibit) -> Iterator[str]:
    yield f"<h2>{escape(exhibit.where)}: {escape(exhibit.title)}</h2>"
    if exhibit.pictures:
        yield figures(_drawn(picture) for picture in exhibit.pictures)
    for note in exhibit.notes:
        yield f'<p class="note">{escape(note)}</p>'
    for table in (*exhibit.tables, *_beside(report.comparisons_of(exhibit.where))):
        yield html_table(table)
    claims = report.claims_of(exhibit.where)
    if claims:
        yield bullets(f"{claim.sentence} Here: {claim.verdict.text}." for claim in claims)


def _drawn(picture: Picture) -> str:
    return figure(style.as_svg(picture.draw, picture.data, size=picture.size), picture.name, picture.caption)


def _beside(comparisons: Sequence[Comparison]) -> Iterator[Table]:
    if comparisons:
        yield Table(
            title="Ours beside what is published",
            head=("number", "ours", "published", "ours − published", ""),
            body=tuple(
                (
                    beside.name,
                    beside.ours.text,
                    beside.published.text,
                    beside.difference.signed,
                    "agrees" if beside.agrees else "differs",
                )
                for beside in comparisons
            ),
            note=READ_OFF if any(beside.published.read_off for beside in comparisons) else "",
            text_columns=("",),
        )
