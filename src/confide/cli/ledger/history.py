"""`confide ledger history`: every entry of an account, and what was published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import options, output


def history(
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Name of the account.")],
    ledger: options.LedgerOption = None,
    as_json: options.AsJson = False,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT.csv", help="Write every released value to this file, one on each line, for an audit."
        ),
    ] = None,
) -> None:
    """Show every entry of an account, and what was published: data, label, score, metric, value and price.

    Values that share one draw of noise share its price: they have the same number in the column `charge`.

    Examples:

        confide ledger history trial-7

        confide ledger history trial-7 --csv audit.csv
    """
    from confide.tasks.ledger import account_history
    from confide.tasks.output_files import check_csv, ledger_files

    if csv is not None:
        check_csv(csv, ledger_files(ledger))
    found = account_history(account, ledger=ledger)
    if csv is not None:
        output.write_whole(csv, found.to_csv())
        typer.echo(f"written: {csv}", err=True)
    if as_json:
        output.print_json(found.to_dict())
        return
    from confide.report.ledger import print_history

    print_history(found, output.console())
