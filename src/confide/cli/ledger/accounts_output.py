"""Print accounts of a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from confide.cli import output

if TYPE_CHECKING:
    from confide.tasks.ledger import Accounts


def print_accounts(found: Accounts, *, as_json: bool) -> None:
    """Print accounts as tables or JSON."""
    if as_json:
        output.print_json(found.to_dict())
    elif not found.accounts:
        typer.echo(f"ledger {found.ledger} has no accounts yet; open one with `confide ledger new`", err=True)
    else:
        from confide.report import ledger

        ledger.print_accounts(found, output.console())
