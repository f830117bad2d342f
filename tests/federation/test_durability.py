"""A site's reply leaves after everything that it must remember is on the disk: shown by a trace of the disk's calls."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from confide.federation.protocol import Message
from confide.federation.site.config import SiteFolder
from confide.federation.site.records import APPROVALS, SiteRecords
from tests.federation.network import Network

Event = tuple[str, str]
SYNCHRONOUS_EXTRA = 3
REPLIED = ("replied", "")


class Trace(list[Event]):
    """Calls in the order in which they were made: (what, path)."""

    def lost(self, within: Path = Path("/")) -> list[Event]:
        """Return what a power failure after a reply could lose in a folder: calls that no sync came after."""
        lost: list[Event] = []
        unsynced: set[Event] = set()
        synced: set[str] = set()
        for what, path in (event for event in self if event == REPLIED or Path(event[1]).is_relative_to(within)):
            if what == "write":
                unsynced.add((what, path))
                synced.discard(path)
            elif what == "sync":
                synced.add(path)
                unsynced -= {("write", path), ("name", path)}
            elif what == "move":
                unsynced.add(("name", str(Path(path).parent)))
                if path not in synced:
                    lost.append((what, path))
            elif what == "commit":
                lost.append((what, path))
            elif what == "replied":
                lost += sorted(unsynced)
        return lost


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch) -> Trace:
    """Record writes, syncs and new names of files, and commits that do not wait for the disk."""
    seen = Trace()
    write, sync, replace, rename, link = os.write, os.fsync, os.replace, os.rename, os.link

    def path_of(handle: int) -> str:
        return os.readlink(f"/proc/self/fd/{handle}")

    def traced_write(handle: int, data: bytes) -> int:
        if stat.S_ISREG(os.fstat(handle).st_mode):
            seen.append(("write", path_of(handle)))
        return write(handle, data)

    def traced_sync(handle: int) -> None:
        sync(handle)
        seen.append(("sync", path_of(handle)))

    def moved(move: Callable[..., None]) -> Callable[..., None]:
        def traced(source: Any, target: Any, *more: Any, **named: Any) -> None:
            seen.append(("move", str(source)))
            move(source, target, *more, **named)

        return traced

    class Connection(sqlite3.Connection):
        def commit(self) -> None:
            if self.in_transaction:
                waits = super().execute("PRAGMA synchronous").fetchone()[0] >= SYNCHRONOUS_EXTRA
                path = super().execute("PRAGMA database_list").fetchone()[2]
                seen.append(("committed" if waits else "commit", path))
            super().commit()

    connect = sqlite3.connect

    def traced_connect(*given: Any, **named: Any) -> sqlite3.Connection:
        return connect(*given, factory=Connection, **named)

    monkeypatch.setattr(os, "write", traced_write)
    monkeypatch.setattr(os, "fsync", traced_sync)
    for name, original in (("replace", replace), ("rename", rename), ("link", link)):
        monkeypatch.setattr(os, name, moved(original))
    monkeypatch.setattr(sqlite3, "connect", traced_connect)
    return seen


def names(trace: Sequence[Event], what: str) -> set[str]:
    return {Path(path).name for kind, path in trace if kind == what}


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["secure-sum", "disclosure-control", "private"])
def test_what_a_site_must_remember_is_on_the_disk_before_it_replies(tmp_path: Path, trace: Trace, mode: str) -> None:
    network = Network.build(tmp_path, {"east": 60, "north": 70, "south": 80})
    trace.clear()

    def watched(topic: str, request: Message) -> Message:
        reply = network.sites["east"].reply(topic, request)
        trace.append(REPLIED)
        return reply

    question = network.question(mode, **({"epsilon": "1"} if mode == "private" else {}))
    network.run(question, replaced={"east": watched})
    assert trace.count(REPLIED) == 2
    assert trace.lost(tmp_path / "east") == []
    assert "site.db" in names(trace, "committed")


def test_the_anchor_follows_the_commit_and_comes_before_the_reply(tmp_path: Path, trace: Trace) -> None:
    records = SiteRecords(SiteFolder(tmp_path))
    records.begin()
    records.append(APPROVALS, {"kind": "first"})
    trace.clear()
    records.append(APPROVALS, {"kind": "second"})
    trace.append(REPLIED)
    assert trace.lost() == []
    committed = trace.index(("committed", str(tmp_path / "site.db")))
    anchored = next(number for number, (what, path) in enumerate(trace) if what == "move" and "site.db.anchor" in path)
    assert committed < anchored < trace.index(("sync", str(tmp_path))) < trace.index(REPLIED)


@pytest.mark.parametrize(
    ("events", "lost"),
    [
        ([("write", "/a"), REPLIED], [("write", "/a")]),
        ([("write", "/a"), ("sync", "/a"), ("write", "/a"), REPLIED], [("write", "/a")]),
        ([("move", "/s/new"), ("sync", "/s"), REPLIED], [("move", "/s/new")]),
        ([("sync", "/s/new"), ("move", "/s/new"), REPLIED], [("name", "/s")]),
        ([("commit", "/r"), REPLIED], [("commit", "/r")]),
        ([("write", "/a"), ("sync", "/a"), ("sync", "/s/n"), ("move", "/s/n"), ("sync", "/s"), REPLIED], []),
    ],
)
def test_the_trace_notices_what_is_not_on_the_disk(events: list[Event], lost: list[Event]) -> None:
    assert Trace(events).lost() == lost
