"""Questions that wait for a person's yes, and what people decided: a sealed chain of the site's records.

With `approval = "manual"` in its policy, a site holds every question that its rules allow (`rules`) and nobody has
approved. It does so before it reads any data, and replies that a person decides. So neither the reply nor its time
depends on the data. What people see of a held question follows from the question, the policy and the ledger alone: a
person who saw the very numbers and then refused would tell something about them.

A decision is about a question of a coordinator, with its stated purpose. It stays until it is changed, also after a
restart. An approved question may be asked again; what that costs and what is refused, the register and the ledger know.

A held question is identified by a whole SHA-256, and compared with the stored one before it is answered. People see and
type the first digits of it. These digits decide nothing alone: a coordinator can choose purposes until two questions
have the same ones, and then a person must give more digits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from itertools import pairwise, takewhile
from typing import Any

from confide.errors import ConfideError, FederationError, RefusedError, UsageError
from confide.federation.question import Question
from confide.federation.site.records import APPROVALS, SiteRecords

MOST_WAITING = 1_000
"""Most questions that wait at a time, so that nobody fills the disk with questions."""

LONGEST_WHY = 300
SHOWN_DIGITS = 12
"""Digits of a question's number that people see, or more where two questions would have the same ones."""

FEWEST_DIGITS = 8
"""Least digits of a number that a person gives: fewer are easily mistyped for those of another question."""


class Decision(StrEnum):
    """State of a held question."""

    WAITING = "waiting"
    APPROVED = "approved"
    REFUSED = "refused"


