"""Every store passes the same suite: SQLite in a file, PostgreSQL in a real server."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.ledger.asking import Book
from tests.ledger.places import Place
from tests.servers import running_server

NUMBERS = count()


@pytest.fixture(scope="session")
def server() -> Iterator[Any]:
    with running_server() as running:
        yield running


@pytest.fixture(autouse=True)
def form_alone(few_simulated_tables: None) -> None:
    """How wide intervals are does not matter here."""


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the user's own ledger or keys."""
    for variable in ("CONFIDE_LEDGER", "CONFIDE_LEDGER_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Place:
    path = tmp_path / "ledger.sqlite"
    return Place(kind="sqlite", url=f"sqlite:///{path}", key=path.with_name("ledger.sqlite.key"))


@pytest.fixture
def postgresql_place(server: Any, tmp_path: Path) -> Place:
    import psycopg

    name = f"ledger{next(NUMBERS)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    url = f"{server.get_uri()}&options=-csearch_path%3D{name}"
    return Place(kind="postgresql", url=url, key=tmp_path / "config" / "confide" / "ledger.key")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest) -> Place:
    made: Place = request.getfixturevalue(f"{request.param}_place")
    return made


@pytest.fixture
def ledger(place: Place) -> Iterator[Book]:
    with Book(place.url) as opened:
        yield opened
