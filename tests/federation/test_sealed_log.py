"""Logs that show what was changed in them."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from confide.errors import FederationError
from confide.federation import site_files
from confide.federation.site import logs
from confide.federation.site.logs import HEADS, KEY, Anchor, LogAnchors, SealedLog
from confide.federation.site.register import FILE as REGISTER


@pytest.fixture
def log(tmp_path: Path) -> SealedLog:
    made = SealedLog(tmp_path / "requests.jsonl")
    for number in range(5):
        made.append({"message": f"entry {number}", "state": "answered"})
    return made


@pytest.fixture
def other(log: SealedLog) -> SealedLog:
    made = SealedLog(log.path.with_name("approvals.jsonl"), strict=True)
    for number in range(3):
        made.append({"kind": f"decision {number}"})
    return made


class Killed(BaseException):
    """Stand-in for the end of the process."""


def lines(log: SealedLog) -> list[str]:
    return log.path.read_text().splitlines(keepends=True)


def test_entries_are_read_as_they_were_written(log: SealedLog) -> None:
    assert [entry["message"] for entry in log.read()] == [f"entry {number}" for number in range(5)]
    check = log.check()
    assert (check.entries, check.first, check.problem) == (5, 1, None)
    assert SealedLog(log.path.with_name("other.jsonl")).read() == ()
    assert {path.stat().st_mode & 0o077 for path in log.path.parent.iterdir()} == {0}


@pytest.mark.parametrize("place", range(5))
def test_a_changed_removed_moved_or_inserted_line_is_noticed(log: SealedLog, place: int) -> None:
    whole = lines(log)
    changed = json.dumps({**json.loads(whole[place]), "message": "nothing"}) + "\n"
    other = (place + 1) % 5
    swapped = list(whole)
    swapped[place], swapped[other] = swapped[other], swapped[place]
    for broken in (
        [*whole[:place], changed, *whole[place + 1 :]],
        [*whole[:place], *whole[place + 1 :]],
        [*whole[: place + 1], *whole[place:]],
        [*whole[:place], "{}\n", *whole[place:]],
        whole[:place],
        swapped,
    ):
        log.path.write_text("".join(broken))
        assert log.check().problem is not None, broken
        with pytest.raises(FederationError, match="was changed or is damaged"):
            log.read()


def test_heads_and_keys_are_needed(log: SealedLog) -> None:
    heads = log.path.with_name(HEADS)
    kept = heads.read_text()
    for broken in (kept.replace('[5, "', '[4, "'), "", "{}"):
        heads.write_text(broken)
        assert log.check().problem is not None
    heads.unlink()
    assert log.check().problem is not None
    with pytest.raises(FederationError, match="put it back"):
        log.append({"message": "more"})
    heads.write_text(kept)
    assert log.check().problem is None
    log.path.with_name(KEY).unlink()
    assert log.check().problem is not None


def forge_heads(log: SealedLog, **changed: Any) -> None:
    """Change the head of a log as somebody can who has no key: the seal stays."""
    heads = log.path.with_name(HEADS)
    plain = json.loads(heads.read_text())
    number, last, starts, *more = plain["heads"][log.name]
    now = {"number": number, "last": last, "starts": starts, **changed}
    plain["heads"][log.name] = [now["number"], now["last"], now["starts"], *more]
    heads.write_text(json.dumps(plain))


@pytest.mark.parametrize("kept", range(1, 5))
def test_a_head_that_fits_a_log_that_was_cut_is_noticed(log: SealedLog, kept: int) -> None:
    whole = lines(log)
    log.path.write_text("".join(whole[:kept]))
    forge_heads(log, number=kept, last=json.loads(whole[kept - 1])["seal"])
    assert HEADS in str(log.check().problem)


@pytest.mark.parametrize("cut", range(1, 5))
def test_a_head_that_says_that_the_first_entries_were_archived_is_noticed(log: SealedLog, cut: int) -> None:
    log.path.write_text("".join(lines(log)[cut:]))
    forge_heads(log, starts=[cut + 1])
    assert HEADS in str(log.check().problem)


def copies(log: SealedLog, *names: str) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (log.path.with_name(name) for name in names)}


def put_back(old: dict[Path, bytes]) -> None:
    for path, content in old.items():
        path.write_bytes(content)


@pytest.mark.parametrize("later", [1, 2, 5])
@pytest.mark.parametrize("strict", [True, False])
def test_old_copies_of_a_log_and_of_the_heads_are_noticed(
    log: SealedLog, other: SealedLog, later: int, strict: bool
) -> None:
    """Nothing else moved on: the two logs share the file of heads, and only the register knows of the entries."""
    target = other if strict else log
    old = copies(target, HEADS, target.name)
    for _ in range(later):
        target.append({"message": "withdrawn"})
    put_back(old)
    assert "register knows of" in str(target.check().problem)
    with pytest.raises(FederationError, match="newest backup"):
        target.read()
    if strict:
        before = target.path.read_bytes()
        with pytest.raises(FederationError, match="newest backup"):
            target.append({"message": "more"})
        assert target.path.read_bytes() == before
    else:
        for _ in range(later + 2):
            target.append({"message": "more"})
        assert target.check().problem is not None, "a log that goes on hides nothing"


def test_old_heads_are_noticed_by_either_log(log: SealedLog, other: SealedLog) -> None:
    old = copies(log, HEADS)
    for _ in range(2):
        log.append({"message": "more"})
    put_back(old)
    for one in (log, other):
        assert "older" in str(one.check().problem)


def test_heads_from_before_a_log_began_are_noticed(log: SealedLog) -> None:
    old = copies(log, HEADS)
    other = SealedLog(log.path.with_name("approvals.jsonl"))
    for number in range(2):
        other.append({"kind": f"decision {number}"})
    put_back(old)
    assert "older" in str(other.check().problem)


def test_an_anchor_is_never_lowered(log: SealedLog) -> None:
    anchors, key = LogAnchors(log.path.parent), b"k" * 32
    for number, kept in ((2, 2), (5, 5), (4, 5), (5, 5), (6, 6)):
        anchors.write(key, "other", Anchor(number=number, seal=f"seal {number}"))
        assert anchors.read(key, "other") == Anchor(number=kept, seal=f"seal {kept}")
    assert anchors.read(key, "none") == Anchor()
    with pytest.raises(FederationError, match="sealed with another key"):
        anchors.read(b"o" * 32, "other")


def test_an_entry_that_was_read_after_a_kill_cannot_be_removed(log: SealedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: Any) -> None:
        raise Killed

    old = copies(log, HEADS, log.name)
    with monkeypatch.context() as patched:
        patched.setattr(SealedLog, "_write_heads", killed)
        with pytest.raises(Killed):
            log.append({"message": "withdrawn"})
    assert len(log.read()) == 6
    put_back(old)
    assert log.check().problem is not None


def test_heads_that_miss_one_entry_are_completed(log: SealedLog, other: SealedLog) -> None:
    old = copies(log, HEADS)
    other.append({"kind": "decision 3"})
    put_back(old)
    assert other.check().problem is None
    assert len(other.read()) == 4
    other.path.write_text("".join(lines(other)[:3]))
    put_back(old)
    assert other.check().problem is not None, "an entry that was read cannot be removed"


def test_a_register_that_is_gone_or_old_is_noticed(log: SealedLog, other: SealedLog) -> None:
    old = copies(log, REGISTER)
    for _ in range(3):
        log.append({"message": "more"})
        other.append({"message": "more"})
    put_back(old)
    assert "register is gone or older" in str(log.check().problem)
    with pytest.raises(FederationError, match="register is gone or older"):
        other.append({"message": "more"})
    (log.path.parent / REGISTER).unlink()
    assert "register is gone or older" in str(other.check().problem)
    log.append({"message": "more"})
    assert not (log.path.parent / REGISTER).exists(), "the evidence stays"
    put_back(old)
    assert log.check().problem is not None


def test_a_log_goes_on_while_the_register_cannot_be_used(log: SealedLog, other: SealedLog) -> None:
    kept = copies(log, REGISTER)
    (log.path.parent / REGISTER).write_bytes(b"this is no register" * 400)
    for _ in range(3):
        log.append({"message": "the register is damaged"})
    with pytest.raises(FederationError, match="register"):
        other.append({"message": "more"})
    assert len(lines(other)) == 3
    assert "register" in str(log.check().problem)
    put_back(kept)
    assert log.check().problem is None
    log.append({"message": "mended"})
    assert len(log.read()) == 9
    (log.path.parent / REGISTER).write_bytes(next(iter(kept.values())))
    assert log.check().problem is not None, "the register has caught up, and its old copy is older"


def test_removing_all_logs_and_their_key_is_noticed(log: SealedLog, other: SealedLog) -> None:
    for name in (KEY, HEADS, "logs.lock", log.name, other.name):
        log.path.with_name(name).unlink()
    for one in (log, other):
        assert "has logged before" in str(one.check().problem)
        with pytest.raises(FederationError, match="newest backup"):
            one.append({"message": "the first"})
    with pytest.raises(FederationError, match="has logged before"):
        other.read()
    assert not log.path.with_name(KEY).exists()


def test_logs_that_somebody_began_anew_are_noticed(log: SealedLog, other: SealedLog, tmp_path: Path) -> None:
    forged = tmp_path / "elsewhere"
    forged.mkdir()
    for _ in range(3):
        SealedLog(forged / other.name).append({"kind": "approved"})
    for name in (KEY, HEADS, other.name):
        log.path.with_name(name).write_bytes((forged / name).read_bytes())
    assert "sealed with another key" in str(other.check().problem)
    with pytest.raises(FederationError, match="sealed with another key"):
        other.read()


def test_a_log_that_is_gone_is_noticed(log: SealedLog) -> None:
    log.path.unlink()
    assert log.check().problem == "it ends after entry 0, and there were 5"


def test_the_chain_goes_on_over_files(log: SealedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MOST_BYTES", 500)
    for number in range(5, 12):
        log.append({"message": f"entry {number}"})
    names = [path.name for path in log.files()]
    assert len(names) > 2
    assert names[0] == "requests-00000005.jsonl"
    assert [entry["message"] for entry in log.read()] == [f"entry {number}" for number in range(12)]
    log.files()[0].unlink()
    check = log.check()
    assert (check.first, check.problem) == (6, None), "the oldest file may be archived"
    log.files()[1].unlink()
    assert log.check().problem is not None


def test_a_process_that_was_killed_between_line_and_head_loses_nothing(log: SealedLog) -> None:
    heads = log.path.with_name(HEADS)
    before = heads.read_text()
    log.append({"message": "entry 5"})
    heads.write_text(before)
    assert log.check().problem is None
    with log.path.open("a") as file:
        file.write('{"n": 7, "half')
    log.append({"message": "entry 6"})
    assert [entry["message"] for entry in log.read()][-2:] == ["entry 5", "entry 6"]


STEPS = ("_write", "_write_heads")


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("step", [*STEPS, "anchor"])
@pytest.mark.parametrize("strict", [True, False])
def test_processes_that_were_killed_one_after_another_lose_nothing(
    log: SealedLog, monkeypatch: pytest.MonkeyPatch, times: int, step: str, strict: bool
) -> None:
    log = SealedLog(log.path, strict)
    owner: Any = LogAnchors if step == "anchor" else SealedLog
    name = "write" if step == "anchor" else step
    real = getattr(owner, name)
    for number in range(times):

        def last_step(*given: Any, after: bool = bool(number % 2)) -> None:
            if after or name == "_write":
                real(*given)
            raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(owner, name, last_step)
            with pytest.raises(Killed):
                log.append({"message": "killed"})
        assert log.check().problem is None
    log.append({"message": "entry 5"})
    messages = [entry["message"] for entry in log.read()]
    assert messages[:5] == [f"entry {number}" for number in range(5)]
    assert messages[-1] == "entry 5"
    assert log.check().problem is None
    if step == "_write":
        assert messages.count("killed") == times


KILLED = """
import os, signal, sys
from pathlib import Path
from confide.federation.site.logs import SealedLog
real = SealedLog._write
def write(self, text):
    real(self, text)
    os.kill(os.getpid(), signal.SIGKILL)
