"""`confide site refuse`."""

from __future__ import annotations

import typer

from confide.cli.federation_common import print_next
from confide.cli.site.options import FolderArgument, QuestionArgument, WhyOption


def refuse(folder: FolderArgument, number: QuestionArgument, why: WhyOption) -> None:
    """Refuse a question that waits, or take an approval back.

    The coordinator reads the reason: write nothing about the data there.

    Example:

        confide site refuse site 3f9c01ab22d4 --why "The ethics board has not decided yet"
    """
    from confide.report.validation.pending_text import decision_line
    from confide.tasks.site_approvals import refuse_question

    held = refuse_question(folder, number, why=why)
    typer.echo(decision_line(held), err=True)
    print_next(("To approve it after all:", (f"confide site approve {folder} {held.number}",)))
