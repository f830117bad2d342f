"""Charging requests and storing their answers, as pure functions of a chain."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from confide.errors import BudgetError, LedgerError
from confide.ledger.account import Account
from confide.ledger.budget import NOTHING, Budget
from confide.ledger.chain import Chain
from confide.ledger.entries import Draft, Entry, Kind
from confide.ledger.receipts import Quote
from confide.ledger.requests import Request
from confide.releases.prepared import A, Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Charged:
    """A chain after requests were charged; `charges` has those that must be answered, by their identity.

    `price` is what was added to what is spent, `full_price` what the charges cost by themselves.
    """

    chain: Chain
    charges: Mapping[str, Entry]
    price: Budget = NOTHING

    @property
    def full_price(self) -> Budget:
        """What was charged, as if no charge concerned a part of the rows alone."""
        return sum((entry.amount for entry in self.charges.values()), NOTHING)


def state_of(chain: Chain, first: Request[Any]) -> Account:
    """The state of an account; a new one has the default caps, and the relation of its first request."""
    if chain.entries:
        return Account.fold(chain.entries)
    guarantee = first.prepared.guarantee
    return Account(name=chain.account, neighbours=guarantee.neighbours, unit=guarantee.unit)


def unanswered(chain: Chain, requests: Mapping[str, Request[A]]) -> dict[str, Request[A]]:
    """The requests, by their identity, that have no stored answer."""
    answers = chain.answers()
    return {identity: request for identity, request in requests.items() if identity not in answers}


def opened(account: Account, *, key: bytes, at: str) -> Chain:
    """The chain of a new account."""
    draft = Draft(kind=Kind.OPEN, at=at, amount=account.caps.total, request=account.terms())
    return Chain(account=account.name).extended([draft], key)


def charge(chain: Chain, requests: Mapping[str, Request[Any]], *, analyst: str | None, key: bytes, at: str) -> Charged:
    """Charge every request that has no stored answer: all of them, or none.

    Raises BudgetError if they do not fit together.
    """
    new = unanswered(chain, requests)
    if not new:
        return Charged(chain=chain, charges={})
    account = state_of(chain, next(iter(new.values())))
    costs = [account.cost(request.prepared.guarantee, request.prepared.part) for request in new.values()]
    asked = sum((request.prepared.guarantee.epsilon for request in new.values()), Fraction(0))
    account.require(costs, analyst, asked=asked)
    drafts = [
        Draft(
            kind=Kind.CHARGE,
            at=at,
            amount=cost.price,
            analyst=analyst,
            request=request.parameters,
            request_id=identity,
        )
        for (identity, request), cost in zip(new.items(), costs, strict=True)
    ]
    before = chain if chain.entries else opened(account, key=key, at=at)
    after = before.extended(drafts, key)
    return Charged(
        chain=after,
        charges=dict(zip(new, after.entries[len(before.entries) :], strict=True)),
        price=account.added(costs),
    )


def quoted(chain: Chain, requests: Mapping[str, Request[Any]], *, analyst: str | None, key: bytes, at: str) -> Quote:
    """What charging the requests would do."""
    first = next(iter(requests.values()))
    account, new = state_of(chain, first), unanswered(chain, requests)
    costs = [account.cost(request.prepared.guarantee, request.prepared.part) for request in new.values()]
    remaining = after = account.remaining(analyst)
    refusal = None
    try:
        charged = charge(chain, requests, analyst=analyst, key=key, at=at)
    except BudgetError as error:
        refusal = str(error)
    else:
        after = state_of(charged.chain, first).remaining(analyst)
    return Quote(
        account=chain.account,
        price=account.added(costs),
        full_price=sum((cost.price for cost in costs), NOTHING),
        spent=account.spent,
        remaining=remaining,
        remaining_after=after,
        answered=not new,
        refusal=refusal,
        opens=not chain.entries,
    )


def answer(chain: Chain, drawn: Mapping[str, Sequence[Answer]], charged: Charged, *, key: bytes, at: str) -> Chain:
    """Store what was drawn; where somebody's answer to the same request came first, that one stays."""
    for entry in charged.charges.values():
        if chain.entries[entry.sequence - 1 : entry.sequence] != (entry,):
            raise LedgerError(
                f"account {chain.account!r} has lost a charge that was just written; nothing is released. "
                "Run `confide ledger verify`, and restore the ledger from a backup"
            )
    stored = chain.answers()
    drafts = [
        Draft(
            kind=Kind.ANSWER,
            at=at,
            analyst=charged.charges[identity].analyst,
            request_id=identity,
            # In the order of the answer's own mappings; not canonical, as it is only ever read back.
            answer=json.dumps([one.to_dict() for one in answers]),
            charge=charged.charges[identity].sequence,
        )
        for identity, answers in drawn.items()
        if identity not in stored
    ]
    return chain.extended(drafts, key)


def read_answer(chain: Chain, identity: str, request: Request[A]) -> tuple[A, ...]:
    """Rebuild the answers that were stored for a request."""
    prepared, plain = request.prepared, chain.answers()[identity].answered
    return prepared.chosen(prepared.read(one, prepared.guarantee) for one in plain)