SealedLog._write = write
SealedLog(Path(sys.argv[1])).append({"message": "killed"})
"""


@pytest.mark.few(1)
@pytest.mark.processes
@pytest.mark.parametrize("times", [2, 3])
def test_real_kills_between_line_and_head_lose_nothing(log: SealedLog, times: int) -> None:
    for _ in range(times):
        ended = subprocess.run([sys.executable, "-c", KILLED, str(log.path)], check=False)
        assert ended.returncode == -signal.SIGKILL
        assert log.check().problem is None
    log.append({"message": "the last"})
    assert [entry["message"] for entry in log.read()][5:] == ["killed"] * times + ["the last"]


@pytest.mark.parametrize("strict", [True, False])
def test_a_full_disk_leaves_at_most_one_entry_beyond_the_head(
    log: SealedLog, monkeypatch: pytest.MonkeyPatch, strict: bool
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log = SealedLog(log.path, strict)
    with monkeypatch.context() as patched:
        patched.setattr(site_files, "replace_file", full)
        for _ in range(4):
            with pytest.raises(FederationError, match="No space left"):
                log.append({"message": "full"})
            assert log.check().problem is None
            assert len(lines(log)) == 6
    log.append({"message": "room"})
    assert [entry["message"] for entry in log.read()][5:] == ["full", "room"]


def test_half_a_line_on_a_full_disk_is_no_entry(log: SealedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    written: list[int] = []

    def short(handle: int, content: bytes) -> int:
        if written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(real(handle, content[:20]))
        return written[0]

    for _ in range(2):
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", short)
            with pytest.raises(FederationError, match="free space"):
                log.append({"message": "full"})
        written.clear()
        assert log.check().problem is None
        assert len(log.read()) == 5
    log.append({"message": "room"})
    assert len(log.read()) == 6


@pytest.mark.parametrize(
    "strange", ['"x": NaN', '"x": "\\ud800"', '"x": ' + "[" * 100_000], ids=["nan", "half", "deep"]
)
def test_a_line_that_no_entry_can_be_is_shown_and_does_not_stop_the_log(log: SealedLog, strange: str) -> None:
    last = json.loads(lines(log)[-1])["seal"]
    with log.path.open("a") as file:
        file.write(f'{{"n": 6, "before": "{last}", "seal": "\\ud800", {strange}}}\n')
    log.append({"message": "more"})
    assert log.check().problem is not None


def append_many(path: str) -> None:
    for _ in range(20):
        SealedLog(Path(path)).append({"message": str(os.getpid())})


@pytest.mark.processes
def test_processes_take_turns(log: SealedLog) -> None:
    context = get_context("spawn")
    workers = [context.Process(target=append_many, args=(str(log.path),)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(log.read()) == 45
