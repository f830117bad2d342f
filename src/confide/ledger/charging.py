"""Charging requests and storing their answers, as pure functions of a chain."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confide.errors import LedgerError
from confide.ledger.account import Account
from confide.ledger.budget import NOTHING, Budget
from confide.ledger.chain import Chain
from confide.ledger.entries import Draft, Entry, Kind
from confide.ledger.requests import Request
from confide.releases.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Charged:
    """A chain after requests were charged; `charges` has those that must be answered, by their identity."""

    chain: Chain
    charges: Mapping[str, Entry]

    @property
    def price(self) -> Budget:
        """What was charged in all."""
        return sum((entry.amount for entry in self.charges.values()), NOTHING)


def state_of(chain: Chain, first: Request) -> Account:
    """The state of an account; a new one has the default caps, and the relation of its first request."""
    if chain.entries:
        return Account.fold(chain.entries)
    guarantee = first.prepared.guarantee
    return Account(name=chain.account, neighbours=guarantee.neighbours, unit=guarantee.unit)


def unanswered(chain: Chain, requests: Mapping[str, Request]) -> dict[str, Request]:
    """The requests, by their identity, that have no stored answer."""
    answers = chain.answers()
    return {identity: request for identity, request in requests.items() if identity not in answers}


def opened(account: Account, *, key: bytes, at: str) -> Chain:
    """The chain of a new account."""
    draft = Draft(kind=Kind.OPEN, at=at, amount=account.caps.total, request=account.terms())
    return Chain(account=account.name).extended([draft], key)


def charge(chain: Chain, requests: Mapping[str, Request], *, analyst: str | None, key: bytes, at: str) -> Charged:
    """Charge every request that has no stored answer: all of them, or none.

    Raises BudgetError if they do not fit together.
    """
    new = unanswered(chain, requests)
    if not new:
        return Charged(chain=chain, charges={})
    account = state_of(chain, next(iter(new.values())))
    prices = account.require([request.prepared.guarantee for request in new.values()], analyst)
    drafts = [
        Draft(
            kind=Kind.CHARGE,
            at=at,
            amount=price,
            analyst=analyst,
            request=request.parameters,
            request_id=identity,
        )
        for (identity, request), price in zip(new.items(), prices, strict=True)
    ]
    before = chain if chain.entries else opened(account, key=key, at=at)
    after = before.extended(drafts, key)
    return Charged(chain=after, charges=dict(zip(new, after.entries[len(before.entries) :], strict=True)))


def answer(chain: Chain, drawn: Mapping[str, Sequence[Release]], charged: Charged, *, key: bytes, at: str) -> Chain:
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
            # In the order of the release's own mappings; not canonical, as it is only ever read back.
            answer=json.dumps([release.to_dict() for release in releases]),
            charge=charged.charges[identity].sequence,
        )
        for identity, releases in drawn.items()
        if identity not in stored
    ]
    return chain.extended(drafts, key)


def read_answer(chain: Chain, identity: str, request: Request) -> tuple[Release, ...]:
    """Rebuild the releases that were stored for a request."""
    plain = chain.answers()[identity].answered
    return request.prepared.chosen(Release.from_dict(one, request.prepared.guarantee) for one in plain)
