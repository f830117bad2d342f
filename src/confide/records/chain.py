"""Sealed chains: entries that can only be appended, the head of each chain, and the register of all heads.

Each entry seals the one before it. The head of a chain seals its last entry, its number and a state that the entries
add up to. So changing, exchanging, adding or removing entries shows. The register seals all heads: removing a chain,
or putting an older end of one back, shows as well. An older copy of the whole database fits itself; only an anchor
outside of it tells (`anchor`).

Seals are HMAC-SHA256. Who has the key can forge everything; who can write to the database alone, nothing.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NoReturn

from confide.errors import ParameterError, RecordsError

START = ""
"""Seal before the first entry of a chain."""


def seal(key: bytes, purpose: str, *parts: str | int | bytes | None) -> str:
    """HMAC-SHA256, in hex, of a purpose and parts.

    Every part is written with its kind and its length, so that no two lists of parts are written
    alike; the purpose keeps a seal of one thing from passing as a seal of another.
    """
    digest = hmac.new(key, digestmod=sha256)
    for part in (purpose, *parts):
        digest.update(_delimited(part))
    return digest.hexdigest()


def same_seal(one: object, other: str) -> bool:
    """Compare seals in a time that does not tell where they differ. A value of a database that is no text is none."""
    return isinstance(one, str) and hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())


def _delimited(part: str | int | bytes | None) -> bytes:
    if part is None:
        return b"n"
    if isinstance(part, bytes):
        return b"b%d:" % len(part) + part
    kind, text = (b"s", part.encode()) if isinstance(part, str) else (b"i", str(part).encode())
    return kind + b"%d:" % len(text) + text


def canonical_json(plain: Mapping[str, Any] | list[Any], name: str) -> str:
    """Write plain data in one way only, so that equal data have equal hashes."""
    try:
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name} must be plain data: text, finite numbers, true, false, none, lists and mappings of them"
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Entry as it is stored: its chain and number, a topic to look it up by, its text, and the seals.

    `previous` is the seal of the entry before, so that an entry can be checked by itself.
    """

    chain: str
    number: int
    topic: str | None
    text: str
    previous: str
    seal: str

    @classmethod
    def following(cls, number: int, previous: str, text: str, *, topic: str | None, chain: str, key: bytes) -> Link:
        """Append a text to the entry with a number and a seal."""
        sealed = _entry_seal(key, chain, number + 1, topic, text, previous)
        return cls(chain=chain, number=number + 1, topic=topic, text=text, previous=previous, seal=sealed)

    def is_sealed(self, chain: str, key: bytes) -> bool:
        """Return whether the entry is as it was written, in the chain that it was written in."""
        texts = (self.chain, self.text, self.previous, *(() if self.topic is None else (self.topic,)))
        if type(self.number) is not int or not all(isinstance(text, str) for text in texts) or self.chain != chain:
            return False  # a damaged row may hold anything
        return same_seal(self.seal, _entry_seal(key, chain, self.number, self.topic, self.text, self.previous))

    def follows(self, number: int, previous: str, *, chain: str, key: bytes) -> bool:
        """Return whether the entry is as it was written, and follows the entry with a number and a seal."""
        return (self.number, self.previous) == (number + 1, previous) and self.is_sealed(chain, key)


def _entry_seal(key: bytes, chain: str, number: int, topic: str | None, text: str, previous: str) -> str:
    return seal(key, "entry", chain, number, topic, text, previous)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """End of a chain: the number and the seal of its last entry."""

    number: int = 0
    last: str = START


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Sealed end of a chain, and the state that its entries add up to."""

    chain: str
    number: int
    last: str
    state: str
    seal: str

    @classmethod
    def of(cls, chain: str, number: int, last: str, state: str, key: bytes) -> Head:
        """Seal the end of a chain."""
        sealed = seal(key, "head", chain, number, last, state)
        return cls(chain=chain, number=number, last=last, state=state, seal=sealed)

    @property
    def end(self) -> End:
        """Return the number and the seal of the last entry."""
        return End(number=self.number, last=self.last)

    def is_sealed(self, key: bytes) -> bool:
        """Return whether the head is as it was written; a damaged one may hold anything."""
        texts = (self.chain, self.last, self.state, self.seal)
        if type(self.number) is not int or not all(isinstance(text, str) for text in texts):
            return False
        return same_seal(self.seal, seal(key, "head", self.chain, self.number, self.last, self.state))


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Owner of records, as messages name it.

    `what` is the thing itself ("the ledger"), `stops` what does not happen without whole records, `remedy` the next
    step, `chain` names a chain for people, and `error` is the class of all errors.
    """

    what: str
    stops: str
    remedy: str
    error: type[RecordsError] = RecordsError
    chain: Callable[[str], str] = repr

    def refuse(self, problem: str) -> NoReturn:
        """Refuse to go on."""
        raise self.error(f"{problem}. {self.stops}; {self.remedy}")

    def refuse_broken(self, chain: str, found: Break) -> NoReturn:
        """Refuse a chain that breaks."""
        self.refuse(f"{self.chain(chain)} was changed behind {self.what}'s back: entry {found.number} {found.problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """First break of a chain: the entry's number, and the problem."""

    number: int
    problem: str


def broken_link(chain: str, links: Iterable[Link], after: End, key: bytes) -> Break | None:
    """Find the first entry that does not follow the one before, beginning after an end."""
    last = after.last
    for position, link in enumerate(links, start=after.number + 1):
        if not link.follows(position - 1, last, chain=chain, key=key):
            return Break(number=position, problem="is missing, out of place or changed")
        last = link.seal
    return None


def broken_end(last: Link, head: Head | None, key: bytes) -> Break | None:
    """See that a head belongs to the last entry."""
    if head is None or not head.is_sealed(key):
        return Break(number=last.number, problem="has lost its record as the last one")
    if head.number > last.number:
        return Break(number=last.number + 1, problem="is missing")
    if (head.number, head.last) != (last.number, last.seal):
        return Break(number=last.number, problem="does not fit its record as the last one")
    return None


def first_break(chain: str, links: Sequence[Link], head: Head | None, key: bytes) -> Break | None:
    """Find where a whole chain first breaks; None if it is whole."""
    if not links:
        return Break(number=1, problem="is missing")
    return broken_link(chain, links, End(), key) or broken_end(links[-1], head, key)


def register_seal(heads: Iterable[Head], key: bytes) -> str:
    """Seal where all chains end: an older end of one, put back with its own seal, does not fit it."""
    ends = sorted((head.chain, head.number, head.last) for head in heads)
    return seal(key, "register", *(part for end in ends for part in end))


def register_fits(register: object, heads: Iterable[Head], key: bytes) -> bool:
    """Return whether the chains end where the register was sealed."""
    ends = list(heads)
    texts = all(isinstance(text, str) for head in ends for text in (head.chain, head.last))
    numbers = all(isinstance(head.number, int) for head in ends)
    return numbers and texts and same_seal(register, register_seal(ends, key))
