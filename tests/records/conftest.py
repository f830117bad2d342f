"""The three keepers of sealed chains; the ledger and the server of contests in SQLite and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.records.subjects import KINDS, Subject
from tests.servers import running_server

SCHEMAS = count()
FILES = [("ledger", "sqlite"), ("site", "sqlite"), ("contest", "sqlite")]
SERVERS = [("ledger", "postgresql"), ("contest", "postgresql")]


@pytest.fixture(scope="session")
def server() -> Iterator[Any]:
    with running_server() as running:
        yield running


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("CONFIDE_LEDGER", "CONFIDE_LEDGER_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))


def build(request: pytest.FixtureRequest, tmp_path: Path) -> Subject:
    kind, where = request.param
    home, url = tmp_path / "home", None
    home.mkdir()
    if where == "postgresql":
        import psycopg

        running = request.getfixturevalue("server")
        name = f"records{next(SCHEMAS)}"
        with psycopg.connect(running.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        url = f"{running.get_uri()}&options=-csearch_path%3D{name}"
        if kind == "contest":
            url = url.replace("postgresql://", "postgresql+psycopg://")
    return KINDS[kind](home, url)


@pytest.fixture(params=[*FILES, *SERVERS], ids=lambda one: "-".join(one))
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Subject:
    """Each keeper on each database."""
    return build(request, tmp_path)


@pytest.fixture(params=FILES, ids=lambda one: "-".join(one))
def filed(request: pytest.FixtureRequest, tmp_path: Path) -> Subject:
    """Each keeper in SQLite."""
    return build(request, tmp_path)
