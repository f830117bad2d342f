# ruff: noqa: S608  # the statements are made here
"""What every keeper of sealed chains promises: changes show and block, and what was acknowledged stays."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from confide.errors import ParameterError, RecordsError
from confide.records import anchor as anchors
from confide.records.anchor import Anchor
from confide.records.chain import seal
from confide.records.transaction import RECORDS, Chains
from tests.records.subjects import LedgerSubject, Subject, kind_of

COLUMNS = {
    "meta": ("name", "value"),
    "heads": ("chain", "number", "last", "state", "seal"),
    "entries": ("chain", "number", "topic", "text", "previous", "seal"),
}
KEYS = {"meta": ("name",), "heads": ("chain",), "entries": ("chain", "number")}


def cells(subject: Subject) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, columns in COLUMNS.items():
        table = f"{subject.prefix}_{name}"
        for row in subject.execute(f"SELECT {', '.join(columns)} FROM {table}"):
            for column in columns:
                yield name, column, dict(zip(columns, row, strict=True))


def update(subject: Subject, name: str, column: str, value: object, where: dict[str, Any]) -> None:
    condition = " AND ".join(f"{key} = :where_{key}" for key in where)
    values = {f"where_{key}": one for key, one in where.items()}
    subject.execute(f"UPDATE {subject.prefix}_{name} SET {column} = :value WHERE {condition}", value=value, **values)


def test_every_changed_cell_is_found_and_blocks(subject: Subject) -> None:
    assert subject.is_whole()
    tried = 0
    for name, column, row in list(cells(subject)):
        value = row[column]
        others = (value + 100,) if isinstance(value, int) else (f"{value or ''}x", (value or "x")[:-1])
        for other in others:
            if other == value:
                continue
            where = {key: row[key] for key in KEYS[name]}
            update(subject, name, column, other, where)
            what = f"{name}.{column} of {where} changed to {other!r}"
            assert not subject.is_whole(), what
            chain = subject.chains.index(row["chain"]) if row.get("chain") in subject.chains else 0
            assert subject.refuses(lambda chain=chain: subject.read(chain)), what  # type: ignore[misc]
            update(subject, name, column, value, {**where, **({column: other} if column in where else {})})
            tried += 1
    assert tried > 60
    assert subject.is_whole()
    subject.write()


def test_what_is_no_text_is_found(filed: Subject) -> None:
    """SQLite keeps anything in any column."""
    first, table = filed.chains[0], f"{filed.prefix}_entries"
    for column in COLUMNS["entries"]:
        (before,) = filed.execute(f"SELECT {column} FROM {table} WHERE chain = '{first}' AND number = 2")
        for value in ("x'00ff'", "1.5"):
            filed.execute(
                f"UPDATE {filed.prefix}_entries SET {column} = {value} WHERE chain = '{first}' AND number = 2"
            )
            assert not filed.is_whole(), (column, value)
            assert filed.refuses(filed.read), (column, value)
            where = f"{column} = {value}"
            filed.execute(f"UPDATE {table} SET {column} = :before WHERE {where}", before=before[0])
    assert filed.is_whole()


def test_the_columns_are_all_there() -> None:
    found = {table.name.removeprefix("confide_"): tuple(table.columns.keys()) for table in RECORDS.schema.sorted_tables}
    assert found == COLUMNS


def test_a_changed_entry_stops_its_chain_alone(subject: Subject) -> None:
    first = subject.chains[0]
    subject.execute(f"UPDATE {subject.prefix}_entries SET text = text || ' ' WHERE chain = '{first}' AND number = 2")
    assert not subject.is_whole()
    assert subject.refuses(subject.read)
    subject.read(1)
    subject.write(1)


LAST = "(SELECT max(number) FROM {p}_entries WHERE chain = '{a}')"
STATEMENTS = {
    "delete the last entry": [f"DELETE FROM {{p}}_entries WHERE chain = '{{a}}' AND number = {LAST}"],
    "delete the last entry, and say that the one before was last": [
        f"DELETE FROM {{p}}_entries WHERE chain = '{{a}}' AND number = {LAST}",
        "UPDATE {p}_heads SET number = number - 1, last = (SELECT e.seal FROM {p}_entries e WHERE e.chain = '{a}' "
        "ORDER BY e.number DESC LIMIT 1) WHERE chain = '{a}'",
    ],
    "delete a middle entry": ["DELETE FROM {p}_entries WHERE chain = '{a}' AND number = 2"],
    "delete a middle entry and close the gap": [
        "DELETE FROM {p}_entries WHERE chain = '{a}' AND number = 2",
        "UPDATE {p}_entries SET number = 2 WHERE chain = '{a}' AND number = 3",
        "UPDATE {p}_heads SET number = number - 1 WHERE chain = '{a}'",
    ],
    "swap two entries": [
        "UPDATE {p}_entries SET number = 99 WHERE chain = '{a}' AND number = 1",
        "UPDATE {p}_entries SET number = 1 WHERE chain = '{a}' AND number = 2",
        "UPDATE {p}_entries SET number = 2 WHERE chain = '{a}' AND number = 99",
    ],
    "delete the head": ["DELETE FROM {p}_heads WHERE chain = '{a}'"],
    "delete all entries": ["DELETE FROM {p}_entries WHERE chain = '{a}'"],
    "delete a chain": ["DELETE FROM {p}_entries WHERE chain = '{a}'", "DELETE FROM {p}_heads WHERE chain = '{a}'"],
    "delete everything": ["DELETE FROM {p}_entries", "DELETE FROM {p}_heads"],
    "rename a chain": [
        "UPDATE {p}_entries SET chain = 'c' WHERE chain = '{a}'",
        "UPDATE {p}_heads SET chain = 'c' WHERE chain = '{a}'",
    ],
    "exchange two chains": [
        "UPDATE {p}_entries SET chain = 'c' WHERE chain = '{a}'",
        "UPDATE {p}_entries SET chain = '{a}' WHERE chain = '{b}'",
        "UPDATE {p}_entries SET chain = '{b}' WHERE chain = 'c'",
    ],
    "add a chain": ["INSERT INTO {p}_heads VALUES ('c', 1, 'x', 'x', 'x')"],
    "add an entry": [
        "INSERT INTO {p}_entries SELECT chain, number + 1, topic, text, previous, seal FROM {p}_entries "
        f"WHERE chain = '{{a}}' AND number = {LAST}"
    ],
    "copy an entry of the other chain": [
        f"INSERT INTO {{p}}_entries SELECT '{{a}}', {LAST} + 1, topic, text, previous, seal FROM {{p}}_entries "
        "WHERE chain = '{b}' AND number = 1"
    ],
    "forget the register": ["DELETE FROM {p}_meta WHERE name = 'register'"],
    "forget everything about the records": ["DELETE FROM {p}_meta"],
    "drop the entries": ["DROP TABLE {p}_entries"],
    "drop the heads": ["DROP TABLE {p}_heads"],
    "drop what is known about the records": ["DROP TABLE {p}_meta"],
}


@pytest.mark.parametrize("what", STATEMENTS)
def test_entries_cannot_be_moved_added_or_removed(subject: Subject, what: str) -> None:
    first, second = subject.chains
    for statement in STATEMENTS[what]:
        subject.execute(statement.format(p=subject.prefix, a=first, b=second))
    assert not subject.is_whole()
    assert subject.refuses()


def test_an_older_end_of_one_chain_cannot_be_put_back(subject: Subject) -> None:
    """Its own head was sealed once; the register of all chains went on."""
    heads, first = f"{subject.prefix}_heads", subject.chains[0]
    columns = ("number", "last", "state", "seal")
    (before,) = subject.execute(f"SELECT {', '.join(columns)} FROM {heads} WHERE chain = '{first}'")
    subject.write()
    assert subject.is_whole()
    pairs = ", ".join(f"{column} = :{column}" for column in columns)
    subject.execute(f"UPDATE {heads} SET {pairs} WHERE chain = '{first}'", **dict(zip(columns, before, strict=True)))
    subject.execute(f"DELETE FROM {subject.prefix}_entries WHERE chain = '{first}' AND number > {before[0]}")
    assert not subject.is_whole()
    assert subject.refuses()


def snapshot(*paths: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in paths if path.exists()}


def put_back(copies: dict[Path, bytes]) -> None:
    for path, content in copies.items():
        for beside in path.parent.glob(f"{path.name}-*"):  # what SQLite wrote ahead
            beside.unlink()
        path.write_bytes(content)


def test_an_older_copy_of_the_database_alone_is_refused(filed: Subject) -> None:
    filed.write()
    older, newer = snapshot(filed.database), None
    filed.write()
    newer = snapshot(filed.database)
    put_back(older)
    assert not filed.is_whole()
    assert filed.refuses()
    put_back(newer)
    assert filed.is_whole()
    filed.write()


def test_an_older_copy_of_the_whole_server_s_records_is_refused(subject: Subject) -> None:
    """In PostgreSQL, the tables as they were: the register fits, and only an anchor tells. A ledger there has none."""
    tables = [f"{subject.prefix}_{name}" for name in COLUMNS]
    kept = {table: subject.execute(f"SELECT * FROM {table}") for table in tables}
    subject.write()
    for table, rows in kept.items():
        subject.execute(f"DELETE FROM {table}")
        for row in rows:
            names = [f"v{number}" for number in range(len(row))]
            values = dict(zip(names, row, strict=True))
            subject.execute(f"INSERT INTO {table} VALUES ({', '.join(f':{name}' for name in names)})", **values)
    assert subject.refuses(subject.write) == subject.anchor.exists()


def test_a_copy_of_database_and_anchor_looks_like_the_past(filed: Subject) -> None:
    """The one thing that nobody can notice here: it was valid once. The threat model says so."""
    older = snapshot(filed.database, filed.anchor)
    entries = filed.entries()
    filed.write()
    put_back(older)
    assert filed.is_whole()
    assert filed.entries() == entries
    filed.write()


def test_a_missing_anchor_is_refused_or_made_anew(filed: Subject) -> None:
    content = filed.anchor.read_bytes()
    filed.anchor.unlink()
    if filed.anchored:
        assert not filed.is_whole()
        assert filed.refuses()
        assert not filed.anchor.exists()
        filed.anchor.write_bytes(content)
    else:
        filed.write()
        assert filed.anchor.exists()
    assert filed.is_whole()


@pytest.mark.parametrize("change", ["number", "seal", "nothing", "text"])
def test_a_changed_anchor_is_refused(filed: Subject, change: str) -> None:
    content = filed.anchor.read_text()
    changed = {
        "number": re.sub(r"\[\d+,", "[1,", content, count=1),
        "seal": content.replace('"seal":"', '"seal":"0'),
        "nothing": "",
        "text": "[1, 2]",
    }[change]
    filed.anchor.write_text(changed)
    assert not filed.is_whole()
    assert filed.refuses()
    filed.anchor.write_text(content)
    assert filed.is_whole()


def test_a_database_that_is_gone_is_missed(filed: Subject) -> None:
    filed.database.unlink()
    for beside in filed.database.parent.glob(f"{filed.database.name}-*"):
        beside.unlink()
    assert filed.refuses(filed.write, filed.check) or not filed.is_whole()
    assert filed.refuses(filed.write)


@pytest.mark.parametrize("fault", ["missing", "another", "short", "no digits", "open to others"])
def test_a_key_that_cannot_be_used_is_refused(subject: Subject, fault: str) -> None:
    content = subject.key.read_text()
    if fault == "missing":
        subject.key.unlink()
    elif fault == "open to others":
        subject.key.chmod(0o640)
    else:
        subject.key.write_text({"another": "5a" * 32, "short": "0123", "no digits": "x" * 64}[fault])
    assert not subject.is_whole()
    assert subject.refuses()
    assert subject.key.exists() == (fault != "missing"), "no key is made for records that have one"
    subject.key.write_text(content)
    subject.key.chmod(0o600)
    assert subject.is_whole()
    subject.write()


def test_a_key_is_made_once_for_its_owner(subject: Subject) -> None:
    assert subject.key.stat().st_mode & 0o777 == 0o600
    assert len(bytes.fromhex(subject.key.read_text().strip())) == 32
    rows = [row for name in COLUMNS for row in subject.execute(f"SELECT * FROM {subject.prefix}_{name}")]
    assert subject.key.read_text().strip() not in repr(rows)


def test_another_version_is_refused_with_the_next_step(subject: Subject) -> None:
    subject.execute(f"ALTER TABLE {subject.prefix}_entries ADD COLUMN kind TEXT")
    subject.execute(f"UPDATE {subject.prefix}_meta SET value = '2' WHERE name = 'version'")
    with pytest.raises(
        RecordsError, match=r"another version of confide; use that version, restore it .* or begin anew"
    ):
        subject.write()
    assert not subject.is_whole()


def test_what_is_not_kept_is_not_acknowledged(filed: Subject) -> None:
    """A trigger that undoes what is written is seen itself, or what it undoes is missed."""
    table = f"{filed.prefix}_entries"
    filed.execute(f"CREATE TRIGGER undo BEFORE INSERT ON {table} BEGIN SELECT RAISE(IGNORE); END")
    assert filed.refuses(filed.write)


class Killed(BaseException):
    """Stand-in for the end of the process."""


def kill(patched: pytest.MonkeyPatch, owner: Any, name: str, *, after: bool) -> None:
    """End the process before or after a step; a commit counts if the transaction wrote an entry."""
    real, write = getattr(owner, name), Chains.write
    written: list[Chains] = []

    def last_step(*given: Any, **named: Any) -> Any:
        if owner is Connection and not written:
            return real(*given, **named)
        if after:
            real(*given, **named)
        raise Killed

    def noted(chains: Chains, *given: Any) -> None:
        write(chains, *given)
        written.append(chains)

    patched.setattr(Chains, "write", noted)
    patched.setattr(owner, name, last_step)


STEPS: dict[str, tuple[Any, str]] = {
    "entry": (Chains, "write"),
    "commit": (Connection, "commit"),
    "anchor": (Anchor, "advance"),
    "anchor's file": (Anchor, "_write"),
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_any_step_loses_nothing_and_breaks_nothing(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, step: str, after: bool
) -> None:
    owner, name = STEPS[step]
    if owner is Anchor and not subject.anchor.exists():
        pytest.skip("a ledger in PostgreSQL has no anchor")
    before = subject.entries()
    for times in (1, 2):
        with monkeypatch.context() as patched:
            kill(patched, owner, name, after=after)
            with pytest.raises(Killed):
                subject.write()
        assert subject.is_whole()
        stored = 0 if step == "entry" or (step == "commit" and not after) else times
        assert subject.entries() == before + stored
    subject.write()
    assert subject.is_whole()
    assert subject.entries() == before + stored + 1


PROGRAM = """
import os, signal, sys
from pathlib import Path
from confide.records.anchor import Anchor
from tests.records.subjects import KINDS
subject = KINDS[sys.argv[1]](Path(sys.argv[2]), None, made=True)
if sys.argv[3] == "die":
    Anchor.advance = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(8):
    subject.write()
