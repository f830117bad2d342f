"""`confide ledger show`: what was spent, what is left, and by whom."""

from __future__ import annotations

from typing import Annotated

import typer

from confide.cli import options
from confide.cli.ledger.accounts_output import print_accounts


def show(
    account: Annotated[str | None, typer.Argument(metavar="ACCOUNT", help="Only this account.")] = None,
    tight: Annotated[
        str | None,
        typer.Option(metavar="DELTA", help="Also show what all charges add up to if this delta is granted."),
    ] = None,
    ledger: options.LedgerOption = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what was spent, what is left, and by whom.

    `--tight DELTA` shows a smaller total for many small releases (it needs `confide[pld]`). The total is valid if the
    number of releases and the epsilon of each were fixed before the first answer was seen. Caps hold for the plain sum.

    Examples:

        confide ledger show

        confide ledger show trial-7 --json

        confide ledger show trial-7 --tight 1e-6
    """
    from confide.tasks.ledger import show_accounts

    print_accounts(show_accounts(account, tight=tight, ledger=ledger), as_json=as_json)
