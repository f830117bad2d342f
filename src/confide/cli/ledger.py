"""`confide ledger`: what was spent on whose data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from confide.cli import output
from confide.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from confide.ledger.account import Account
    from confide.ledger.entries import Entry
    from confide.ledger.ledger import Ledger
    from confide.ledger.receipts import Verification

SCHEMA = "confide.ledger/1"

app = typer.Typer(
    help="Open accounts, see what was spent, and check that nobody changed it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="URL",
        help="A path or postgresql://user@host/database. [default: $CONFIDE_LEDGER, or the user's own]",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@app.command()
def new(
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Name of the account: one for the same people.")],
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", metavar="E", help="The most to be spent in all; no default.")
    ] = None,
    delta: Annotated[str | None, typer.Option(metavar="D", help="The same for delta. [default: 0]")] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(metavar="RELATION", help="replace-one, add-remove-one or label-only. [default: replace-one]"),
    ] = None,
    unit: Annotated[str | None, typer.Option(metavar="UNIT", help="row or person. [default: row]")] = None,
    rows_per_person: Annotated[
        int | None, typer.Option(metavar="K", help="With --unit person: nobody has more than K rows. [default: 1]")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The only file that the account is for, as it is now.")
    ] = None,
    data_name: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Instead of a file: name and version of the data, where files change, as in a contest."
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", "-l", metavar="COL", help="The column of labels; needed with label-only neighbours."),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="VALUE", help="The positive label, if requests will name one.")
    ] = None,
    also_charge: Annotated[
        bool,
        typer.Option("--also-charge", help="Open it though another account knows the same data: budgets then add up."),
    ] = False,
    per_analyst: Annotated[
        str | None, typer.Option("--per-analyst", metavar="E", help="The most epsilon for each analyst.")
    ] = None,
    analyst: Annotated[
        list[str] | None,
        typer.Option("--analyst", metavar="NAME=E", help="The most epsilon for this analyst; repeatable."),
    ] = None,
    change: Annotated[
        bool, typer.Option("--change", help="Change those caps of an account that are given; its other caps stay.")
    ] = False,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open an account with a budget, or change the caps of one.

    An account is for the data of the same people. Its terms stay as they are: neighbours, unit, data and labels. A cap
    below what was spent means that no more can be spent. Where --data is given, `release`, `select` and `train` find
    the account by the file. Under label-only neighbours everything but one column of labels is public, so that column
    and the data must be named.

    Examples:

        confide ledger new trial-7 --epsilon 3

        confide ledger new trial-8 --epsilon 3 --data scores.csv

        confide ledger new contest --epsilon 20 --neighbours label-only --label won --data-name "test labels, version 1"

        confide ledger new course --epsilon 20 --per-analyst 1 --analyst host=5

        confide ledger new trial-7 --epsilon 4 --change --ledger postgresql://keeper@db.example/ledgers
    """
    from confide.ledger.ledger import Ledger

    caps: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "analyst_epsilon": per_analyst,
        "analysts": _analysts(analyst or []),
    }
    terms: dict[str, Any] = {
        name: value
        for name, value in (
            ("neighbours", neighbours),
            ("unit", unit),
            ("rows_per_person", rows_per_person),
            ("data", _asked_data(data, data_name)),
            ("label", label),
            ("positive", positive),
        )
        if value is not None
    }
    if change and terms:
        named = " and ".join(name.replace("_", " ") for name in terms)
        raise ParameterError(f"the {named} of an account cannot be changed; open another account")
    if change and also_charge:
        raise ParameterError("--also-charge is for opening an account; leave it out")
    if not change and epsilon is None:
        raise ParameterError("say how much may be spent in all (--epsilon 3); an account has no default cap")
    with Ledger(ledger) as book:
        if change:
            state = book.change_caps(account, **caps)
        else:
            given = {name: value for name, value in caps.items() if value is not None}
            state = book.open_account(account, **given, **terms, also_charge=also_charge)
        _show([state], book.shown, as_json=as_json)