"""


def start(filed: Subject, how: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", PROGRAM, kind_of(filed), str(filed.home), how]
    child = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


@pytest.mark.processes
def test_processes_that_are_killed_between_commit_and_anchor_lose_nothing(filed: Subject) -> None:
    before = filed.entries()
    for times in (1, 2):
        child = start(filed, "die")
        child.communicate("go\n", timeout=100)
        assert child.returncode == -signal.SIGKILL
        assert filed.is_whole()
        assert filed.entries() == before + times
    filed.write()
    assert filed.is_whole()


@pytest.mark.processes
def test_processes_take_turns(filed: Subject) -> None:
    before, children = filed.entries(), [start(filed, "live") for _ in range(2)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=100)
    assert [child.returncode for child in children] == [0, 0]
    assert filed.entries() == before + 16
    assert filed.is_whole()


def test_nothing_is_acknowledged_that_the_anchor_could_not_take(
    filed: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(anchors, "replacement", full)
        assert filed.refuses(filed.write)
    assert filed.is_whole(), "the next one that writes completes it"
    filed.write()
    assert filed.is_whole()


def test_the_disk_has_everything_before_the_acknowledgement(filed: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database commits, the anchor's content reaches the disk, then its name; only then the caller goes on."""
    events: list[str] = []
    commit, sync, replace = Connection.commit, os.fsync, os.replace

    def committed(connection: Connection) -> None:
        commit(connection)
        events.append("committed")

    def synced(handle: int) -> None:
        sync(handle)
        path = os.readlink(f"/proc/self/fd/{handle}")
        events.append(
            "anchor synced" if f".{filed.anchor.name}-" in path else "folder synced" if path == str(filed.home) else ""
        )

    def renamed(source: Any, target: Any, **named: Any) -> None:
        replace(source, target, **named)
        events.append("anchor renamed" if str(target) == str(filed.anchor) else "")

    monkeypatch.setattr(Connection, "commit", committed)
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    filed.write()
    order = ["committed", "anchor synced", "anchor renamed", "folder synced"]
    places = [events.index(order[0])]
    for event in order[1:]:
        places.append(events.index(event, places[-1]))
    assert places == sorted(places)


