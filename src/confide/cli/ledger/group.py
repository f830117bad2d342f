"""Verbs of `confide ledger`."""

from __future__ import annotations

from typing import ClassVar

import typer

from confide.cli.lazy_verbs import LazyGroup, Verb


class Verbs(LazyGroup):
    """Verbs of `confide ledger`."""

    verbs: ClassVar = {
        "new": Verb("confide.cli.ledger.new:new", "Open an account with a budget, or change the caps of one."),
        "show": Verb("confide.cli.ledger.show:show", "Show what was spent, what is left, and by whom."),
        "history": Verb(
            "confide.cli.ledger.history:history",
            "Show every entry of an account, and what was published: data, label, score, metric, value and price.",
        ),
        "verify": Verb(
            "confide.cli.ledger.verify:verify",
            "Check every entry of every account; exit with 1 if something was changed behind the ledger's back.",
        ),
    }


app = typer.Typer(
    cls=Verbs,
    help="Open accounts, see what was spent, and check that nobody changed it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
