"""`confide ledger verify`: check that nobody changed the ledger."""

from __future__ import annotations

import typer

from confide.cli import options, output


def verify(ledger: options.LedgerOption = None, as_json: options.AsJson = False) -> None:
    """Check every entry of every account; exit with 1 if something was changed behind the ledger's back.

    An older copy of the whole ledger, put back in its place, cannot be told from the ledger of that time.

    Example:

        confide ledger verify --ledger ledger.sqlite
    """
    from confide.tasks.ledger import verify_ledger

    with output.busy("checking every entry"):
        found = verify_ledger(ledger=ledger)
    if as_json:
        output.print_json(found.to_dict())
    else:
        from confide.report.ledger import print_check

        print_check(found, output.console())
    found.require_whole()
    typer.echo(f"ledger {found.ledger} is whole", err=True)
