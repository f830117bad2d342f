"""Every test of the API runs against a real server process, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.contest.server.running import Running, served, small_contest
from tests.servers import running_server

SCHEMAS = count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Any]:
    with running_server() as running:
        yield running


@pytest.fixture
def new_database(postgresql: Any) -> str:
    return database_in(postgresql)


def database_in(postgresql: Any) -> str:
    """Make an empty schema on the PostgreSQL server, and return its URL."""
    import psycopg

    name = f"oracle{next(SCHEMAS)}"
    with psycopg.connect(postgresql.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return f"{postgresql.get_uri()}&options=-csearch_path%3D{name}"


def contests() -> list[Any]:
    """Return the contests of the shared server."""
    return [
        small_contest("heart"),
        small_contest("other", seed=1),
        small_contest("draft"),
        small_contest("races", daily_limit=3),
        small_contest("short", daily_limit=2, total_limit=2),
        small_contest("brier", metric="brier"),
        small_contest("states"),
        small_contest("final"),
    ]


@pytest.fixture(scope="session")
def sqlite_oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with served(tmp_path_factory.mktemp("oracle") / "sqlite", *contests()) as running:
        _open(running)
        yield running


@pytest.fixture(scope="session")
def postgresql_oracle(tmp_path_factory: pytest.TempPathFactory, postgresql: Any) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("oracle") / "postgresql"
    with served(folder, *contests(), database=database_in(postgresql)) as running:
        _open(running)
        yield running


def _open(running: Running) -> None:
    for name in ("heart", "other", "races", "short", "brier", "final"):
        assert running.set_state(name, "open").status_code == 200


@pytest.fixture(params=["sqlite", "postgresql"])
def oracle(request: pytest.FixtureRequest) -> Running:
    running: Running = request.getfixturevalue(f"{request.param}_oracle")
    return running
