"""Entries of an account, and how a sealed chain of records stores them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from confide.ledger.spending import NOTHING, Budget
from confide.privacy.guarantee import stored_fraction
from confide.privacy.prepared import Part
from confide.records.chain import Link, canonical_json

_RHO = "rho"  # the concentrated price of a charge; the columns of all entries are those of epsilon and delta


class Kind(StrEnum):
    """Kind of an entry."""

    OPEN = "open"  # the terms of a new account
    CAP = "cap"  # new caps of an account
    CHARGE = "charge"  # a price, paid before noise is drawn
    ANSWER = "answer"  # what was released for a charge
    FAILURE = "failure"  # that no noise could be drawn for a charge, which is used up


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Content of an entry before it has its place in a chain.

    `amount` is the caps of an account or the price of a charge: that of its part alone, if it has one. `request` is
    canonical JSON: the terms of an account, or the public parameters of a release, with the part of the rows that it
    reads and the public question. `request_id` is a keyed hash of these. An entry stores the rho of an amount beside
    them. `data` is the identity of the data that an account is for or that a charge is about. `charge` is the sequence
    of the charge that an answer or a failure belongs to.
    """

    kind: Kind
    at: str
    amount: Budget = NOTHING
    analyst: str | None = None
    request: str = "{}"
    request_id: str | None = None
    data: str | None = None
    answer: str | None = None
    charge: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Entry of an account; `Draft` describes its content. `hash` seals it, `previous` the entry before.

    It is stored as JSON without the answer, which follows on a line of its own as it is: its length must not depend on
    how JSON writes it.
    """

    account: str
    sequence: int
    kind: str
    at: str
    analyst: str | None
    epsilon: str
    delta: str
    request: str
    request_id: str | None
    data: str | None
    answer: str | None
    charge: int | None
    previous: str
    hash: str

    @classmethod
    def following(cls, sequence: int, previous: str, draft: Draft, *, account: str, key: bytes) -> Entry:
        """Append a draft to the entry with a number and a hash, and seal it."""
        content: dict[str, Any] = {
            "kind": draft.kind.value,
            "at": draft.at,
            "analyst": draft.analyst,
            "epsilon": str(draft.amount.epsilon),
            "delta": str(draft.amount.delta),
            "request": _with_rho(draft.request, draft.amount.rho),
            "data": draft.data,
            "charge": draft.charge,
        }
        text = canonical_json(content, "an entry") + ("" if draft.answer is None else f"\n{draft.answer}")
        return cls.read(
            Link.following(sequence, previous, text, topic=draft.request_id, chain=chain_of(account), key=key)
        )

    @classmethod
    def read(cls, link: Link) -> Entry:
        """Read a stored entry, whose seal was checked."""
        content, newline, answer = link.text.partition("\n")
        return cls(
            account=link.chain.removeprefix(_ACCOUNT),
            sequence=link.number,
            request_id=link.topic,
            answer=answer if newline else None,
            previous=link.previous,
            hash=link.seal,
            **json.loads(content),
        )

    @property
    def link(self) -> Link:
        """Return the entry as it is stored."""
        text = canonical_json({name: getattr(self, name) for name in _CONTENT}, "an entry")
        return Link(
            chain=chain_of(self.account),
            number=self.sequence,
            topic=self.request_id,
            text=text + ("" if self.answer is None else f"\n{self.answer}"),
            previous=self.previous,
            seal=self.hash,
        )

    @property
    def amount(self) -> Budget:
        """Caps or price, as exact fractions. A concentrated price is stored with the request."""
        rho = self.request_data.get(_RHO, "0") if self.kind == Kind.CHARGE else "0"
        epsilon, delta, exact_rho = map(stored_fraction, (self.epsilon, self.delta, rho))
        return Budget(epsilon=epsilon, delta=delta, rho=exact_rho)

    @property
    def request_data(self) -> dict[str, Any]:
        """Request as plain data."""
        plain: dict[str, Any] = json.loads(self.request)
        return plain

    @property
    def part(self) -> Part | None:
        """Part of the rows that a charge is for; None if it is for all of them."""
        plain = self.request_data.get("part")
        return None if plain is None else Part(partition=plain["partition"], name=plain["name"])

    @property
    def answered(self) -> list[dict[str, Any]]:
        """Answers as plain data; none for other kinds."""
        plain: list[dict[str, Any]] = json.loads(self.answer) if self.answer is not None else []
        return plain

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without the hashes."""
        return {
            "sequence": self.sequence,
            "kind": self.kind,
            "at": self.at,
            "analyst": self.analyst,
            **self.amount.to_dict(),
            "request": self.request_data,
            "charge": self.charge,
            "answer": self.answered if self.answer is not None else None,
        }


_CONTENT = ("kind", "at", "analyst", "epsilon", "delta", "request", "data", "charge")
_ACCOUNT = "account:"


def chain_of(account: str) -> str:
    """Return the name of an account's chain, which is no name of another chain in the same database."""
    return f"{_ACCOUNT}{account}"


def account_of(chain: str) -> str | None:
    """Return the account of a chain; None if it is another chain."""
    return chain.removeprefix(_ACCOUNT) if chain.startswith(_ACCOUNT) else None


def _with_rho(request: str, rho: Fraction) -> str:
    """Write a request with its concentrated price, if it has one."""
    return canonical_json({**json.loads(request), _RHO: str(rho)}, "request") if rho else request
