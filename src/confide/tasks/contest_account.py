"""Account that pays for a contest: what it must be like, and the commands that open it or raise its caps."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from fractions import Fraction

from confide.errors import BudgetError, LabelError, ParameterError
from confide.ledger.account import Account
from confide.ledger.budget import Budget
from confide.ledger.ledger import Ledger
from confide.ledger.payer import FileSubject, LedgerPlace, Payer, open_ledger
from confide.ledger.place import find_place
from confide.ledger.receipts import Quote
from confide.privacy.guarantee import shown
from confide.privacy.neighbours import Neighbours
from confide.sources.labelled_ids import read_labelled_ids

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

    def explained(self, error: LabelError, account: str, subject: FileSubject) -> LabelError:
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
        parts = ["confide", "ledger", "new", name, "--epsilon", _written(self.epsilon)]
        parts += ["--delta", _written(self.delta)] if self.delta else []
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


def _written(number: Fraction) -> str:
    """Write a number so that it is read exactly: as a decimal if that is exact."""
    decimal = repr(float(number)).removesuffix(".0")
    return decimal if Fraction(decimal) == number else str(number)
