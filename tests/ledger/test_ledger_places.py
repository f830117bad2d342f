"""Where ledgers are: what cannot be opened, or is no ledger, is refused with the next step and without secrets."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import confide.records.database
from confide.errors import LedgerError, ParameterError
from confide.ledger.place import KEY_ENVIRONMENT, find_place
from tests.ledger import processes
from tests.ledger.asking import Book, ask
from tests.ledger.places import Place
from tests.servers import running_server


@pytest.fixture
def used(sqlite_place: Place) -> Place:
    with Book(sqlite_place.url) as ledger:
        for number in range(5):
            ledger.release(ask(number=number), account="a")
    return sqlite_place


def refused(place: Place) -> str:
    with Book(place.url) as ledger, pytest.raises(LedgerError) as caught:
        ledger.release(ask(number=99), account="a")
    return str(caught.value)


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\0", bytes(4096), b"SQLite format 3\0" * 512])
def test_what_is_no_ledger_is_refused(used: Place, content: bytes) -> None:
    used.file.write_bytes(content)
    assert "empty, damaged or no records" in refused(used)
    with Book(used.url) as ledger, pytest.raises(LedgerError):
        ledger.verify()
    assert used.file.read_bytes() == content


def test_another_database_is_refused(sqlite_place: Place) -> None:
    sqlite_place.execute("CREATE TABLE patients (name TEXT)")
    assert "no records" in refused(sqlite_place)
    assert sqlite_place.execute("SELECT count(*) FROM sqlite_master") == [(1,)]


def test_a_truncated_file_is_refused(used: Place) -> None:
    whole = used.file.read_bytes()
    for size in range(0, len(whole), 1024):
        used.file.write_bytes(whole[:size])
        refused(used)
    used.file.write_bytes(whole)
    with Book(used.url) as ledger:
        assert not ledger.release(ask(number=99), account="a").reused


@pytest.mark.long
def test_flipped_bits_never_refund(used: Place) -> None:
    """A damaged file is refused, or the damage does not matter and everything spent is still there."""
    anchor = Path(f"{used.file}.anchor")
    whole, anchored = used.file.read_bytes(), anchor.read_bytes()
    generator = random.Random(5)  # noqa: S311
    refusals = 0
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[generator.randrange(len(whole))] ^= 1 << generator.randrange(8)
        used.file.write_bytes(damaged)
        anchor.write_bytes(anchored)
        with Book(used.url) as ledger:
            try:
                assert ledger.release(ask(number=99), account="a").spent.epsilon * 10 == 6
            except LedgerError:
                refusals += 1
        used.file.with_name("ledger.sqlite-journal").unlink(missing_ok=True)
    assert refusals > 30


def test_a_removed_ledger_is_missed(used: Place) -> None:
    """Or who removes it has a full budget again."""
    used.file.unlink()
    message = refused(used)
    assert f"remove '{used.key}' and '{used.file}.anchor'" in message
    assert not used.file.exists()
    used.key.unlink()
    assert f"remove '{used.file}.anchor'" in refused(used)
    Path(f"{used.file}.anchor").unlink()
    with Book(used.url) as ledger:
        assert not ledger.release(ask(), account="a").reused


@pytest.mark.processes
def test_a_file_that_cannot_be_written_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_ENVIRONMENT, "ab" * 32)
    with tempfile.TemporaryDirectory() as name:  # not in pytest's folder, which other users cannot enter
        folder = Path(name)
        with Book(folder / "ledger.sqlite") as ledger:
            ledger.open_account("a")
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        try:
            message = processes.run("read_only", folder / "ledger.sqlite")
        finally:
            folder.chmod(0o755)
    assert "cannot be written to; make the file and its folder writable" in message


def test_folders_are_not_ledgers(tmp_path: Path) -> None:
    for path, match in [(tmp_path, "cannot be opened"), (tmp_path / "none" / "ledger.sqlite", "create it first")]:
        with Book(path) as ledger, pytest.raises(LedgerError, match=match):
            ledger.release(ask())


def test_what_fails_while_it_is_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    with Book(tmp_path / "ledger.sqlite") as ledger, pytest.raises(LedgerError, match=f"or put 64.*{KEY_ENVIRONMENT}"):
        ledger.release(ask())
    assert os.listdir(tmp_path) == []
    monkeypatch.setenv(KEY_ENVIRONMENT, "ab" * 32)
    with Book(tmp_path / "ledger.sqlite") as ledger, pytest.raises(LedgerError, match="Operation not permitted"):
        ledger.release(ask())
    assert os.listdir(tmp_path) == []


def test_waiting_for_a_lock_ends(used: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    monkeypatch.setattr(confide.records.database, "LOCK_SECONDS", 0.1)
    other = sqlite3.connect(used.file, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        assert "another process has held its lock" in refused(used)
        with Book(used.url) as ledger:
            assert ledger.quote(ask(number=99), account="a").fits  # reading goes on
    finally:
        other.close()
    with Book(used.url) as ledger:
        assert ledger.verify().whole


def test_a_link_leads_to_the_ledger_and_its_key(used: Place, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "link"
    link.parent.mkdir()
    link.symlink_to(used.file)
    with Book(link) as ledger:
        assert ledger.release(ask(number=0), account="a").reused
    assert os.listdir(link.parent) == ["link"]


def test_names_with_special_characters(tmp_path: Path) -> None:
    path = tmp_path / "a ledger?mode=ro&x=%41#1.sqlite"
    with Book(path) as ledger:
        ledger.release(ask(), account="Herzinfarkt – été 'x' \"y\" %s :n {}")
        assert ledger.verify().whole
    assert path.exists()


def test_the_default_is_the_user_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Book() as ledger:
        assert ledger.accounts() == ()
        assert not (tmp_path / "data").exists()
        ledger.release(ask())
    made = {"ledger.sqlite", "ledger.sqlite.key", "ledger.sqlite.anchor", "ledger.sqlite.anchor.lock"}
    assert {path.name for path in (tmp_path / "data" / "confide").iterdir()} == made
    monkeypatch.setenv("CONFIDE_LEDGER", str(tmp_path / "named.sqlite"))
    with Book() as ledger:
        ledger.release(ask())
    assert (tmp_path / "named.sqlite").exists()
    monkeypatch.delenv("CONFIDE_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", "relative/paths/are/ignored")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_place().shown == str(tmp_path / ".local/share/confide/ledger.sqlite")


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("mysql://root:hunter2@host/db", "begins with 'mysql'"),
        ("sqlite://", "must be a file"),
        ("sqlite:///:memory:", "must be a file"),
        ("sqlite:///a.sqlite?mode=memory", "must be a file"),
        ("postgresql://ana:hunter2@host:port/db", "must look like"),
    ],
)
def test_urls_that_are_no_places(url: str, match: str) -> None:
    with pytest.raises(ParameterError, match=match) as caught:
        Book(url)
    assert "hunter2" not in str(caught.value)


def test_passwords_are_not_shown() -> None:
    url = "postgresql://ana:hunter2@127.0.0.1:1/ledgers?connect_timeout=1&password=hunter3&sslpassword=hunter4"
    with Book(url) as ledger:
        with pytest.raises(LedgerError, match="the host refuses connections at this port") as caught:
            ledger.release(ask())
        shown = f"{ledger!r} {caught.value} {caught.value.__cause__} {find_place(url)!r}"
    assert caught.value.__suppress_context__
    assert "hunter" not in shown
    assert "postgresql://ana@127.0.0.1:1/ledgers" in shown


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r"pip install 'confide\[postgres\]'"):
        Book("postgresql://ana@127.0.0.1/ledgers")


def test_a_database_that_is_not_there(server: Any) -> None:
    url = str(server.get_uri()).replace("/postgres?", "/nowhere?")
    with Book(url) as ledger, pytest.raises(LedgerError, match="that the database exists"):
        ledger.release(ask())


def test_a_user_without_rights_is_refused(postgresql_place: Place) -> None:
    with Book(postgresql_place.url) as ledger:
        ledger.release(ask())
    postgresql_place.execute("DROP ROLE IF EXISTS guest")
    postgresql_place.execute("CREATE ROLE guest LOGIN")
    schema = postgresql_place.url.rsplit("%3D")[-1]
    postgresql_place.execute(f"GRANT USAGE ON SCHEMA {schema} TO guest")
    url = postgresql_place.url.replace("postgres:@", "guest:@")
    with Book(url) as ledger, pytest.raises(LedgerError, match="may not use the tables"):
        ledger.release(ask())


@pytest.mark.long
def test_commits_wait_for_the_disk(postgresql_place: Place) -> None:
    with Book(f"{postgresql_place.url}%20-csynchronous_commit%3Doff") as ledger:
        ledger.release(ask())
        with ledger._store.transaction(writing=True) as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
            assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"


def test_a_server_that_does_not_write_through_is_refused() -> None:
    import psycopg

    with running_server() as server:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
            for _ in range(300):
                if connection.execute("SHOW fsync").fetchone() != ("off",):
                    connection.execute("SELECT pg_sleep(0.2)")
            assert connection.execute("SHOW fsync").fetchone() == ("off",)
        with Book(server.get_uri()) as ledger, pytest.raises(LedgerError, match="fsync off"):
            ledger.release(ask())


def test_sqlite_brings_commits_to_the_disk(used: Place) -> None:
    with Book(used.url) as ledger, ledger._store.transaction(writing=True) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3  # EXTRA
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "delete"
