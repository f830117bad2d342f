"""Reading a ledger: accounts, entries, publications, verification. Nothing here charges or writes.

They are read from the entries alone: the public question, the public parameters, and the answer as it was drawn. Values
of one charge follow from one draw of noise and share its price.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from confide.errors import ParameterError
from confide.ledger.account import Account
from confide.ledger.account_terms import checked_name
from confide.ledger.charging import Record
from confide.ledger.entries import Entry, Kind
from confide.ledger.place import FilePlace, find_place, open_store
from confide.ledger.receipts import AccountCheck, Verification
from confide.ledger.requests import data_identity, source_digest, unknown_account, unnamed_account
from confide.ledger.spending import Budget, covering
from confide.privacy.accounting import epsilon_for, tight_epsilon
from confide.privacy.concentration import Concentration
from confide.privacy.guarantee import Exact, Guarantee, checked_delta
from confide.privacy.noise.integers import float_at_least
from confide.records.chain import seal

if TYPE_CHECKING:
    from confide.ledger.transaction import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A released value.

    Parameters
    ----------
    charge, at, analyst
        Number of the charge that paid for it, when it was drawn, and who asked.
    data, label, positive, score, model
        The public question: the declared name of the data or the keyed digest of their file, the columns of labels and
        scores, the positive label, the digest of a model. None where the question does not say.
    part
        Name of the part of the rows that was read.
    metric, threshold, value
        What was released. A selection or a model has no value.
    lower, upper, level
        Its interval for these rows.
    mechanism, neighbours, unit
        How noise was drawn, and what it protects.
    price
        What the charge cost, in terms of the account.
    """

    charge: int
    at: str
    analyst: str | None
    data: str | None
    label: str | None
    positive: str | None
    score: str | None
    model: str | None
    part: str | None
    metric: str
    threshold: float | None
    value: float | None
    lower: float | None
    upper: float | None
    level: float | None
    mechanism: str | None
    neighbours: str | None
    unit: str | None
    price: Budget

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the fields by their names, and the price as epsilon, delta and rho."""
        plain = {name: getattr(self, name) for name in _FIELDS}
        price = {name: float(getattr(self.price, name)) for name in _PRICE}
        return {**plain, **price}


_FIELDS = tuple(field.name for field in fields(Publication) if field.name != "price")
_PRICE = tuple(field.name for field in fields(Budget))

COLUMNS = (*_FIELDS, *_PRICE)
"""Keys of `Publication.to_dict`."""


def publications(entries: Iterable[Entry]) -> tuple[Publication, ...]:
    """Return every value that was released, in the order of the entries of an account."""
    charges: dict[int, Entry] = {}
    found: list[Publication] = []
    for entry in entries:
        if entry.kind == Kind.CHARGE:
            charges[entry.sequence] = entry
        elif entry.kind == Kind.ANSWER and entry.charge is not None:
            found += _of_answer(charges[entry.charge], entry)
    return tuple(found)


def _of_answer(charge: Entry, answer: Entry) -> Iterator[Publication]:
    request = charge.request_data
    question, guarantee = request.get("question", {}), request["guarantee"]
    details = question.get("details", {})
    for plain in answer.answered:
        interval = plain.get("intervals", {}).get("sample", {})
        yield Publication(
            charge=charge.sequence,
            at=answer.at,
            analyst=charge.analyst,
            data=question.get("data"),
            label=question.get("label"),
            positive=question.get("positive"),
            score=_text(details.get("score")),
            model=_text(details.get("model")),
            part=None if charge.part is None else charge.part.name,
            metric=answer_name(plain),
            threshold=plain.get("options", {}).get("threshold"),
            value=plain.get("value"),
            lower=interval.get("lower"),
            upper=interval.get("upper"),
            level=interval.get("level"),
            mechanism=plain.get("mechanism") or request["request"].get("mechanism"),
            neighbours=guarantee.get("neighbours"),
            unit=guarantee.get("unit"),
            price=charge.amount,
        )


def answer_name(plain: Mapping[str, Any]) -> str:
    """Return the metric of an answer, or what else it is: a selection, a model."""
    if "metric" in plain:
        return str(plain["metric"])
    return str(plain.get("schema", "answer")).removeprefix("confide.").partition("/")[0]


def _text(value: object) -> str | None:
    return None if value is None else str(value)


class LedgerReader:
    """A ledger at a place, opened for reading; `Ledger` adds what charges and writes."""

    def __init__(self, url: str | Path | FilePlace | None = None) -> None:
        self.place = find_place(url)
        self.shown = self.place.shown
        self._store = open_store(self.place)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shown!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def exists(self) -> bool:
        """True if there is a ledger at the place already."""
        return self._store.exists()

    def close(self) -> None:
        """Close the connections to the database."""
        self._store.close()

    def identify(self, chunks: Iterable[bytes]) -> str:
        """Return the identity of a source by a keyed hash of its content, for example of a file's bytes."""
        self._require_ledger(None)
        digest = source_digest(chunks)
        with self._reading() as transaction:
            return data_identity(transaction.key, digest)

    def derive_key(self, purpose: str, *facts: str) -> bytes:
        """Return a key of 32 bytes for a purpose and public facts: always the same, unknown without the ledger's."""
        self._require_ledger(None)
        with self._reading() as transaction:
            return bytes.fromhex(seal(transaction.key, "derived key", purpose, *facts))

    def knows(self, data: str) -> bool:
        """Return whether an account was opened or charged for some data."""
        self._require_ledger(None)
        with self._reading() as transaction:
            return bool(transaction.holders(data))

    def find_account(self, name: str | None, *, data: str | None = None) -> Account:
        """Return the account of a name; without one, the only account that was opened or charged for some data.

        Raises ParameterError if there is none, or more than one.
        """
        if name is not None:
            return self.account(name)
        self._require_ledger(None)
        with self._reading() as transaction:
            holders = sorted(() if data is None else transaction.holders(data))
            if len(holders) == 1:
                return existing(transaction, transaction.record(holders[0]))
            known = transaction.accounts()
        raise unnamed_account(holders, known)

    def accounts(self) -> tuple[Account, ...]:
        """Return the state of every account; none if there is no ledger yet."""
        if not self._store.exists():
            return ()
        with self._reading() as transaction:
            return tuple(existing(transaction, transaction.record(name)) for name in transaction.accounts())

    def account(self, name: str) -> Account:
        """Return the state of an account."""
        self._require_ledger(name)
        with self._reading() as transaction:
            return existing(transaction, transaction.record(name))

    def history(self, name: str) -> tuple[Entry, ...]:
        """Return the entries of an account, the oldest first, all of them checked."""
        self._require_ledger(name)
        with self._reading() as transaction:
            entries = transaction.entries(name)
            if not entries:
                raise unknown_account(name, transaction.accounts())
        return entries

    def tight_epsilon(self, name: str, delta: Exact) -> float:
        """Bound the total epsilon of an account's charges at a total delta; see `accounting.tight_epsilon`.

        In a concentrated account, the total is converted at this delta. If charges concern parts of the rows, the
        composed prices cover those of any one row. The bound is for information: caps limit the amount spent.
        """
        entries = self.history(name)
        account = Account.fold(entries)
        costs = [account.cost_of(entry) for entry in entries if entry.kind == Kind.CHARGE]
        allowed = checked_delta(delta)
        if not costs:
            return 0.0
        if account.terms.concentration is not None:
            return float_at_least(_converted_at(account.spending.total, allowed))
        prices = [
            Guarantee(epsilon=price.epsilon, delta=price.delta, neighbours=account.neighbours, unit=account.unit)
            for price in covering(costs)
        ]
        return min(tight_epsilon(prices, delta), float_at_least(account.spent.epsilon))

    def verify(self) -> Verification:
        """Check every entry of every account. A missing or wrong key raises LedgerError, as does an unreadable file."""
        if not self._store.exists():
            return Verification(accounts=(), complete=True)
        from confide.ledger.transaction import Transaction

        with self._store.inspecting() as (records, anchored):
            result, complete = Transaction(records=records).breaks()
        checks = tuple(
            AccountCheck(
                account=name,
                entries=entries,
                broken=None if broken is None else broken.number,
                problem=None if broken is None else broken.problem,
            )
            for name, (entries, broken) in result.items()
        )
        return Verification(accounts=checks, complete=complete and anchored)

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        from confide.ledger.transaction import Transaction

        with self._store.chains(writing=False) as records:
            yield Transaction(records=records)

    def _require_ledger(self, name: str | None) -> None:
        if name is not None:
            checked_name(name, "account")
        if not self._store.exists():
            raise ParameterError(
                f"there is no ledger at {self.shown}, so no account either; check the place, or open an account with "
                "its cap (`Ledger.open_account(NAME, epsilon=E)`)"
            )


def _converted_at(paid: Budget, delta: Fraction) -> Fraction:
    """Convert the total of a concentrated account at a delta that is granted for all of it."""
    if delta < paid.delta or (paid.rho and delta == paid.delta):
        raise ParameterError("delta must exceed the sum of the deltas that were paid; give a larger one")
    if not paid.rho:
        return paid.epsilon
    best = Concentration.for_budget(epsilon_for(paid.rho, delta - paid.delta), delta - paid.delta)
    return paid.epsilon + best.epsilon_of(paid.rho)


def existing(transaction: Transaction, record: Record) -> Account:
    """Return the account of a record; refuse one that does not exist."""
    if record.state is None:
        raise unknown_account(record.account, transaction.accounts())
    return record.state
