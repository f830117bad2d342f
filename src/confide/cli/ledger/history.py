"""`confide ledger history`: every entry of an account."""

from __future__ import annotations

from typing import Annotated

import typer

from confide.cli import options, output


def history(
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Name of the account.")],
    ledger: options.LedgerOption = None,
    as_json: options.AsJson = False,
) -> None:
    """Show every entry of an account: caps, charges and answers.

    Example:

        confide ledger history trial-7
    """
    from confide.tasks.ledger import account_history

    found = account_history(account, ledger=ledger)
    if as_json:
        output.print_json(found.to_dict())
        return
    from confide.report.ledger import print_history

    print_history(found, output.console())