def test_the_anchor_never_moves_back_and_older_anchors_catch_up(filed: Subject) -> None:
    """An anchor lags behind after a crash: the entries beyond it bear seals."""
    lagging = filed.anchor.read_bytes()
    filed.write()
    newest = filed.anchor.read_bytes()
    filed.anchor.write_bytes(lagging)
    assert filed.is_whole()
    filed.write()
    assert filed.anchor.read_bytes() not in (lagging, newest)


def test_an_anchor_that_is_removed_in_a_transaction_comes_back_with_all_chains(
    filed: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a chain that the transaction did not touch could be set back from then on."""
    write = Chains.write

    def removed(chains: Chains, *given: Any) -> None:
        write(chains, *given)
        filed.anchor.unlink()

    monkeypatch.setattr(Chains, "write", removed)
    filed.write()
    assert set(filed.chains) <= set(json.loads(filed.anchor.read_text())["ends"])
    assert filed.is_whole()


def test_no_two_lists_of_parts_are_sealed_alike() -> None:
    lists: list[tuple[str | int | bytes | None, ...]] = [
        *((), ("",), (None,), (0,), ("0",), (b"0",), ("n",), ("", ""), (None, None)),
        *(("a", "b"), ("ab",), ("ab", ""), ("", "ab"), ("a", "b", ""), ("s1:b",), ("a", "s1:b")),
    ]
    seals = {seal(bytes(32), purpose, *parts) for purpose in ("entry", "head") for parts in lists}
    assert len(seals) == 2 * len(lists)
    assert seal(bytes(32), "entry", "a") != seal(bytes(31) + b"1", "entry", "a")


def test_a_key_in_the_environment_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ledger = LedgerSubject(tmp_path, None)
    monkeypatch.setenv("CONFIDE_LEDGER_KEY", "0123")
    with pytest.raises(ParameterError, match="CONFIDE_LEDGER_KEY must hold at least 64"):
        ledger.write()
