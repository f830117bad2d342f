"""Accounts of a ledger on a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from confide.ledger.account import Account
from confide.ledger.entries import Entry, Kind
from confide.ledger.reader import Publication, answer_name
from confide.ledger.spending import NOTHING
from confide.privacy.guarantee import shown
from confide.report.writers.terminal import Table, print_table
from confide.tasks.ledger import Accounts, History, LedgerCheck

if TYPE_CHECKING:
    from rich.console import Console

_MOST_ANSWERS = 3
_DIGEST = re.compile(r"\b(data-[0-9a-f]{8})[0-9a-f]{24}\b")
_HASH = re.compile(r"\ba hash \(\d+\) of ")


def print_accounts(found: Accounts, console: Console) -> None:
    """Print what each account spent and what is left, by part of the rows and by analyst."""
    for table in account_tables(found.accounts):
        print_table(table, console)
    for name, epsilon in found.tight.items():
        console.print(
            f"{name}: if delta {found.tight_delta} is granted, and the number and prices of requests were decided "
            f"beforehand, all charges together are at most epsilon {epsilon:.4g}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def account_tables(accounts: tuple[Account, ...]) -> list[Table]:
    """Return the tables of accounts; those without rows are left out."""
    head = ("account", "what", "epsilon spent", "left", "cap", "delta spent", "left", "cap")
    tables = [
        Table(
            title="Accounts", head=head, body=tuple(_overview(account) for account in accounts), text_columns=("what",)
        )
    ]
    concentrated = tuple(_concentrated(account) for account in accounts if account.terms.concentration is not None)
    if concentrated:
        note = (
            "The epsilon spent is order times rho, the reserve as soon as there is any rho, and the epsilon of "
            "charges without rho."
        )
        columns = ("account", "rho spent", "left", "cap", "epsilon without rho", "order", "reserve")
        tables.append(Table(title="Concentrated accounts (zCDP)", head=columns, body=concentrated, note=note))
    parts = tuple(line for account in accounts for line in _parts(account, with_rho=bool(concentrated)))
    if parts:
        note = "Parts of one partition do not add up: only the most expensive one counts."
        columns = ("account", "what", "epsilon", "delta", *(("rho",) if concentrated else ()))
        tables.append(Table(title="By part of the rows", head=columns, body=parts, note=note, text_columns=("what",)))
    analysts = tuple(line for account in accounts for line in _analysts(account))
    if analysts:
        tables.append(
            Table(
                title="By analyst",
                head=("account", "analyst", "epsilon spent", "left", "cap"),
                body=analysts,
                text_columns=("analyst",),
            )
        )
    return tables


def print_history(history: History, console: Console) -> None:
    """Print every entry of an account, then what was published."""
    with_rho = any(entry.amount.rho for entry in history.entries)
    head = ("#", "when", "what", "analyst", "epsilon", "delta", *(("rho",) if with_rho else ()), "answer")
    body = tuple(_entry(entry, with_rho=with_rho) for entry in history.entries)
    print_table(
        Table(title=f"History of {history.account}", head=head, body=body, text_columns=("when", "what", "analyst")),
        console,
    )
    published = publications_table(history)
    if published.body:
        print_table(published, console)


def publications_table(history: History) -> Table:
    """Return one line for each answer: the data, the columns, the released values and the price."""
    by_charge: dict[int, list[Publication]] = {}
    for one in history.published:
        by_charge.setdefault(one.charge, []).append(one)
    return Table(
        title="Published",
        head=("charge", "when", "data", "label", "score", "released", "epsilon"),
        body=tuple(_publication(number, values) for number, values in by_charge.items()),
        note="`--csv FILE` and `--json` list every value with its interval and guarantee.",
        text_columns=("when", "data", "label", "score", "released"),
    )


def _publication(charge: int, values: Sequence[Publication]) -> tuple[str, ...]:
    first = values[0]
    model = "" if first.model is None else f"model {first.model[:8]}…"
    return (
        str(charge),
        _when(first.at),
        _partition_words(first.data or ""),
        first.label or "",
        first.score or model,
        _values([_value(one.metric, one.value, one.threshold) for one in values]),
        shown(first.price.epsilon),
    )


def _value(metric: str, value: float | None, threshold: float | None) -> str:
    at = "" if threshold is None else f" at {threshold:g}"
    return f"{metric}{at}" if value is None else f"{metric} {value:.4g}{at}"


def print_check(check: LedgerCheck, console: Console) -> None:
    """Print which accounts are whole."""
    body = tuple(
        (one.account, str(one.entries), "whole" if one.whole else f"entry {one.broken} {one.problem}")
        for one in check.verification.accounts
    )
    print_table(
        Table(title="Accounts", head=("account", "entries", "what"), body=body, text_columns=("what",)), console
    )


def _overview(account: Account) -> tuple[str, ...]:
    left, cap, spent = account.remaining(), account.caps.total, account.spent
    amounts = (spent.epsilon, left.epsilon, cap.epsilon, spent.delta, left.delta, cap.delta)
    several = f" with up to {account.terms.rows_per_person} rows" if account.terms.rows_per_person > 1 else ""
    of_label = "" if account.terms.label is None else f" of {account.terms.label!r}"
    composed = "" if account.terms.concentration is None else ", zCDP"
    what = f"{account.neighbours.value}{of_label}, each {account.unit}{several}{composed}"
    return (account.name, what, *(shown(amount) for amount in amounts))


def _concentrated(account: Account) -> tuple[str, ...]:
    paid, at = account.spending.total, account.terms.concentration
    converting = () if at is None else (at.order, at.reserve)
    amounts = (paid.rho, account.remaining().rho, account.allowed.rho, paid.epsilon, *converting)
    return (account.name, *(shown(amount) for amount in amounts))


def _parts(account: Account, *, with_rho: bool) -> list[tuple[str, ...]]:
    parts = sorted(account.spending.parts.items(), key=lambda one: (one[0].partition, one[0].name))
    return [
        (
            account.name,
            f"part {part.name} of {_partition_words(part.partition)}",
            shown(spent.epsilon),
            shown(spent.delta),
            *((shown(spent.rho),) if with_rho else ()),
        )
        for part, spent in parts
    ]


def _partition_words(partition: str) -> str:
    """Write a partition without the version of its hash, and with the first letters of a digest alone."""
    return _DIGEST.sub(r"\1…", _HASH.sub("", partition))


def _analysts(account: Account) -> list[tuple[str, ...]]:
    lines = []
    for name in sorted({*account.spent_by, *account.caps.analysts}):
        cap, spent = account.caps.of_analyst(name), account.spent_by.get(name, NOTHING)
        amounts = (spent.epsilon, account.remaining(name).epsilon)
        limit = "none" if cap is None else shown(cap)
        lines.append((account.name, name, *(shown(amount) for amount in amounts), limit))
    if account.caps.each_analyst is not None:
        lines.append((account.name, "any other", "", "", shown(account.caps.each_analyst)))
    return lines


def _entry(entry: Entry, *, with_rho: bool) -> tuple[str, ...]:
    priced, amount = entry.kind not in (Kind.ANSWER, Kind.FAILURE), entry.amount
    return (
        str(entry.sequence),
        _when(entry.at),
        _what(entry),
        entry.analyst or "",
        shown(amount.epsilon) if priced else "",
        shown(amount.delta) if priced else "",
        *((shown(amount.rho) if entry.kind == Kind.CHARGE else "",) if with_rho else ()),
        _answers(entry),
    )


def _what(entry: Entry) -> str:
    if entry.kind == Kind.CHARGE:
        request = entry.request_data["request"]
        cut = f" at {request['threshold']:g}" if "threshold" in request else ""
        what = f"charge: {request.get('metric', 'release')}{cut}, {request.get('mechanism', '')}".removesuffix(", ")
        return what if entry.part is None else f"{what}; part {entry.part.name}"
    if entry.kind == Kind.ANSWER:
        return f"answer to {entry.charge}"
    if entry.kind == Kind.FAILURE:
        return f"no answer to {entry.charge}: drawing failed"
    return str(entry.kind)


def _answers(entry: Entry) -> str:
    return _values([_answer(one) for one in entry.answered])


def _answer(plain: Mapping[str, Any]) -> str:
    """Write a metric with its value. Name anything else, such as a selection or a model."""
    if "metric" in plain and "value" in plain:
        value = plain["value"]
        return f"{plain['metric']} {'none' if value is None else f'{value:.4g}'}"
    name = answer_name(plain)
    return f"{name} of {len(plain['features'])} features" if "features" in plain else name


def _values(every: Sequence[str]) -> str:
    """Write the first values: a confusion matrix has many."""
    more = len(every) - _MOST_ANSWERS
    return ", ".join(every[:_MOST_ANSWERS]) + (f" and {more} more" if more > 0 else "")


def _when(at: str) -> str:
    return at.removesuffix("+00:00").replace("T", " ")
