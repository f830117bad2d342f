"""Logs of a site: sealed entries, their anchors in the register, and the log of requests.

A log and its head can both be replaced by old copies. The register then knows of more entries than the log has, and the
log is refused. The register lies in another file, which also remembers what the site has answered. An anchor is sealed
with the key of the logs, and is never lowered.

An entry is a line of JSON with its number and a seal: a keyed hash of the log's name, the number, the seal before it
and the entry. A file of heads, sealed too, says how many entries each log has, so that a log cannot be cut short. The
site's register knows these numbers as well, so that old copies of a log and of the heads are noticed.

An entry is written in three steps: line, head, register. A process may be killed after each of them, and each may fail.
The next one that reads or appends completes the steps first. So at most one entry is ever beyond the head.

The key lies beside the logs in a file that only its owner may read. So the logs are safe against people and programs
that can write to the folder but not read the key. Whoever has the site's own account can forge them. Old copies of the
register, the heads and all logs, put back together, look like the past; so does a folder without any of them and
without charges in its ledger.

A log that grows beyond some megabytes goes on in a new file. The old one gets the number of its last entry in its name,
and may be archived elsewhere; the chain continues over files.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confide.errors import ConfideError, FederationError
from confide.federation.protocol import ANSWER, OFFER, SHARES, UNMASK, VOTE, Message
from confide.federation.site.config import SiteFolder
from confide.federation.site.register import LOGS_TABLE, RegisterStore, has_table, used
from confide.federation.site_files import read_secret, write_whole
from confide.files import create_file
from confide.ledger.entries import canonical_json, same_seal, seal

FIRST = "0" * 64
"""Seal before the first entry of a log."""

_RAISE = """
INSERT INTO logs (name, entries, last, seal) VALUES (?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET entries = excluded.entries, last = excluded.last, seal = excluded.seal
WHERE excluded.entries > logs.entries
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """Number and seal of the last entry of a log that the register knows."""

    number: int = 0
    seal: str = FIRST


class LogAnchors:
    """Anchors of the logs in a site's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = SiteFolder(folder)
        self._store = RegisterStore(folder)

    def read(self, key: bytes, name: str) -> Anchor:
        """Return the anchor of a log; that of an empty log if there is none. Refuse one that was changed."""
        if not self._store.exists():
            return Anchor()
        with self._store.transaction(writing=False) as connection:
            if not has_table(connection, "logs"):
                return Anchor()
            row = connection.execute("SELECT entries, last, seal FROM logs WHERE name = ?", (name,)).fetchone()
        if row is None:
            return Anchor()
        anchor = Anchor(number=int(row[0]), seal=str(row[1]))
        if not same_seal(str(row[2]), _sealed(key, name, anchor)):
            raise FederationError(
                f"the number of entries of {name} in {self._store.path} was changed, or is sealed with another key; "
                "restore the site's whole folder from the newest backup"
            )
        return anchor

    def write(self, key: bytes, name: str, anchor: Anchor) -> None:
        """Store the anchor of a log, unless the register knows of more entries; it is on the disk then."""
        if not self._store.exists():
            self._store.create()
        with self._store.transaction(writing=True) as connection:
            connection.execute(LOGS_TABLE)
            connection.execute(_RAISE, (name, anchor.number, anchor.seal, _sealed(key, name, anchor)))

    def used_before(self) -> bool:
        """Return whether the site has logged, answered or charged anything; the key of its logs is older than these."""
        return self._register_used() or self._charged()

    def _register_used(self) -> bool:
        if not self._store.exists():
            return False
        with self._store.transaction(writing=False) as connection:
            return used(connection) or any(
                has_table(connection, table)
                and connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None  # noqa: S608
                for table in ("logs", "settled", "met")
            )

    def _charged(self) -> bool:
        from confide.ledger.ledger import Ledger
        from confide.ledger.spending import NOTHING

        with Ledger(self._folder.ledger) as ledger:
            return any(account.spent != NOTHING for account in ledger.accounts())


def _sealed(key: bytes, name: str, anchor: Anchor) -> str:
    return seal(key, "anchor of a site's log", name, anchor.number, anchor.seal)


KEY, HEADS, LOCK = "logs.key", "logs.heads", "logs.lock"
MOST_BYTES = 5_000_000
"""Size at which a log goes on in a new file."""

_KEY_BYTES = 32
_NUMBER, _BEFORE, _SEAL = "n", "before", "seal"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCheck:
    """Result of checking a log: its entries, the first number that is there, and what is wrong, if anything."""

    name: str
    entries: int
    first: int
    problem: str | None = None

    def in_words(self) -> str:
        """Return the result as one line."""
        if self.problem is not None:
            return f"{self.name}: changed or damaged: {self.problem}"
        archived = f"; entries before {self.first} lie elsewhere" if self.first > 1 else ""
        return f"{self.name}: {self.entries} entries, all as they were written{archived}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"name": self.name, "entries": self.entries, "first": self.first, "problem": self.problem}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """Number and seal of a log's last entry, and the numbers of entries with which later files begin.

    The register knows of `anchored` entries at least.
    """

    number: int = 0
    seal: str = FIRST
    starts: tuple[int, ...] = ()
    anchored: int = 0

    @classmethod
    def from_list(cls, plain: list[Any]) -> _Head:
        number, last, starts, anchored = plain
        return cls(
            number=int(number),
            seal=str(last),
            starts=tuple(int(start) for start in starts),
            anchored=int(anchored),
        )

    def to_list(self) -> list[Any]:
        return [self.number, self.seal, list(self.starts), self.anchored]

    @property
    def anchor(self) -> Anchor:
        """Return the anchor of a log that ends here."""
        return Anchor(number=self.number, seal=self.seal)


@dataclass(frozen=True, slots=True)
class SealedLog:
    """A log in a site's folder, by the name of its file.

    A `strict` log is neither read nor continued while the register cannot be used, or does not fit it. Any other log
    goes on, and `check` shows what is wrong.
    """

    path: Path
    strict: bool = False

    @property
    def name(self) -> str:
        """Name of the log's file."""
        return self.path.name

    def begin(self) -> None:
        """Make the key of the logs, unless there is one; refuse if the site has logged before and the key is gone.

        A site does this before it registers or charges anything, which would otherwise look like logs that are gone.
        """
        if not (self.path.parent / KEY).exists():
            with self._locked():
                self._key()

    def append(self, entry: Mapping[str, Any]) -> None:
        """Add an entry; it is on the disk when this returns."""
        with self._locked():
            key = self._key()
            heads = self._heads(key)
            head, anchored = self._settled(key, heads)
            line = self._line(key, head.number + 1, head.seal, entry)
            head = self._in_new_file(key, heads, head)
            self._write(json.dumps(line) + "\n")
            head = replace(head, number=head.number + 1, seal=str(line[_SEAL]))
            self._write_heads(key, heads | {self.name: head})
            if anchored:
                self._write_anchor(key, head)

    def read(self) -> tuple[dict[str, Any], ...]:
        """Return all entries, checked; refuse a log that was changed.

        An entry that was not completed is completed first: nobody can take back what was read once.
        """
        if (self.path.parent / KEY).exists():
            with self._locked():
                key = self._key()
                self._settled(key, self._heads(key))
        found, check = self._checked()
        if check.problem is not None:
            raise self._changed(check.problem)
        return found

    def check(self) -> LogCheck:
        """Check all entries."""
        return self._checked()[1]

    def files(self) -> list[Path]:
        """Return the files of this log, the oldest first."""
        pattern = re.compile(rf"{re.escape(self.path.stem)}-(\d{{8}}){re.escape(self.path.suffix)}")
        old = [path for path in self.path.parent.glob(f"{self.path.stem}-*") if pattern.fullmatch(path.name)]
        return [*sorted(old), *([self.path] if self.path.exists() else [])]

    def _checked(self) -> tuple[tuple[dict[str, Any], ...], LogCheck]:
        try:
            if not (self.path.parent / KEY).exists():  # looking leaves no lock in the folder of a new site
                return (), self._result(0, 1, self._without_key())
            with self._locked():
                key = self._key()
                heads = self._heads(key)
                anchor = self._anchors.read(key, self.name)
                lines, older = self._lines(), self._outrun(key, heads)
        except ConfideError as error:
            return (), self._result(0, 1, str(error))
        if older is not None:
            return (), self._result(0, 1, f"{HEADS} is older than {older}")
        return self._chain(key, lines, heads.get(self.name, _Head()), anchor)

    def _chain(
        self, key: bytes, lines: list[str], head: _Head, anchor: Anchor
    ) -> tuple[tuple[dict[str, Any], ...], LogCheck]:
        found: list[dict[str, Any]] = []
        number, before, first = 0, FIRST, 1
        seals = {0: FIRST}
        for place, text in enumerate(lines, start=1):
            entry = _parsed(text)
            if entry is None:
                return (), self._result(len(found), first, f"line {place} is not an entry")
            if place == 1 and entry[_NUMBER] in head.starts:
                first, number, before = entry[_NUMBER], entry[_NUMBER] - 1, entry[_BEFORE]
                seals = {number: before}
            number += 1
            if entry[_NUMBER] != number or entry[_BEFORE] != before or not self._sealed(key, entry):
                return (), self._result(len(found), first, f"entry {number} is not as it was written, or missing")
            seals[number] = before = str(entry[_SEAL])
            found.append(_without_chain(entry))
        problem = _problem(number, seals, head, anchor)
        return (() if problem else tuple(found)), self._result(len(found), first, problem)

    def _result(self, entries: int, first: int, problem: str | None) -> LogCheck:
        return LogCheck(name=self.name, entries=entries, first=first, problem=problem)

    def _line(self, key: bytes, number: int, before: str, entry: Mapping[str, Any]) -> dict[str, Any]:
        sealed = seal(key, "site's log", self.name, number, before, canonical_json(dict(entry), "an entry"))
        return {_NUMBER: number, **entry, _BEFORE: before, _SEAL: sealed}

    def _sealed(self, key: bytes, entry: Mapping[str, Any]) -> bool:
        """Return whether an entry has the seal of its number, of the seal before it and of its content."""
        try:
            expected = self._line(key, entry[_NUMBER], entry[_BEFORE], _without_chain(entry))
            return same_seal(str(entry[_SEAL]), str(expected[_SEAL]))
        except (ConfideError, ValueError):  # a number or a text that no entry can hold
            return False

    def _settled(self, key: bytes, heads: dict[str, _Head]) -> tuple[_Head, bool]:
        """Complete the last entry: its head, then the register. Return the head, and whether the register is up to it.

        Half a line at the end was never acknowledged, and is removed.
        """
        self._remove_half_line()
        head = heads.get(self.name, _Head())
        last = self._last_entry(key)
        if last is not None and last[_NUMBER] == head.number + 1 and last[_BEFORE] == head.seal:
            head = heads[self.name] = replace(head, number=last[_NUMBER], seal=str(last[_SEAL]))
            self._write_heads(key, heads)
        try:
            anchor = self._anchors.read(key, self.name)
        except FederationError:
            if self.strict:
                raise
            return head, False
        if anchor != head.anchor:
            problem = self._chain(key, self._lines(), head, anchor)[1].problem
            if problem is not None and self.strict:
                raise self._changed(problem)
            if problem is not None or not self._write_anchor(key, head):
                return head, False
        return replace(head, anchored=head.number), True

    def _write_anchor(self, key: bytes, head: _Head) -> bool:
        """Let the register know of all entries; return whether it does. A strict log is refused if it does not."""
        try:
            self._anchors.write(key, self.name, head.anchor)
        except FederationError:
            if self.strict:
                raise
            return False
        return True

    @property
    def _anchors(self) -> LogAnchors:
        return LogAnchors(self.path.parent)

    def _outrun(self, key: bytes, heads: Mapping[str, _Head]) -> str | None:
        """Return the name of a log of this folder that has two entries or more beyond its head: the heads are old."""
        for name, head in heads.items():
            last = SealedLog(self.path.with_name(name))._last_entry(key)
            if last is not None and last[_NUMBER] > head.number + 1:
                return name
        return None

    def _last_entry(self, key: bytes) -> dict[str, Any] | None:
        """Return the last entry of the newest file; None if there is none with a true seal."""
        if not self.path.exists():
            return None
        whole = self.path.read_bytes().rpartition(b"\n")[0]
        entry = _parsed(whole.rpartition(b"\n")[2].decode("utf-8", "replace"))
        return entry if entry is not None and self._sealed(key, entry) else None

    def _lines(self) -> list[str]:
        """Return all whole lines of all files."""
        texts = [file.read_text("utf-8", "replace") for file in self.files()]
        return [line for text in texts for line in text[: text.rfind("\n") + 1].splitlines()]

    def _remove_half_line(self) -> None:
        if self.path.exists():
            whole, newline, rest = self.path.read_bytes().rpartition(b"\n")
            if rest:
                os.truncate(self.path, len(whole) + len(newline))

    def _in_new_file(self, key: bytes, heads: dict[str, _Head], head: _Head) -> _Head:
        """Go on in a new file if the log's file is large."""
        if not self.path.exists() or self.path.stat().st_size < MOST_BYTES:
            return head
        head = replace(head, starts=(*head.starts, head.number + 1))
        self._write_heads(key, heads | {self.name: head})
        self.path.rename(self.path.with_name(f"{self.path.stem}-{head.number:08d}{self.path.suffix}"))
        return head

    def _write(self, text: str) -> None:
        rest = text.encode("utf-8")
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                while rest:
                    rest = rest[os.write(handle, rest) :]
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise FederationError(
                f"{self.path} cannot be written ({error.strerror}); free space on its disk, or make it writable"
            ) from None

    def _heads(self, key: bytes) -> dict[str, _Head]:
        path = self.path.parent / HEADS
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
            heads = {str(name): _Head.from_list(head) for name, head in plain["heads"].items()}
            if not same_seal(str(plain[_SEAL]), _heads_seal(key, heads)):
                raise ValueError("another seal")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise FederationError(f"{path} is gone, changed or damaged; put it back from a backup") from None
        return heads

    def _write_heads(self, key: bytes, heads: Mapping[str, _Head]) -> None:
        plain = {"heads": {name: head.to_list() for name, head in heads.items()}, _SEAL: _heads_seal(key, heads)}
        write_whole(self.path.parent / HEADS, json.dumps(plain) + "\n")
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new head is on the disk before the register knows of its entry
        finally:
            os.close(folder)

    def _key(self) -> bytes:
        """Return the key; make it, with a file of no heads, before the first entry of all."""
        path = self.path.parent / KEY
        if not path.exists():
            problem = self._without_key()
            if problem is not None:
                raise FederationError(f"{path}: {problem}; restore the site's whole folder from the newest backup")
            fresh = secrets.token_bytes(_KEY_BYTES)
            self._write_heads(fresh, {})
            create_file(path, lambda unfinished: unfinished.write_text(fresh.hex() + "\n"))
        try:
            key = bytes.fromhex(read_secret(path, "key of the site's logs").decode("ascii", "replace"))
        except ValueError:
            key = b""
        if len(key) != _KEY_BYTES:
            raise FederationError(f"{path} must hold {2 * _KEY_BYTES} hexadecimal digits; put it back from a backup")
        return key

    def _without_key(self) -> str | None:
        """Return what is wrong if there is no key; None if nothing was ever logged."""
        if self.files():
            return "there is a log, and no key to it"
        return (
            "this site has logged before, and its logs and their key are gone" if self._anchors.used_before() else None
        )

    def _changed(self, problem: str) -> FederationError:
        return FederationError(
            f"{self.path} was changed or is damaged ({problem}); restore the site's whole folder from the newest "
            "backup. Nothing is answered until then"
        )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one process at a time read or write the logs of a folder."""
        handle = os.open(self.path.parent / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _problem(number: int, seals: Mapping[int, str], head: _Head, anchor: Anchor) -> str | None:
    """Return how a whole chain does not fit its head or its anchor; `seals` has the seals of its entries by number."""
    if number < head.number or not same_seal(seals.get(head.number, ""), head.seal):
        return f"it ends after entry {number}, and there were {head.number}"
    if number > head.number + 1:
        return f"it has {number} entries, and {HEADS} is older"
    if anchor.number < head.anchored:
        return f"the site's register is gone or older than the log: it knew of {head.anchored} entries"
    archived = anchor.number < min(seals)
    if number < anchor.number or not (archived or same_seal(seals[anchor.number], anchor.seal)):
        return f"it ends after entry {number}, and the site's register knows of {anchor.number}"
    return None


def _heads_seal(key: bytes, heads: Mapping[str, _Head]) -> str:
    written = canonical_json({name: head.to_list() for name, head in heads.items()}, "heads")
    return seal(key, "heads of a site's logs", written)


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(plain, dict) and type(plain.get(_NUMBER)) is int and isinstance(plain.get(_BEFORE), str)
    return plain if whole and _SEAL in plain else None


def _without_chain(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in (_NUMBER, _BEFORE, _SEAL)}


_CHAIN = ("n", "before", "seal")
_ROUNDS = {OFFER: 1, SHARES: 2, ANSWER: 2, VOTE: 4, UNMASK: 5}
_AFTER_SHARES = 3


def log_request(folder: SiteFolder, entry: Mapping[str, Any]) -> None:
    """Add an entry, with the time, to the site's log of requests."""
    SealedLog(folder.log).append({"at": datetime.now(UTC).isoformat(timespec="seconds"), **entry})


def round_of(topic: str, request: Message) -> int | None:
    """Return the number of a request's round, from 1; None for a request that is unknown here.

    A sum that survives dropouts asks for shares in round 2, and sends them with the request for the answer in round 3.
    Its vote in round 4 is left out if nobody dropped out; the last round is 5 all the same.
    """
    return _AFTER_SHARES if topic == ANSWER and "boxes" in request else _ROUNDS.get(topic)


def last_requests(folder: SiteFolder, wanted: int) -> tuple[dict[str, Any], ...]:
    """Return the last requests, the newest last. A line that was cut short is left out."""
    if not wanted or not folder.log.exists():
        return ()
    with folder.log.open(encoding="utf-8", errors="replace") as file:
        lines = deque(file, maxlen=wanted)
    return tuple(request for request in map(_request, lines) if request is not None)


def _request(text: str) -> dict[str, Any] | None:
    try:
        plain = json.loads(text)
    except ValueError:
        return None
    if not isinstance(plain, dict):
        return None
    return {name: value for name, value in plain.items() if name not in _CHAIN}
