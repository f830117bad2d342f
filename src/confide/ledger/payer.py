"""Charge requests about a dataset to an account: one set of rules for Python, the command line and estimators.

A `Payer` names the ledger, the account and the analyst. Its `subject` identifies the data in public facts: a
`FileSubject` by the bytes of the file, a `DeclaredSubject` by a `PublicQuestion` that the caller states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

from confide.errors import DataError, ParameterError, UsageError
from confide.ledger.account import Account
from confide.ledger.ledger import Ledger
from confide.ledger.question import PublicQuestion
from confide.ledger.receipts import Quote, Receipt
from confide.ledger.requests import question_about
from confide.privacy.guarantee import shown
from confide.privacy.prepared import A, Prepared
from confide.sources.digests import raw_bytes, unpacked_bytes

LedgerPlace: TypeAlias = str | Path | Ledger | None
"""A path, a URL or an open ledger; None is the default ledger of the user."""


class NoteCode(StrEnum):
    """Kinds of notes after a charge."""

    ONLY_ACCOUNT = "only-account"
    OTHER_NEIGHBOURS = "other-neighbours"


@dataclass(frozen=True, slots=True)
class Note:
    """A fact that the user should read after a charge."""

    code: NoteCode
    text: str

    def __str__(self) -> str:
        return self.text


class Subject(Protocol):
    """Data that a request is about."""

    def identify(self, book: Ledger) -> str | None:
        """Refuse data that the request must not use. Return the identity of the rows in a ledger, if it is known."""

    def pinned(self, identity: str) -> Self:
        """Return the subject bound to an identity; `identify` then refuses any other."""

    def question(self, account: Account, identity: str) -> PublicQuestion | None:
        """Describe the question in public facts, in the terms of an account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSubject:
    """A file whose bytes identify the data.

    Parameters
    ----------
    file, label, positive
        The file, its column of labels and the positive label, where the user named it.
    details
        Further public facts that identify the question: the column of scores, or the digest of a model.
    public_files
        Files whose content the answer may show, such as a list of words. They must not hold private rows.
    known
        The identity of the file before its rows were read.
    """

    file: Path
    label: str
    positive: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    public_files: tuple[Path, ...] = ()
    known: str | None = None

    def identify(self, book: Ledger) -> str:
        """Return the digest of the file. Refuse a file that changed, and public files that hold private rows.

        The digest is taken before and after the rows are read: one pass alone could not show that the rows are those
        of the digest, since somebody may write to the file in between.
        """
        identity = book.identify(raw_bytes(self.file))
        if self.known not in (None, identity):
            raise DataError("the file changed while it was read; try again when nobody writes to it")
        own = book.identify(unpacked_bytes(self.file)) if self.public_files else None
        _require_public(book, self.public_files, own)
        return identity

    def pinned(self, identity: str) -> Self:
        """Return the subject with the identity that its file has now."""
        return replace(self, known=identity)

    def question(self, account: Account, identity: str) -> PublicQuestion:
        """Describe the question about this file."""
        return question_about(account, source=identity, label=self.label, positive=self.positive, details=self.details)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSubject:
    """Data in memory, which the caller identifies by public facts, or not at all.

    Without a question every request is a new one: the data are private and must not decide whether two requests are
    the same. So a repeated request is charged again.
    """

    stated: PublicQuestion | None

    def identify(self, book: Ledger) -> str | None:
        """Return the identity that the caller states."""
        return None if self.stated is None else self.stated.rows

    def pinned(self, identity: str) -> Self:
        """Return the subject as it is."""
        return self

    def question(self, account: Account, identity: str) -> PublicQuestion | None:
        """Return the question as the caller states it."""
        return self.stated


def _require_public(book: Ledger, files: Sequence[Path], own: str | None) -> None:
    """Refuse public files that hold the private rows (`own`), or rows that the ledger knows, packed or not."""
    for file in files:
        plain = book.identify(unpacked_bytes(file))
        if plain == own or book.knows(plain) or book.knows(book.identify(raw_bytes(file))):
            raise UsageError(
                f"{file} holds private rows, and what is taken from it would be published; give a file that is public"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Payer:
    """Ledger, account and analyst that pay for requests about a subject.

    Call `checked` before any row is read: it refuses an unknown account and a public file that holds private rows.
    Then `quote` or `pay`. Without `account`, the only account that knows the data pays.
    """

    subject: Subject
    ledger: LedgerPlace = field(default=None, repr=False)  # a URL may hold a password
    account: str | None = None
    analyst: str | None = None
    also_charge: bool = False

    def checked(self) -> Payer:
        """Refuse what can be refused before rows are read. Return the payer with the identity of the data."""
        with open_ledger(self.ledger) as book:
            _, question = self._find(book)
        return self if question is None else replace(self, subject=self.subject.pinned(question.rows))

    def quote(self, prepared: Prepared[A] | Sequence[Prepared[A]]) -> Quote:
        """Return the price of a request; nothing is charged."""
        with open_ledger(self.ledger) as book:
            account, question = self._find(book)
            return book.quote(
                prepared, account=account, analyst=self.analyst, question=question, also_charge=self.also_charge
            )

    def pay(self, prepared: Prepared[A] | Sequence[Prepared[A]]) -> Receipt[A]:
        """Charge a request, then draw its answer."""
        with open_ledger(self.ledger) as book:
            account, question = self._find(book)
            return book.release(
                prepared, account=account, analyst=self.analyst, question=question, also_charge=self.also_charge
            )

    def notes(self, receipt: Receipt[Any]) -> tuple[Note, ...]:
        """Return what the user should read after a charge."""
        return tuple(self._notes(receipt))

    def _notes(self, receipt: Receipt[Any]) -> Iterator[Note]:
        if self.account is None:
            yield Note(
                NoteCode.ONLY_ACCOUNT, f"charged to account {receipt.account}, the only one that knows these data."
            )
        requested = sum(answers[0].guarantee.epsilon for answers in receipt.answers)
        if receipt.full_price.epsilon > requested:
            yield Note(
                NoteCode.OTHER_NEIGHBOURS,
                f"epsilon {shown(requested)} counts as {shown(receipt.full_price.epsilon)} in this account: to "
                "replace a row, or its label, is to remove one row and to add another. An account keeps its "
                "neighbours. Open the next account for such requests with add-remove-one neighbours: there epsilon "
                f"{shown(requested)} counts as {shown(requested)}.",
            )

    def _find(self, book: Ledger) -> tuple[str, PublicQuestion | None]:
        """Return the name of the account and the public question."""
        if self.account is not None:
            book.account(self.account)  # a wrong name is refused before the file is read
        identity = self.subject.identify(book)
        account = book.find_account(self.account, data=identity)
        return account.name, None if identity is None else self.subject.question(account, identity)


@contextmanager
def open_ledger(ledger: LedgerPlace) -> Iterator[Ledger]:
    """Open a ledger. Close it afterwards unless the caller opened it."""
    if isinstance(ledger, Ledger):
        yield ledger
    else:
        with Ledger(ledger) as book:
            yield book


def refuse_names_of_files(**given: object) -> None:
    """Refuse parameters that declare an identity, for a file. The message names those alone that were given."""
    names = [f"`{name}`" for name, value in given.items() if value is not None]
    if names:
        raise ParameterError(f"the bytes of a file identify its data; leave {' and '.join(names)} out")
