"""Charging requests as pure functions of an account's record, and the padding of an answer's time.

Earlier entries are not read: their sum is in the state, which is sealed with the end of the chain. So a charge takes
the same time after a hundred thousand others.

A run that dies between its charge and its answer leaves a charge without an answer. The next equal request (same
question, parameters, guarantee and part, see `requests`) is answered on that charge and costs nothing more.

No charge ever reveals more than one draw of noise:

- A request is charged before noise is drawn. The outcome of a draw, an answer or a failure, is recorded before it is
  shown, in a transaction that holds the ledger's lock. A failure is recorded too, since whether drawing fails may
  depend on the noise and on the data.
- The first recorded outcome of a charge is the only one. A later run discards its own draw or failure, and shows the
  recorded answer, or reports that drawing failed elsewhere. So only one of all draws for a charge is ever seen.
  Each run waits before it records until a whole number of steps is over (`padding`), so which one is seen depends on
  when the runs began, not on what they drew.
- A request that has an answer is never drawn again. A charge whose drawing failed is used up: the next equal request
  is charged again.

Answers to one request are stored at one length, which follows from public facts (`written`): whether a disk has room
for an answer then reveals nothing about its noise. A longer answer is a failure.

Assumptions: the number of steps that drawing takes, and whether a process dies in it, reveal nothing (see the threat
model on time), and committed data stay. An older copy of the ledger and its anchor, put back together, forgets charges
and answers alike, and cannot be detected.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from confide.errors import BudgetError, LedgerError
from confide.ledger.account import Account
from confide.ledger.entries import Draft, Entry, Kind
from confide.ledger.receipts import Quote
from confide.ledger.requests import Request, check_binding
from confide.ledger.spending import NOTHING, Budget
from confide.privacy.prepared import A, Answer
from confide.records.chain import START

STEP_SECONDS = 0.25
"""The step by which answers are padded."""


@contextmanager
def padded(step: float = STEP_SECONDS) -> Iterator[None]:
    """Pad the duration of a block to a whole number of steps, also if it raises; a step of 0 pads nothing."""
    started = time.perf_counter()
    try:
        yield
    finally:
        if step > 0.0:
            spent = time.perf_counter() - started
            time.sleep(step * math.ceil(spent / step) - spent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """State of an account, the number and hash of its last entry, and the entries that were read or added.

    `found` holds every entry of the requests at hand, the oldest first; `new` those that are not stored yet. An account
    that does not exist has no state.
    """

    account: str
    state: Account | None = None
    sequence: int = 0
    hash: str = START
    found: tuple[Entry, ...] = ()
    new: tuple[Entry, ...] = ()

    def extended(self, drafts: Iterable[Draft], key: bytes) -> Record:
        """Return the record with more entries."""
        state, sequence, last = self.state, self.sequence, self.hash
        added = []
        for draft in drafts:
            entry = Entry.following(sequence, last, draft, account=self.account, key=key)
            state = Account.opened(entry) if state is None else state.after(entry)
            sequence, last = entry.sequence, entry.hash
            added.append(entry)
        return Record(
            account=self.account,
            state=state,
            sequence=sequence,
            hash=last,
            found=(*self.found, *added),
            new=(*self.new, *added),
        )

    def answers(self) -> dict[str, Entry]:
        """Return the answer to each request that has one: the first that was stored."""
        result: dict[str, Entry] = {}
        for entry in self.found:
            if entry.kind == Kind.ANSWER and entry.request_id is not None:
                result.setdefault(entry.request_id, entry)
        return result

    def failures(self) -> frozenset[int]:
        """Return the numbers of the charges for which drawing failed."""
        return frozenset(
            entry.charge for entry in self.found if entry.kind == Kind.FAILURE and entry.charge is not None
        )

    def waiting(self) -> dict[str, Entry]:
        """Return, for each request without an answer, the first charge that still waits for one.

        The sealed state says which charges are waiting. A charge that neither waits nor has an
        outcome means that the outcome was hidden: noise must not be drawn for it again.
        """
        answers, failures = self.answers(), self.failures()
        done = {entry.charge for entry in answers.values()} | failures
        open_still = frozenset() if self.state is None else self.state.waiting
        result: dict[str, Entry] = {}
        for entry in self.found:
            if entry.kind != Kind.CHARGE or entry.request_id is None or entry.request_id in answers:
                continue
            if entry.sequence in open_still:
                result.setdefault(entry.request_id, entry)
            elif entry.sequence not in done:
                raise LedgerError(
                    f"account {self.account!r} was changed behind the ledger's back: what came of entry "
                    f"{entry.sequence} is missing. Nothing is charged or released; run `confide ledger verify`, and "
                    "restore the ledger from a backup"
                )
        return result


_ROOM = 4096  # characters for an answer, besides
_NUMBER = 28  # for each of its numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Charged:
    """A record after requests were charged: the new `charges` by their requests' identity, and those of `earlier` runs.

    Earlier charges were paid by runs that died before their answer. `price` was added to the amount spent;
    `full_price` is the price of the new charges by themselves.
    """

    record: Record
    charges: Mapping[str, Entry] = field(default_factory=dict)
    earlier: Mapping[str, Entry] = field(default_factory=dict)
    price: Budget = NOTHING

    @property
    def owed(self) -> dict[str, Entry]:
        """Charges that must be answered."""
        return {**self.earlier, **self.charges}

    @property
    def full_price(self) -> Budget:
        """Price of the charges, as if none concerned a part of the rows alone."""
        return sum((entry.amount for entry in self.charges.values()), NOTHING)


def unpaid(record: Record, requests: Mapping[str, Request[A]]) -> dict[str, Request[A]]:
    """Return the requests, by identity, that have neither a stored answer nor a charge that waits for one."""
    served = {**record.answers(), **record.waiting()}
    return {identity: request for identity, request in requests.items() if identity not in served}


def opened(account: Account, *, key: bytes, at: str) -> Record:
    """Return the record of a new account."""
    draft = Draft(kind=Kind.OPEN, at=at, amount=account.caps.total, request=account.opening(), data=account.terms.data)
    return Record(account=account.name).extended([draft], key)


def charge(
    record: Record, requests: Mapping[str, Request[Any]], *, analyst: str | None, key: bytes, at: str
) -> Charged:
    """Charge every request that has no stored answer and was not paid before: all of them, or none.

    Raises BudgetError if they do not fit together, ParameterError if the account does not take them.
    """
    account = _state(record)
    for request in requests.values():
        check_binding(account, request)
    new = unpaid(record, requests)
    earlier = {identity: entry for identity, entry in record.waiting().items() if identity in requests}
    if not new:
        return Charged(record=record, earlier=earlier)
    costs = account.costs([(request.guarantee, request.part) for request in new.values()], analyst)
    requested = sum((request.guarantee.epsilon for request in new.values()), Fraction(0))
    account.require(costs, analyst, requested=requested)
    drafts = [
        Draft(
            kind=Kind.CHARGE,
            at=at,
            amount=cost.price,
            analyst=analyst,
            request=request.parameters,
            request_id=identity,
            data=request.data,
        )
        for (identity, request), cost in zip(new.items(), costs, strict=True)
    ]
    after = record.extended(drafts, key)
    return Charged(
        record=after,
        charges=dict(zip(new, after.new[len(record.new) :], strict=True)),
        earlier=earlier,
        price=account.added(costs),
    )


def quoted(record: Record, requests: Mapping[str, Request[Any]], *, analyst: str | None, key: bytes, at: str) -> Quote:
    """Return the quote for charging the requests."""
    account, new = _state(record), unpaid(record, requests)
    costs = account.costs([(request.guarantee, request.part) for request in new.values()], analyst)
    remaining = after = account.remaining(analyst)
    refusal = None
    try:
        charged = charge(record, requests, analyst=analyst, key=key, at=at)
    except BudgetError as error:
        refusal = str(error)
    else:
        after = _state(charged.record).remaining(analyst)
    return Quote(
        account=record.account,
        price=account.added(costs),
        full_price=sum((cost.price for cost in costs), NOTHING),
        spent=account.spent,
        remaining=remaining,
        remaining_after=after,
        answered=record.answers().keys() >= requests.keys(),
        refusal=refusal,
    )


def written(answers: Iterable[Answer], numbers: int) -> str:
    """Write answers as an entry stores them, at the length that a public bound on their numbers gives."""
    text = json.dumps([one.to_dict() for one in answers])
    room = _ROOM + _NUMBER * numbers
    if not text.isascii() or len(text) > room:
        raise LedgerError("an answer is too long for the ledger; nothing is released")
    return text.ljust(room)


def concluded(
    record: Record, drawn: Mapping[str, str], failed: Collection[str], charged: Charged, *, key: bytes, at: str
) -> Record:
    """Record what came of charges: answers that were drawn, and drawings that failed.

    If another run's answer to the same request came first, it stays. If another run's draw failed first, raise an
    error: that failure is all that may be seen of the charge.
    """
    _require_charges(record, charged)
    stored, failures = record.answers(), record.failures()
    open_still = {identity: entry for identity, entry in charged.owed.items() if identity not in stored}
    if any(entry.sequence in failures for entry in open_still.values()):
        raise LedgerError(
            f"drawing noise for the same request to account {record.account!r} failed elsewhere in the meantime; "
            "nothing is released. What was charged is used up; ask again"
        )
    drafts = [
        Draft(
            kind=Kind.FAILURE if identity in failed else Kind.ANSWER,
            at=at,
            analyst=entry.analyst,
            request_id=identity,
            answer=None if identity in failed else drawn[identity],
            charge=entry.sequence,
        )
        for identity, entry in open_still.items()
    ]
    return record.extended(drafts, key)


def _require_charges(record: Record, charged: Charged) -> None:
    for entry in charged.owed.values():
        if entry not in record.found:
            raise LedgerError(
                f"account {record.account!r} has lost a charge that was just written; nothing is released. "
                "Run `confide ledger verify`, and restore the ledger from a backup"
            )


def read_answer(record: Record, identity: str, request: Request[A]) -> tuple[A, ...]:
    """Rebuild the answers that were stored for a request."""
    prepared, plain = request.prepared, record.answers()[identity].answered
    return prepared.chosen(prepared.read(one, prepared.guarantee) for one in plain)


def _state(record: Record) -> Account:
    if record.state is None:
        raise LedgerError(f"account {record.account!r} has no state; restore the ledger from a backup")
    return record.state
