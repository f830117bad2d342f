"""`confide ledger`: what was spent on whose data."""

from __future__ import annotations

import typer

from confide.cli.ledger import history, new, show, verify

app = typer.Typer(
    help="Open accounts, see what was spent, and check that nobody changed it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.command("new")(new.new)
app.command("show")(show.show)
app.command("history")(history.history)
app.command("verify")(verify.verify)
