"""`confide site pending`."""

from __future__ import annotations

import typer

from confide.cli import output
from confide.cli.federation_common import JsonOption, print_next
from confide.cli.site.options import DecidedOption, FolderArgument


def pending(folder: FolderArgument, decided: DecidedOption = False, as_json: JsonOption = False) -> None:
    """Show the questions that wait for a person's approval: what would leave the site, for whom, and at which price.

    With approval = "manual" in policy.toml the site answers a question only after somebody approved it. What is shown
    here follows from the question and the ledger, never from the rows: whoever decides after a look at the numbers
    tells something about them.

    Examples:

        confide site pending site

        confide site pending site --decided --json
    """
    from confide.report.validation.pending_text import pending_lines
    from confide.tasks.site_approvals import pending_questions

    found = pending_questions(folder, decided=decided)
    if as_json:
        output.print_json(found.to_dict())
        return
    for line in pending_lines(found, width=output.console().width):
        typer.echo(line)
    if found.questions:
        print_next(
            ("Decide on a question by its number:", (f"confide site approve {folder} NUMBER",)),
            ("or refuse it. The coordinator reads why:", (f'confide site refuse {folder} NUMBER --why "TEXT"',)),
        )
