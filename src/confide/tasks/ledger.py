"""Accounts of a ledger: open them, change their caps, show what was spent, check that nobody changed it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from confide.errors import LedgerError, ParameterError, UsageError
from confide.ledger.account import Account
from confide.ledger.entries import Entry
from confide.ledger.ledger import Ledger
from confide.ledger.payer import LedgerPlace, open_ledger
from confide.ledger.place import find_place
from confide.ledger.question import folded_name, is_digest
from confide.ledger.reader import COLUMNS, Publication, publications
from confide.ledger.receipts import Verification
from confide.privacy.guarantee import Exact
from confide.sources.digests import raw_bytes
from confide.tasks.requests.account import AccountRequest
from confide.tasks.requests.options import verb_of

SCHEMA = "confide.ledger/1"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Accounts:
    """Accounts of a ledger. `tight` holds the composed epsilon of each account, if `tight_delta` is granted."""

    ledger: str
    accounts: tuple[Account, ...]
    tight_delta: Exact | None = None
    tight: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tight", MappingProxyType(dict(self.tight)))

    def __repr__(self) -> str:
        return f"<Accounts of {self.ledger}: {'; '.join(one.in_words() for one in self.accounts) or 'none'}>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        listed = [
            {**account.to_dict(), **({"tight_epsilon": self.tight[account.name]} if self.tight else {})}
            for account in self.accounts
        ]
        return {"schema": SCHEMA, "ledger": self.ledger, "accounts": listed}


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All entries of an account, the oldest first."""

    ledger: str
    account: str
    entries: tuple[Entry, ...]

    @property
    def published(self) -> tuple[Publication, ...]:
        """Everything that was released, the oldest first."""
        return publications(self.entries)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "ledger": self.ledger,
            "account": self.account,
            "entries": [entry.to_dict() for entry in self.entries],
            "published": [one.to_dict() for one in self.published],
        }

    def to_csv(self) -> str:
        """Return everything that was released as CSV, one line for each value, for an audit."""
        buffer = io.StringIO()
        lines = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
        lines.writeheader()
        lines.writerows(one.to_dict() for one in self.published)
        return buffer.getvalue()


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerCheck:
    """Result of checking that a ledger is undamaged."""

    ledger: str
    verification: Verification

    @property
    def whole(self) -> bool:
        """Tell whether every entry is as it was written."""
        return self.verification.whole

    def require_whole(self) -> None:
        """Raise LedgerError if something was changed."""
        if self.whole:
            return
        damage = [
            f"account {check.account!r} breaks at entry {check.broken}, which {check.problem}"
            for check in self.verification.accounts
            if not check.whole
        ]
        if not self.verification.complete:
            damage.append("an account was removed, added or set back behind the ledger's back")
        raise LedgerError(f"{'; '.join(damage)}. Nothing is released from there: restore the ledger from a backup")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {"schema": SCHEMA, "ledger": self.ledger, **self.verification.to_dict()}


@verb_of(AccountRequest)
def open_account(request: AccountRequest) -> Accounts:
    """Open an account with its caps and terms.

    `data` is the only file that the account is for, `data_name` the declared name and version of its data; give one of
    them at most. `epsilon` has no default: the data holder states the cap. `composition` is "addition" or "zcdp", for
    many small requests. See `Ledger.open_account`.
    """
    terms = {name: getattr(request, name) for name in request.terms if name not in ("data", "data_name")}
    caps = {"delta": request.delta, "analyst_epsilon": request.per_analyst, "analysts": request.analysts}
    optional = {"data": _identity(request.data, request.data_name), **caps}
    terms |= {name: value for name, value in optional.items() if value is not None}
    if request.epsilon is None:
        raise ParameterError("say how much may be spent in all (`epsilon=3`); an account has no default cap")
    with open_ledger(request.ledger) as book:
        state = book.open_account(request.account, epsilon=request.epsilon, also_charge=request.also_charge, **terms)
        return Accounts(ledger=book.shown, accounts=(state,))


@verb_of(AccountRequest)
def change_caps(request: AccountRequest) -> Accounts:
    """Change those caps of an account that are given; the others stay. The terms of an account cannot be changed."""
    if request.terms:
        named = " and ".join(name.removesuffix("_name").replace("_", " ") for name in request.terms)
        raise ParameterError(f"the {named} of an account cannot be changed; open another account")
    if request.also_charge:
        raise ParameterError("`also_charge` is for opening an account; leave it out")
    with open_ledger(request.ledger) as book:
        state = book.change_caps(
            request.account,
            epsilon=request.epsilon,
            delta=request.delta,
            analyst_epsilon=request.per_analyst,
            analysts=request.analysts,
        )
        return Accounts(ledger=book.shown, accounts=(state,))


def show_accounts(account: str | None = None, *, tight: Exact | None = None, ledger: LedgerPlace = None) -> Accounts:
    """Return all accounts of a ledger, or one. With `tight`, also compose all charges at this delta."""
    with _existing(ledger) as book:
        found = book.accounts() if account is None else (book.account(account),)
        composed = {} if tight is None else {one.name: book.tight_epsilon(one.name, tight) for one in found}
        return Accounts(ledger=book.shown, accounts=tuple(found), tight_delta=tight, tight=composed)


def has_account(account: str, *, ledger: LedgerPlace = None) -> bool:
    """Tell whether a ledger exists and has an account."""
    with open_ledger(ledger) as book:
        return account in {one.name for one in book.accounts()}


def shown_place(ledger: str) -> str:
    """Return the place of a ledger as it may be shown, without a password."""
    return find_place(ledger).shown


def account_history(account: str, *, ledger: LedgerPlace = None) -> History:
    """Return every entry of an account: caps, charges and answers."""
    with open_ledger(ledger) as book:
        return History(ledger=book.shown, account=account, entries=book.history(account))


def verify_ledger(*, ledger: LedgerPlace = None) -> LedgerCheck:
    """Check every entry of every account."""
    with _existing(ledger) as book:
        return LedgerCheck(ledger=book.shown, verification=book.verify())


def _identity(file: str | Path | None, name: str | None) -> Iterator[bytes] | str | None:
    """Return the bytes of the file that an account is for, or the declared name of its data."""
    if name is not None and is_digest(folded_name(name)):
        raise ParameterError("`data_name` looks like the digest of a file; give a name and a version in words")
    return name if file is None else raw_bytes(Path(file))


@contextmanager
def _existing(ledger: LedgerPlace) -> Iterator[Ledger]:
    """Open a ledger that exists: a wrong path must not look like a whole ledger."""
    with open_ledger(ledger) as book:
        if not book.exists:
            raise UsageError(
                f"there is no ledger at {book.shown}; check the place, or make it with its first account "
                "(`Ledger.open_account(NAME, epsilon=E)`)"
            )
        yield book
