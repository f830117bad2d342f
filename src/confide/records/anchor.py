"""Anchor: a sealed file outside the database that knows where all chains ended after the last write.

An older copy of the database shows by it, and one that was emptied. An older copy of the database and the anchor
together cannot be detected, as it was valid once.

Order of a write: the database commits, the anchor follows, the caller is answered. After a crash the anchor may lag
behind the database, never the other way round. Entries beyond the anchor bear seals, so the next reader accepts them.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from confide.atomic_files import flush, replacement
from confide.errors import RecordsError
from confide.records.chain import End, canonical_json, same_seal, seal

Ends = Mapping[str, End]


class Anchor:
    """Anchor of a database. Several threads and processes may write: each only moves ends on, under a lock.

    `disk` is entered around every use of the disk, to replace its errors.
    """

    def __init__(
        self,
        path: Path,
        *,
        error: type[RecordsError],
        disk: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.path = path
        self._error = error
        self._disk = disk
        self._lock = threading.Lock()
        self._waiting: dict[str, End] = {}
        self._seen: dict[str, End] = {}
        self._version: tuple[int, ...] = ()
        self._kept: tuple[int, ...] = ()

    def exists(self) -> bool:
        """Return whether there is such a file."""
        return os.path.lexists(self.path)

    def text(self) -> bytes | None:
        """Return the content of the file, which is not checked; None if there is none."""
        with self._disk():
            return self.path.read_bytes() if self.path.exists() else None

    def read(self, key: bytes) -> dict[str, End] | None:
        """Return the ends of all chains; None if there is no file. Refuse a file that was changed."""
        text = self.text()
        return None if text is None else self.parse(text, key)

    def parse(self, text: bytes, key: bytes) -> dict[str, End]:
        """Return the ends of all chains, given the content of the file; refuse one that was changed."""
        try:
            plain = json.loads(text)
            ends = {
                str(name): End(number=int(number), last=str(last)) for name, (number, last) in plain["ends"].items()
            }
            whole = same_seal(plain["seal"], _seal(key, ends))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            whole = False
        if not whole:
            raise self._error(
                f"{self.path} is damaged, or belongs to another key; restore it and the database from one backup"
            )
        return ends

    def seen(self, key: bytes) -> dict[str, End]:
        """Return the newest ends in the file, which is read again if another process wrote it."""
        with self._disk():
            status = self.path.stat()
        version = (status.st_ino, status.st_mtime_ns, status.st_size)
        if version != self._version:
            self._seen, self._version = self.read(key) or {}, version
        return self._seen

    def advance(self, key: bytes, ends: Ends) -> None:
        """Bring the file up to ends that the database has committed. One write serves all threads that wait."""
        with _WAITING:
            _merge(self._waiting, ends)
        with self._lock:
            if self.exists():
                seen = self.seen(key)
                if all(_reaches(seen.get(name), end) for name, end in ends.items()):
                    self._keep()
                    return
            with _WAITING:
                wanted, self._waiting = self._waiting, {}
            with self._disk(), self._alone():
                merged = self.read(key) or {}
                _merge(merged, wanted)
                _merge(merged, ends)  # which an earlier thread took along, and could not write
                self._write(key, merged)

    def _keep(self) -> None:
        """Bring the name of the file to the disk, which another process may have given it just now."""
        if self._kept != self._version:
            with self._disk():
                flush(self.path.parent)
            self._kept = self._version

    def replace(self, key: bytes, ends: Ends) -> None:
        """Write ends as they are, also such that lie before those of the file."""
        with self._lock, self._disk(), self._alone():
            self._write(key, ends)

    def _write(self, key: bytes, ends: Ends) -> None:
        plain = {name: [end.number, end.last] for name, end in sorted(ends.items())}
        text = canonical_json({"ends": plain, "seal": _seal(key, ends)}, "ends")
        with replacement(self.path, owner_only=True) as unfinished:
            unfinished.write_text(text + "\n", encoding="utf-8")
            if self.path.exists():  # whoever shares a ledger among users lets them read this file
                unfinished.chmod(self.path.stat().st_mode)
        flush(self.path.parent)

    def remove(self) -> None:
        """Remove the file and its lock."""
        self.path.unlink(missing_ok=True)
        self._lock_path.unlink(missing_ok=True)

    @property
    def _lock_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.lock")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold a lock against other processes; it ends with the process."""
        handle = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


_WAITING = threading.Lock()


def _seal(key: bytes, ends: Ends) -> str:
    return seal(key, "anchor", *(part for name, end in sorted(ends.items()) for part in (name, end.number, end.last)))


def _reaches(one: End | None, other: End) -> bool:
    return one is not None and one.number >= other.number


def _merge(into: dict[str, End], ends: Ends) -> None:
    into.update({name: end for name, end in ends.items() if not _reaches(into.get(name), end)})
