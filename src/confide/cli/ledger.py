"""Commands of `confide ledger`: open accounts, show what was spent, check that nobody changed it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from confide.cli import options, output
from confide.cli.lazy_verbs import LazyGroup
from confide.cli.options import options_of
from confide.tasks.requests.account import AccountRequest

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


@options_of(AccountRequest)
def new(
    request: partial[AccountRequest],
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Name of the account: one for the same people.")],
    change: Annotated[
        bool, typer.Option("--change", help="Change those caps of an account that are given; its other caps stay.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Open an account with a budget, or change the caps of one.

    An account is for the data of the same people. Its terms stay as they are: neighbours, unit, data, labels and
    composition. A cap below what was spent means that no more can be spent. Where --data is given, `release`, `select`
    and `train` find the account by the file. Under label-only neighbours everything but one column of labels is public,
    so that column and the data must be named. Under --composition zcdp many small requests cost less together than the
    sum of their epsilons; `confide plan --questions` says when that pays.

    Examples:

        confide ledger new trial-7 --epsilon 3

        confide ledger new trial-8 --epsilon 3 --data scores.csv

        confide ledger new contest --epsilon 20 --neighbours label-only --label won --data-name "test labels, version 1"

        confide ledger new many --epsilon 3 --delta 1e-6 --composition zcdp

        confide ledger new course --epsilon 20 --per-analyst 1 --analyst host=5

        confide ledger new trial-7 --epsilon 4 --change --ledger postgresql://keeper@db.example/ledgers
    """
    from confide.tasks.ledger import change_caps, open_account

    found = (change_caps if change else open_account)(account, **request.keywords)
    print_accounts(found, as_json=as_json)


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


def verify(ledger: options.LedgerOption = None, as_json: options.AsJson = False) -> None:
    """Check every entry of every account; exit with 1 if something was changed behind the ledger's back.

    An older copy of the whole ledger, put back in its place with the anchor beside it, cannot be told from the
    ledger of that time.

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
    typer.echo(f"ledger {found.ledger} is intact", err=True)


class Verbs(LazyGroup):
    """Verbs of `confide ledger`."""

    verbs: ClassVar = {
        "new": new,
        "show": show,
        "history": history,
        "verify": verify,
    }


app = typer.Typer(
    cls=Verbs,
    help="Open accounts, see what was spent, and check that nobody changed it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
