"""Folder of a contest at the holder of the labels: what may leave it, the labels, and the account that pays.

`NAME/server.zip` and `NAME/template.json` are public. `NAME/holder/contest.json` says how the contest was made, so that
its final can be computed; it holds no label.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.atomic_files import replace_file, replacement
from confide.contest.bundles import ServerBundle
from confide.contest.labels import FINAL, PUBLIC, PURPOSE, Split, ids_digest
from confide.contest.terms import ContestTerms
from confide.errors import BudgetError, LabelError, ParameterError, UnreadableError, UsageError
from confide.ledger.account import Account
from confide.ledger.ledger import Ledger
from confide.ledger.payer import FileSubject, LedgerPlace, Payer, open_ledger
from confide.ledger.place import find_place
from confide.ledger.receipts import Quote
from confide.ledger.spending import Budget
from confide.privacy.guarantee import shown
from confide.privacy.neighbours import Neighbours
from confide.sources.labelled_ids import LabelledIds, read_labelled_ids


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SplitLabels:
    """Labels of a contest, by id, and the rule that divides its rows."""

    rows: LabelledIds
    split: Split
    public: NDArray[np.bool_]

    def places(self, part: str) -> NDArray[np.int64]:
        """Return the places of a part's rows among all ids, ascending."""
        inside = self.public if part == PUBLIC else ~self.public
        return np.flatnonzero(inside).astype(np.int64)

    def labels(self, part: str) -> NDArray[np.bool_]:
        """Return the labels of a part's rows, in the order of their ids."""
        chosen: NDArray[np.bool_] = self.rows.labels[self.places(part)]
        return chosen


def read_split(subject: FileSubject, ledger: LedgerPlace, *, id_column: str, share: Fraction) -> SplitLabels:
    """Read ids and labels, and divide the rows by a key that the ledger derives.

    The key depends on the ledger, the name of the id column and its ids alone. So the same contest, made again, has the
    same parts, and a file in which one label differs has them too. Another column is another partition, also if it
    holds the same ids in another order: a row then lies in other parts, and the costs of both add up.
    """
    rows = read_labelled_ids(subject.file, id_column=id_column, label=subject.label, positive=subject.positive)
    with open_ledger(ledger) as book:
        split = Split(share=share, key=book.derive_key(PURPOSE, id_column, ids_digest(rows.ids)))
    return SplitLabels(rows, split, split.public(rows.ids))


def identify_data(payer: Payer) -> tuple[Payer, str, str]:
    """Return a payer that is bound to its file as it is now, the name of its account, and the file's identity."""
    checked = payer.checked()
    with open_ledger(payer.ledger) as book:
        identity = str(checked.subject.identify(book))
        account = book.find_account(payer.account, data=identity)
    return checked, account.name, identity


__all__ = ["FINAL", "PUBLIC", "SplitLabels", "identify_data", "read_split"]


SCHEMA = "confide.contest-holder/1"

