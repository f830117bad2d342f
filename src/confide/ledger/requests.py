"""Requests as the ledger knows them: same public question, same parameters, same guarantee, same part."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Generic

from confide.ledger.entries import canonical_json
from confide.ledger.question import PublicQuestion
from confide.ledger.seals import seal
from confide.privacy.guarantee import Guarantee
from confide.privacy.prepared import LONGEST, A, Part, Prepared


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Generic[A]):
    """A prepared release with the public question that it answers.

    `parameters` is canonical JSON of everything that identifies the request, all of it public. Without a question
    every request is a new one: `unique` then distinguishes it.
    """

    prepared: Prepared[A]
    question: PublicQuestion | None
    parameters: str
    unique: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, prepared: Prepared[A], question: PublicQuestion | None = None) -> Request[A]:
        """Describe a prepared release."""
        plain = {"request": dict(prepared.request), "guarantee": _exact(prepared.guarantee)}
        part = _part(prepared, question)
        if part is not None:
            plain["part"] = part.to_dict()
        if question is not None:
            plain["question"] = question.to_dict()
        return cls(
            prepared=prepared,
            question=question,
            parameters=canonical_json(plain, "request"),
            unique=secrets.token_hex(16) if question is None else None,
        )

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of the release."""
        return self.prepared.guarantee

    @property
    def part(self) -> Part | None:
        """Part of the rows that is read, as the account names it."""
        return _part(self.prepared, self.question)

    @property
    def data(self) -> str | None:
        """Identity of the rows that are read, if the question gives it."""
        return None if self.question is None else self.question.rows

    def identity(self, key: bytes) -> str:
        """Return a keyed hash of what identifies the request."""
        return seal(key, "request", self.parameters, self.unique)


def source_digest(chunks: Iterable[bytes]) -> bytes:
    """Hash a whole source piece by piece. Without a key it could be guessed: it must not leave the process."""
    digest = sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.digest()


def data_identity(key: bytes, digest: bytes) -> str:
    """Return the identity of a source: a keyed hash of its digest, which nobody without the key can test guesses on."""
    return "data-" + seal(key, "data", digest)[:32]


def _part(prepared: Prepared[Any], question: PublicQuestion | None) -> Part | None:
    """Return the part, with its rule bound to the rows that the question names.

    The parts of a partition are disjoint within one source. In another version or format of the source a row may lie in
    another part, so parts of different sources add up.
    """
    part = prepared.part
    if part is None or question is None:
        return part
    rule = f"{part.partition}, in {question.rows}"
    if rule.count(", in ") > 1:  # rule and rows could be divided in two ways
        rule = f"a rule with sha256 {sha256(json.dumps([part.partition, question.rows]).encode()).hexdigest()}"
    elif len(rule) > LONGEST:
        rule = f"a rule with sha256 {sha256(rule.encode()).hexdigest()}"
    return replace(part, partition=rule)


def _exact(guarantee: Guarantee) -> dict[str, Any]:
    """Write a guarantee. The rho of persons with several rows follows from the rest, and was not always stated."""
    rho = guarantee.rho if guarantee.rows_per_person == 1 else None
    return {
        "epsilon": str(guarantee.epsilon),
        "delta": str(guarantee.delta),
        "neighbours": guarantee.neighbours.value,
        "unit": guarantee.unit,
        "rows_per_person": guarantee.rows_per_person,
        "public": list(guarantee.public),
        "rho": None if rho is None else str(rho),
    }