class HeldError(ConfideError):
    """A person has not decided yet; nothing was read, charged or sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldQuestion:
    """A question that was held: who asked and when, what was decided, when, by whom and why.

    `id` identifies it (see `question_id`); `number` is its beginning, for people.
    """

    id: str
    number: str
    question: Question
    coordinator: str | None
    asked_at: str
    decision: Decision = Decision.WAITING
    decided_at: str | None = None
    by: str | None = None
    why: str | None = None

    def is_same(self, question: Question, coordinator: str | None) -> bool:
        """Return whether exactly this was asked, for the same purpose and by the same coordinator."""
        return (self.question.lasting_digest(), self.question.purpose, self.coordinator) == (
            question.lasting_digest(),
            question.purpose,
            coordinator,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "id": self.id,
            "number": self.number,
            "question": self.question.to_dict(),
            "coordinator": self.coordinator,
            "asked_at": self.asked_at,
            "decision": self.decision,
            "decided_at": self.decided_at,
            "by": self.by,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Approvals:
    """Held questions of a site."""

    records: SiteRecords

    def require(self, question: Question, coordinator: str | None) -> None:
        """Hold a question that nobody approved: raise HeldError, or RefusedError if a person refused it."""
        held = {one.id: one for one in self.all()}
        name = question_id(question, coordinator)
        found = held.get(name)
        if found is not None and not found.is_same(question, coordinator):
            raise RefusedError(
                "another question with the same number was asked before; ask this one for another purpose (`purpose`)"
            )
        if found is None:
            if sum(one.decision is Decision.WAITING for one in held.values()) >= MOST_WAITING:
                raise RefusedError("too many questions wait for a decision at this site; ask its administrator")
            entry = {"kind": "asked", "id": name, "coordinator": coordinator, "question": question.to_dict()}
            self._append(entry)
        if found is not None and found.decision is Decision.REFUSED:
            raise RefusedError(f"a person at this site refused this question: {found.why}")
        if found is None or found.decision is Decision.WAITING:
            number = _numbers({*held, name})[name]
            raise HeldError(
                f"a person there decides on this question (number {number}); ask again later with the same options, "
                "`purpose` included"
            )

    def decide(self, name: str, decision: Decision, *, by: str, why: str | None = None) -> HeldQuestion:
        """Record a decision about a held question, found by the first 8 digits of its number or more."""
        found = self._numbered(name)
        self._append({"kind": decision.value, "id": found.id, "by": by, "why": why})
        return next(one for one in self.all() if one.id == found.id)

    def _numbered(self, name: str) -> HeldQuestion:
        """Return the one question whose number begins so; refuse too few digits, and what names none or several."""
        if len(name) < FEWEST_DIGITS:
            raise UsageError(
                f"the number {name!r} is too short; give all digits of a question's number that `confide site pending` "
                f"shows, or at least the first {FEWEST_DIGITS}"
            )
        found = [one for one in self.all() if one.id.startswith(name.lower())]
        if not found:
            raise UsageError(f"no question has the number {name!r}; `confide site pending` lists those that wait")
        if len(found) > 1:
            numbers = ", ".join(one.number for one in found)
            raise UsageError(
                f"{len(found)} questions have numbers that begin with {name!r}; give more digits, as in {numbers}. "
                "`confide site pending --decided` shows what each of them asks"
            )
        return found[0]

    def all(self) -> tuple[HeldQuestion, ...]:
        """Return all held questions, the oldest first; refuse records that were changed."""
        found: dict[str, HeldQuestion] = {}
        for entry in self.records.read(APPROVALS):
            _add(found, entry)
        numbers = _numbers(found)
        return tuple(replace(one, number=numbers[one.id]) for one in found.values())

    def waiting(self) -> tuple[HeldQuestion, ...]:
        """Return the questions that nobody decided on."""
        return tuple(one for one in self.all() if one.decision is Decision.WAITING)

    def _append(self, entry: Mapping[str, Any]) -> None:
        self.records.append(APPROVALS, entry)


def question_id(question: Question, coordinator: str | None) -> str:
    """Return the SHA-256, in hex, of a question, its purpose and its coordinator."""
    asked = json.dumps([question.lasting_digest(), question.purpose, coordinator])
    return sha256(asked.encode()).hexdigest()


def checked_why(why: str) -> str:
    """Return a reason for a refusal, which the coordinator reads; refuse an empty or long one."""
    text = " ".join(why.split())
    if not text or len(text) > LONGEST_WHY or not text.isprintable():
        raise UsageError(f"`why` must be 1 to {LONGEST_WHY} characters; the coordinator reads it")
    return text


def _numbers(ids: Iterable[str]) -> dict[str, str]:
    """Return the number of each question for people: its first digits, as many as tell it from all others.

    >>> _numbers(["3f9c01ab22d4" + "0" * 52, "3f9c01ab22d4" + "1" * 52, "5" * 64]).values()
    dict_values(['3f9c01ab22d40', '3f9c01ab22d41', '555555555555'])
    """
    ordered = sorted(ids)
    shared = [_shared_digits(*pair) for pair in pairwise(ordered)]
    longest = (max(pair) for pair in zip((0, *shared), (*shared, 0), strict=False))
    return {one: one[: max(SHOWN_DIGITS, 1 + same)] for one, same in zip(ordered, longest, strict=False)}


def _shared_digits(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=True)))


def _add(found: dict[str, HeldQuestion], entry: Mapping[str, Any]) -> None:
    """Put one entry of the log to the questions that are known from those before it."""
    name = str(entry["id"])
    if entry["kind"] == "asked":
        asked = _asked(name, entry)
        if asked is not None:
            found.setdefault(name, asked)  # two processes may enter the same question
        return
    held = found.get(name)
    if held is None:
        return
    try:
        decision = Decision(entry["kind"])
    except ValueError:
        raise FederationError("the site's approvals hold an unknown decision; install the newest confide") from None
    found[name] = replace(held, decision=decision, decided_at=str(entry["at"]), by=entry["by"], why=entry["why"])


def _asked(name: str, entry: Mapping[str, Any]) -> HeldQuestion | None:
    """Return a question that was held; None for one of an earlier version, whose decisions do not count any more."""
    try:
        question = Question.stored(entry["question"])
    except ConfideError:
        return None
    if name != question_id(question, entry["coordinator"]):
        return None
    return HeldQuestion(
        id=name, number=name, question=question, coordinator=entry["coordinator"], asked_at=str(entry["at"])
    )