_RECORD = "contest.json"
_DAMAGED = "is not the record of a contest, or it is damaged; make the contest again with `confide contest new`"


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderRecord:
    """Record of how a contest was made.

    Parameters
    ----------
    terms, template
        The terms, and the digest of the template.
    data
        The identity of the file of labels in the holder's ledger: a keyed hash of its bytes.
    label, positive
        The column of labels, and the positive one where the holder named it.
    account
        The account that pays.
    split
        The digest of the key that divides the rows.
    """

    terms: ContestTerms
    template: str
    data: str
    label: str
    positive: str | None
    account: str
    split: str

    def to_json(self) -> str:
        """Return the text of the file."""
        return json.dumps({"schema": SCHEMA, **asdict(self), "terms": self.terms.to_dict()}, indent=2) + "\n"

    @classmethod
    def load(cls, folder: Path) -> HolderRecord:
        """Read the record in the holder's folder of a contest."""
        path = folder / _RECORD
        try:
            plain: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if plain.pop("schema") == SCHEMA:
                return cls(**{**plain, "terms": ContestTerms.from_dict(plain["terms"])})
        except OSError as error:
            raise UsageError(
                f"{path} cannot be read ({error.strerror}); give the folder `holder` that `confide contest new` made"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            pass
        raise UnreadableError(f"{path} {_DAMAGED}")


@dataclass(frozen=True, slots=True)
class ContestFolder:
    """Places of a contest's files."""

    path: Path

    @property
    def server(self) -> Path:
        """Return the place of the server's part."""
        return self.path / "server.zip"

    @property
    def template(self) -> Path:
        """Return the place of the template."""
        return self.path / "template.json"

    @property
    def holder(self) -> Path:
        """Return the folder that stays with the holder."""
        return self.path / "holder"

    def check_place(self) -> None:
        """Refuse a folder that cannot be made, or that is no contest's."""
        if not self.path.exists():
            above = next(parent for parent in self.path.absolute().parents if parent.exists())
            if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
                raise UsageError(f"{self.path} cannot be made; choose another folder (`out`)")
            return
        if not self.path.is_dir():
            raise UsageError(f"{self.path} is a file; choose another name or folder (`out`)")
        if any(self.path.iterdir()) and not (self.holder / _RECORD).is_file():
            raise UsageError(f"{self.path} holds other files; choose another name or folder (`out`)")
        for folder in (self.path, self.holder):
            if folder.exists() and not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
                raise UsageError(f"{folder} cannot be written to; choose another folder (`out`)")

    def check_contest(self, record: HolderRecord) -> None:
        """Refuse a folder that holds another contest; the same one is written again."""
        if (self.holder / _RECORD).exists() and HolderRecord.load(self.holder) != record:
            raise ParameterError(
                f"{self.path} holds a contest with other terms, labels or account; choose another name or folder "
                "(`out`)"
            )

    def write(self, bundle: ServerBundle, record: HolderRecord) -> None:
        """Write all files, each whole or not at all. The record comes first: with it the folder can be completed."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.holder.mkdir(mode=0o700, exist_ok=True)
        replace_file(self.holder / _RECORD, record.to_json(), owner_only=True)
        replace_file(self.template, bundle.template.to_json())
        with replacement(self.server) as unfinished:
            unfinished.write_bytes(bundle.to_bytes())

    def to_dict(self) -> Mapping[str, str]:
        """Return the places as plain data."""
        return {"server": str(self.server), "template": str(self.template), "holder": str(self.holder)}


_NEW_LEDGER = "NEW.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """Account that a contest needs: label-only, for its labels, with a budget for the board and for the final."""

    contest: str
    id_column: str
    epsilon: Fraction
    delta: Fraction

    def require(self, payer: Payer) -> None:
        """Refuse an account that does not exist or hides anything but the labels; say how to open one.

        Labels are read before a command is printed: an account that cannot read them would be of no use.
        """
        subject = file_of(payer)
        with open_ledger(payer.ledger) as book:
            accounts = {account.name: account for account in book.accounts()}
            known = [one for one in accounts.values() if accounts and subject.identify(book) in one.data]
        if payer.account is None and len(known) > 1:
            return  # the ledger says which there are
        account = accounts.get(payer.account or "") if payer.account or not known else known[0]
        ledger = shown_ledger(payer.ledger)
        if account is None:
            name = payer.account or self.contest
            problem = f"there is no account {name!r}" if payer.account else "no account knows this file"
            self._require_readable(subject)
            raise ParameterError(f"{problem}. Open it: {self._command(name, subject, ledger)}")
        if account.neighbours != Neighbours.LABEL_ONLY:
            self._require_readable(subject)
            raise ParameterError(
                f"account {account.name!r} does not have label-only neighbours, which a contest needs. Open another: "
                f"{self._command(_other_name(self.contest, accounts), subject, ledger)}"
            )
        self._require_labels(account, subject)

    def _require_readable(self, subject: FileSubject) -> None:
        """Refuse labels that no account could read as they are named."""
        read_labelled_ids(subject.file, id_column=self.id_column, label=subject.label, positive=subject.positive)

    def _require_labels(self, account: Account, subject: FileSubject) -> None:
        """Refuse an account that hides other labels. In one ledger, all accounts of some data hide the same labels."""
        label, positive = account.terms.label, account.terms.positive
        if label != subject.label:
            raise ParameterError(
                f"account {account.name!r} hides the labels in {label!r}; name that column (`label`), or another "
                "account (`account`)"
            )
        if positive is not None and positive != subject.positive:
            raise ParameterError(
                f"account {account.name!r} was opened with the positive label {positive!r}, and an account keeps its "
                "labels; name that one (`positive`)"
            )
        if positive is None and subject.positive is not None:
            raise ParameterError(
                f"account {account.name!r} was opened without `positive`, and an account keeps its labels. Leave "
                "`positive` out if they are 0/1, -1/1 or false/true. Otherwise open one in a new ledger, and name "
                f"it: {self._command(account.name, subject, _NEW_LEDGER)}"
            )

    def explain_error(self, error: LabelError, account: str, subject: FileSubject) -> LabelError:
        """Return the error of labels that cannot be read without a positive one, with the way out of the account."""
        try:
            self._require_readable(replace(subject, positive="1"))
        except LabelError:
            return error  # labels are missing: to name one would not help
        command = self._command(account, replace(subject, positive="POSITIVE"), _NEW_LEDGER)
        return LabelError(
            f"{error}. Account {account!r} was opened without `positive`, and an account keeps its labels: open one "
            f"that names it, in a new ledger: {command}"
        )

    def _command(self, name: str, subject: FileSubject, ledger: str | None) -> str:
        parts = ["confide", "ledger", "new", name, "--epsilon", _write_fraction(self.epsilon)]
        parts += ["--delta", _write_fraction(self.delta)] if self.delta else []
        parts += ["--neighbours", "label-only", "--label", subject.label]
        parts += [] if subject.positive is None else ["--positive", subject.positive]
        parts += ["--data", str(subject.file)] + ([] if ledger is None else ["--ledger", ledger])
        return shlex.join(parts)


def with_command(quote: Quote, payer: Payer) -> str | None:
    """Return why a request does not fit, with the command that raises the caps that lack; None if it fits.

    The caps are those of the account. A cap of an analyst is not among them, as nobody else asks for a contest.
    """
    if quote.refusal is None:
        return None
    with open_ledger(payer.ledger) as book:
        caps = book.account(quote.account).caps.total
    command = _raising(quote.account, caps, quote.spent + quote.price, shown_ledger(payer.ledger))
    return quote.refusal if command is None else f"{quote.refusal}: {command}"


def lack_of_budget(message: str, quote: Quote) -> BudgetError:
    """Return the error of a request that does not fit, with what lacks."""
    price, left = quote.price, quote.remaining
    if price.epsilon > left.epsilon:
        parameter, requested, remaining = "epsilon", price.epsilon, left.epsilon
    else:
        parameter, requested, remaining = "delta", price.delta, left.delta
    return BudgetError(
        message, parameter=parameter, requested=requested, remaining=remaining, missing=requested - remaining
    )


def _raising(account: str, caps: Budget, needed: Budget, ledger: str | None) -> str | None:
    parts = ["confide", "ledger", "new", account]
    parts += ["--epsilon", shown(needed.epsilon, up=True)] if needed.epsilon > caps.epsilon else []
    parts += ["--delta", shown(needed.delta, up=True)] if needed.delta > caps.delta else []
    if len(parts) == 4:
        return None
    return shlex.join([*parts, "--change", *([] if ledger is None else ["--ledger", ledger])])


def file_of(payer: Payer) -> FileSubject:
    """Return the file of labels that a payer is about."""
    subject = payer.subject
    if not isinstance(subject, FileSubject):
        raise TypeError("the labels of a contest are a file")
    return subject


def shown_ledger(ledger: LedgerPlace) -> str | None:
    """Return the place of a ledger for a command, without a password; None if it is the default one."""
    if ledger is None or isinstance(ledger, Ledger):
        return None if ledger is None else ledger.shown
    return find_place(ledger).shown


def _other_name(contest: str, accounts: dict[str, Account]) -> str:
    name = contest
    while name in accounts:
        name += "-labels"
    return name


def _write_fraction(number: Fraction) -> str:
    """Write a number so that it is read exactly: as a decimal if that is exact."""
    decimal = repr(float(number)).removesuffix(".0")
    return decimal if Fraction(decimal) == number else str(number)
