"""Entries of an account, and the keyed hashes that seal them."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from hashlib import sha256
from typing import Any

from confide.errors import ParameterError
from confide.ledger.spending import NOTHING, Budget
from confide.privacy.guarantee import stored_fraction
from confide.privacy.prepared import Part


def seal(key: bytes, purpose: str, *parts: str | int | bytes | None) -> str:
    """HMAC-SHA256, in hex, of a purpose and parts.

    Every part is written with its kind and its length, so that no two lists of parts are written
    alike; the purpose keeps a seal of one thing from passing as a seal of another.
    """
    digest = hmac.new(key, digestmod=sha256)
    for part in (purpose, *parts):
        digest.update(_written(part))
    return digest.hexdigest()


def same_seal(one: object, other: str) -> bool:
    """Compare seals in a time that does not tell where they differ. A value of a database that is no text is none."""
    return isinstance(one, str) and hmac.compare_digest(one.encode(), other.encode())


def _written(part: str | int | bytes | None) -> bytes:
    if part is None:
        return b"n"
    if isinstance(part, bytes):
        return b"b%d:" % len(part) + part
    kind, text = (b"s", part.encode()) if isinstance(part, str) else (b"i", str(part).encode())
    return kind + b"%d:" % len(text) + text


START = ""  # the hash before the first entry
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
    """Entry of an account as it is stored; `Draft` describes its content."""

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
            "account": account,
            "sequence": sequence + 1,
            "kind": draft.kind.value,
            "at": draft.at,
            "analyst": draft.analyst,
            "epsilon": str(draft.amount.epsilon),
            "delta": str(draft.amount.delta),
            "request": _with_rho(draft.request, draft.amount.rho),
            "request_id": draft.request_id,
            "data": draft.data,
            "answer": draft.answer,
            "charge": draft.charge,
            "previous": previous,
        }
        return cls(**content, hash=seal(key, "entry", *content.values()))

    def sealed(self, account: str, key: bytes) -> bool:
        """Return whether the entry is as it was written, in the account that it was written in."""
        *content, claimed = (getattr(self, column) for column in COLUMNS)
        return (
            _kinds_hold(content)
            and isinstance(claimed, str)
            and self.account == account
            and same_seal(claimed, seal(key, "entry", *content))
        )

    def follows(self, sequence: int, previous: str, *, account: str, key: bytes) -> bool:
        """Return whether the entry is as it was written, and follows the entry with a number and a hash."""
        return (self.sequence, self.previous) == (sequence + 1, previous) and self.sealed(account, key)

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


COLUMNS = tuple(field.name for field in fields(Entry))


def canonical_json(plain: Mapping[str, Any] | list[Any], name: str) -> str:
    """Write plain data in one way only, so that equal data have equal hashes."""
    try:
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name} must be plain data: text, finite numbers, true, false, none, lists and mappings of them"
        ) from None


def _with_rho(request: str, rho: Fraction) -> str:
    """Write a request with its concentrated price, if it has one."""
    return canonical_json({**json.loads(request), _RHO: str(rho)}, "request") if rho else request


def _kinds_hold(content: list[object]) -> bool:
    """Return whether a row holds only text, integers and NULL; a damaged one may hold anything."""
    return all(part is None or isinstance(part, str) or type(part) is int for part in content)