@app.command()
def show(
    account: Annotated[str | None, typer.Argument(metavar="ACCOUNT", help="Only this account.")] = None,
    tight: Annotated[
        str | None,
        typer.Option(metavar="DELTA", help="Also show what all charges add up to if this delta is granted."),
    ] = None,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was spent, what is left, and by whom.

    Many small releases add up to less than the sum of their epsilons if a small delta is granted in
    all and the number and prices of requests were decided beforehand: `--tight` shows how much (it needs
    `confide[pld]`). Caps hold for the plain sum.

    Examples:

        confide ledger show

        confide ledger show trial-7 --json

        confide ledger show trial-7 --tight 1e-6
    """
    from confide.ledger.ledger import Ledger

    with Ledger(ledger) as book:
        _require(book)
        accounts = book.accounts() if account is None else [book.account(account)]
        composed = {} if tight is None else {found.name: book.tight_epsilon(found.name, tight) for found in accounts}
        _show(accounts, book.shown, as_json=as_json, tight=tight, composed=composed)


@app.command()
def history(
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Name of the account.")],
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every entry of an account: caps, charges and what was answered.

    Example:

        confide ledger history trial-7
    """
    from confide.ledger.ledger import Ledger

    with Ledger(ledger) as book:
        entries = book.history(account)
    if as_json:
        listed = [entry.to_dict() for entry in entries]
        output.print_json({"schema": SCHEMA, "ledger": book.shown, "account": account, "entries": listed})
        return
    from confide.report.shared.tables import Table
    from confide.report.shared.text import print_table

    head = ("#", "when", "what", "analyst", "epsilon", "delta", "answer")
    body = tuple(_line(entry) for entry in entries)
    words = ("when", "what", "analyst")
    print_table(Table(title=f"History of {account}", head=head, body=body, text_columns=words), output.console())


@app.command()
def verify(ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """Check every entry of every account; exit with 1 if something was changed behind the ledger's back.

    An older copy of the whole ledger, put back in its place, cannot be told from the ledger of that time.

    Example:

        confide ledger verify --ledger ledger.sqlite
    """
    from confide.ledger.ledger import Ledger

    with Ledger(ledger) as book, output.busy("checking every entry"):
        _require(book)
        found = book.verify()
    if as_json:
        output.print_json({"schema": SCHEMA, "ledger": book.shown, **found.to_dict()})
    else:
        from confide.report.shared.tables import Table
        from confide.report.shared.text import print_table

        body = tuple(
            (check.account, str(check.entries), "whole" if check.whole else f"entry {check.broken} {check.problem}")
            for check in found.accounts
        )
        head = ("account", "entries", "what")
        print_table(Table(title="Accounts", head=head, body=body, text_columns=("what",)), output.console())
    if not found.whole:
        raise LedgerError(_damage(found))
    typer.echo(f"ledger {book.shown} is whole", err=True)


def _asked_data(file: Path | None, name: str | None) -> Iterator[bytes] | str | None:
    """The bytes of the file that an account is for, or the declared name of its data."""
    from confide.ledger.question import is_digest
    from confide.sources.raw import raw_bytes

    if file is not None and name is not None:
        raise ParameterError("give --data or --data-name, not both")
    if name is not None and is_digest(name):
        raise ParameterError("--data-name looks like the digest of a file; give a name and a version in words")
    return name if file is None else raw_bytes(file)


def _analysts(given: list[str]) -> dict[str, str]:
    caps = {}
    for text in given:
        name, equals, cap = text.rpartition("=")
        if not equals or not name or not cap:
            raise ParameterError(f"--analyst must look like NAME=EPSILON, for example ana=2; got {text!r}")
        caps[name] = cap
    return caps


def _show(
    accounts: list[Account] | tuple[Account, ...],
    shown: str,
    *,
    as_json: bool,
    tight: str | None = None,
    composed: Mapping[str, float] = MappingProxyType({}),
) -> None:
    if as_json:
        listed = [
            {**account.to_dict(), **({"tight_epsilon": composed[account.name]} if composed else {})}
            for account in accounts
        ]
        output.print_json({"schema": SCHEMA, "ledger": shown, "accounts": listed})
        return
    if not accounts:
        typer.echo(f"ledger {shown} has no accounts yet; open one with `confide ledger new`", err=True)
        return
    from confide.report.shared.tables import Table
    from confide.report.shared.text import print_table

    head = ("account", "what", "epsilon spent", "left", "cap", "delta spent", "left", "cap")
    lines = tuple(_overview(account) for account in accounts)
    overview = Table(title="Accounts", head=head, body=lines, text_columns=("what",))
    print_table(overview, output.console())
    parts = tuple(line for account in accounts for line in _parts(account))
    if parts:
        of_parts = ("account", "what", "epsilon", "delta")
        note = "Parts of one partition do not add up: the dearest counts."
        table = Table(title="By part of the rows", head=of_parts, body=parts, note=note, text_columns=("what",))
        print_table(table, output.console())
    people = tuple(line for account in accounts for line in _people(account))
    if people:
        columns = ("account", "analyst", "epsilon spent", "left", "cap")
        print_table(Table(title="By analyst", head=columns, body=people, text_columns=("analyst",)), output.console())
    for name, epsilon in composed.items():
        typer.echo(
            f"{name}: if delta {tight} is granted, and the number and prices of requests were decided beforehand, "
            f"all charges together are at most epsilon {epsilon:.4g}"
        )


def _overview(account: Account) -> tuple[str, ...]:
    from confide.privacy.guarantee import shown

    left, cap, spent = account.remaining(), account.caps.total, account.spent
    amounts = (spent.epsilon, left.epsilon, cap.epsilon, spent.delta, left.delta, cap.delta)
    several = f" with up to {account.terms.rows_per_person} rows" if account.terms.rows_per_person > 1 else ""
    of_label = "" if account.terms.label is None else f" of {account.terms.label!r}"
    what = f"{account.neighbours.value}{of_label}, each {account.unit}{several}"
    return (account.name, what, *(shown(amount) for amount in amounts))


def _parts(account: Account) -> list[tuple[str, ...]]:
    from confide.privacy.guarantee import shown

    found = sorted(account.spending.parts.items(), key=lambda one: (one[0].partition, one[0].name))
    return [
        (account.name, f"part {part.name} of {part.partition}", shown(spent.epsilon), shown(spent.delta))
        for part, spent in found
    ]


def _people(account: Account) -> list[tuple[str, ...]]:
    from confide.ledger.budget import NOTHING
    from confide.privacy.guarantee import shown

    lines = []
    for name in sorted({*account.spent_by, *account.caps.analysts}):
        cap, spent = account.caps.of_analyst(name), account.spent_by.get(name, NOTHING)
        amounts = (spent.epsilon, account.remaining(name).epsilon)
        limit = "none" if cap is None else shown(cap)
        lines.append((account.name, name, *(shown(amount) for amount in amounts), limit))
    if account.caps.each_analyst is not None:
        lines.append((account.name, "any other", "", "", shown(account.caps.each_analyst)))
    return lines


def _line(entry: Entry) -> tuple[str, ...]:
    from confide.privacy.guarantee import shown

    priced = entry.kind not in ("answer", "failure")
    return (
        str(entry.sequence),
        entry.at.removesuffix("+00:00").replace("T", " "),
        _what(entry),
        entry.analyst or "",
        shown(entry.amount.epsilon) if priced else "",
        shown(entry.amount.delta) if priced else "",
        _answers(entry),
    )


def _what(entry: Entry) -> str:
    if entry.kind == "charge":
        request = entry.asked["request"]
        cut = f" at {request['threshold']:g}" if "threshold" in request else ""
        what = f"charge: {request.get('metric', 'release')}{cut}, {request.get('mechanism', '')}".removesuffix(", ")
        return what if entry.part is None else f"{what}; part {entry.part.name}"
    outcomes = {"answer": f"answer to {entry.charge}", "failure": f"no answer to {entry.charge}: drawing failed"}
    return outcomes.get(entry.kind, entry.kind)


def _answers(entry: Entry) -> str:
    """The first answers: a confusion matrix has many."""
    said = [_answer(one) for one in entry.answered]
    return ", ".join(said[:3]) + (f" and {len(said) - 3} more" if len(said) > 3 else "")


def _answer(plain: Mapping[str, Any]) -> str:
    """A metric with its value; of anything else what it is, such as a selection or a model."""
    if "metric" in plain and "value" in plain:
        return f"{plain['metric']} {_value(plain['value'])}"
    kind = str(plain.get("schema", "answer")).removeprefix("confide.").partition("/")[0]
    return f"{kind} of {len(plain['features'])} features" if "features" in plain else kind


def _require(book: Ledger) -> None:
    """Refuse a place where there is no ledger: a wrong path must not look like a whole one."""
    if not book.exists:
        raise LedgerError(f"there is no ledger at {book.shown}; check the place, or make it with `confide ledger new`")


def _value(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _damage(found: Verification) -> str:
    broken = [check for check in found.accounts if not check.whole]
    said = [f"account {check.account!r} breaks at entry {check.broken}, which {check.problem}" for check in broken]
    if not found.complete:
        said.append("an account was removed, added or set back behind the ledger's back")
    return f"{'; '.join(said)}. Nothing is released from there: restore the ledger from a backup"
