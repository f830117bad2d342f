"""Command `python -m studies all`."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.errors import UsageError
from confide.tasks.output_files import check_folder
from studies.catalogue import STUDIES
from studies.options import Asked, CacheOption, DataOption, FreshOption, JobsOption, JsonOption, QuickOption, SeedOption

if TYPE_CHECKING:
    from confide.report.writers.terminal import Table
    from studies.exhibits import StudyReport

LEFT_OUT = "left out"


def all_studies(
    data: DataOption = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="DIR", help="Write a page for each study, and one that leads to them."),
    ] = None,
    summary: Annotated[
        Path | None, typer.Option("--summary", metavar="DIR", help="Write a summary of each study, as JSON.")
    ] = None,
    quick: QuickOption = False,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    cache: CacheOption = None,
    fresh: FreshOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run all studies, one after the other, and count which claims hold.

    A study whose data are absent is left out and named. What was finished before a stop is not computed again.

    Examples:

        python -m studies all --quick

        python -m studies all --data texts --report pages
    """
    folders = [folder for folder in (report, summary) if folder is not None]
    for folder in folders:
        check_folder(folder, ())
    asked = Asked(quick=quick, seed=seed, jobs=jobs, data=data, cache=cache, fresh=fresh)
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    reports, missing = _run(asked, report, summary)
    if report is not None:
        output.write_whole(report / "index.html", _index(reports, missing))
        typer.echo(f"report: {report / 'index.html'}", err=True)
    if as_json:
        studies = [each.to_summary() for each in reports]
        output.print_json({"schema": "confide.study/1", "study": "all", "studies": studies, "left_out": missing})
        return
    from confide.report.writers.terminal import print_bullets, print_table

    console = output.console()
    print_table(overview(reports), console)
    print_bullets((f"{LEFT_OUT}: {name}. {why}" for name, why in missing.items()), console)


def _run(asked: Asked, pages: Path | None, summaries: Path | None) -> tuple[list[StudyReport], dict[str, str]]:
    from studies.page import study_page

    reports, missing = [], {}
    for entry in STUDIES:
        typer.echo(entry.name, err=True)
        if entry.needs_data and asked.data is None:
            missing[entry.name] = "It reads public files; name their folder with --data."
            continue
        try:
            found = entry.run(asked)
        except UsageError as refused:
            missing[entry.name] = str(refused)
            continue
        reports.append(found)
        if pages is not None:
            output.write_whole(pages / f"{entry.name}.html", study_page(found))
        if summaries is not None:
            output.write_whole(summaries / f"{entry.name}.json", output.as_json(found.to_summary()))
    return reports, missing


def overview(reports: list[StudyReport]) -> Table:
    """Count the claims of each study by their verdict."""
    from confide.report.writers.terminal import Table
    from studies.claims import Answer

    answers = (Answer.HOLDS, Answer.IN_PART, Answer.UNCLEAR, Answer.FAILS)
    return Table(
        title="Claims of the papers",
        head=("study", "tried", "hold", "in part", "unclear", "do not hold", "published numbers that agree"),
        body=tuple(
            (
                each.paper.study,
                str(len(each.claims)),
                *(str(each.answers[answer]) for answer in answers),
                f"{sum(beside.agrees for beside in each.comparisons)} of {len(each.comparisons)}",
            )
            for each in reports
        ),
    )


def _index(reports: list[StudyReport], missing: dict[str, str]) -> str:
    from confide.report.writers.html import bullets, html_table, whole_page
    from studies.page import FOOTER

    def parts() -> Iterator[str]:
        yield html_table(overview(reports))
        links = (
            (f"{each.paper.study}.html", escape(each.paper.title), escape(each.paper.reference)) for each in reports
        )
        items = (f'<li><a href="{page}">{title}</a><br>{reference}</li>' for page, title, reference in links)
        yield f"<ul>{''.join(items)}</ul>"
        if missing:
            yield bullets(f"{LEFT_OUT}: {name}. {why}" for name, why in missing.items())

    return whole_page("Studies of papers", parts(), footer=FOOTER)
