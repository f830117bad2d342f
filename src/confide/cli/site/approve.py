"""`confide site approve`."""

from __future__ import annotations

import typer

from confide.cli.federation_common import print_next
from confide.cli.site.options import FolderArgument, QuestionArgument


def approve(folder: FolderArgument, number: QuestionArgument) -> None:
    """Approve a question that waits: the site answers it when it is asked again.

    The approval holds for this question alone, and until somebody refuses it. Rules of the policy and the budget are
    checked when the question is asked again.

    Example:

        confide site approve site 3f9c01ab22d4
    """
    from confide.report.validation.pending_text import decision_line
    from confide.tasks.site_approvals import approve_question

    held = approve_question(folder, number)
    typer.echo(decision_line(held), err=True)
    print_next(
        ("The coordinator asks the same question again. To take the approval back:", (_refuse(folder, held.number),))
    )


def _refuse(folder: object, number: str) -> str:
    return f'confide site refuse {folder} {number} --why "TEXT"'
