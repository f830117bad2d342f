"""The key: made once, for its owner only, and nothing is released without it."""

from __future__ import annotations

import os
import re
import stat

import pytest

from confide.errors import LedgerError, ParameterError
from confide.ledger.place import KEY_ENVIRONMENT
from tests.ledger.asking import Book, ask
from tests.ledger.places import Place

KEY = "0123456789abcdef" * 4


def refused(place: Place, match: str) -> None:
    before = place.dump()
    with Book(place.url) as ledger:
        for attempt in (
            lambda: ledger.release(ask()),
            lambda: ledger.release(ask(n=2)),
            lambda: ledger.quote(ask()),
            lambda: ledger.identify([b"data"]),
            ledger.accounts,
            ledger.verify,
        ):
            with pytest.raises((LedgerError, ParameterError), match=match):
                attempt()
    assert place.dump() == before


@pytest.fixture
def used(place: Place) -> Place:
    with Book(place.url) as ledger:
        ledger.release(ask())
    return place


def test_a_key_is_made_for_its_owner(used: Place) -> None:
    assert stat.S_IMODE(used.key.stat().st_mode) == 0o600
    assert len(bytes.fromhex(used.key.read_text().strip())) == 32
    text = used.key.read_text().strip()
    assert not [row for rows in used.dump().values() for row in rows if text in repr(row)]


def test_a_key_in_the_environment_needs_no_file(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_ENVIRONMENT, KEY)
    with Book(place.url) as ledger:
        first = ledger.release(ask())
    assert not place.key.exists()
    with Book(place.url) as ledger:
        assert ledger.release(ask()).releases == first.releases
        assert ledger.identify([b"data"]) == Book(place.url).identify([b"data"])


def test_a_missing_key_is_missed(used: Place) -> None:
    used.key.unlink()
    refused(used, f"key is missing. Put the file back as {used.key}, or its content into {KEY_ENVIRONMENT}")
    assert not used.key.exists()


def test_a_wrong_key_is_refused(used: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    right = used.key.read_text()
    used.key.write_text(KEY)
    refused(used, "the key does not belong to the ledger")
    monkeypatch.setenv(KEY_ENVIRONMENT, right)
    with Book(used.url) as ledger:
        assert ledger.release(ask()).reused
    used.key.write_text(right)
    monkeypatch.setenv(KEY_ENVIRONMENT, KEY)
    refused(used, "the key does not belong to the ledger")


@pytest.mark.parametrize("content", ["", "0123", "x" * 64, "é" * 64])
def test_a_damaged_key_is_refused(used: Place, content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = used.key.read_text()
    used.key.write_text(content)
    refused(used, "must hold at least 64 hexadecimal digits")
    used.key.write_text(right)
    monkeypatch.setenv(KEY_ENVIRONMENT, content)
    refused(used, f"{KEY_ENVIRONMENT} must hold at least 64 hexadecimal digits")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_key_that_others_can_use_is_refused(used: Place, mode: int) -> None:
    used.key.chmod(mode)
    refused(used, re.escape(f"chmod 600 '{used.key}'"))
    os.chmod(used.key, 0o600)
    with Book(used.url) as ledger:
        assert ledger.release(ask()).reused


@pytest.mark.long
def test_a_postgresql_key_serves_several_ledgers(postgresql_place: Place, sqlite_place: Place) -> None:
    with Book(postgresql_place.url) as ledger:
        ledger.release(ask())
    for table in ("confide_meta", "confide_heads", "confide_entries"):
        postgresql_place.execute(f"DROP TABLE {table}")
    with Book(postgresql_place.url) as ledger:
        assert not ledger.release(ask()).reused
    with Book(sqlite_place.url) as ledger:
        ledger.release(ask())
    assert sqlite_place.key.read_text() != postgresql_place.key.read_text()
