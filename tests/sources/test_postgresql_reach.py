"""A database that cannot be used: each reason has its own message, without names, credentials or driver's words."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from confide.contest.server.database import Database
from confide.errors import ConfideError, HomeError, LedgerError, UnreadableError
from confide.ledger.ledger import Ledger
from confide.postgresql_reach import Reach
from confide.sources.locations import TableLocation
from confide.sources.open_tables import open_table
from tests.ports import free_port
from tests.servers import running_server
from tests.sources.doors import certificate, door

PASSWORD = "hunter2"  # noqa: S105
USER = "anastasia"


@dataclass(frozen=True)
class Doors:
    """Ports to one server that wants passwords: as it is, behind TLS, and one at which nobody listens."""

    plain: int
    tls: int
    nobody: int
    folder: Path

    def url(self, reason: str) -> str:
        """URL, without table and credentials, that fails for a reason."""
        ports = {"refused": self.nobody, "certificate": self.tls, "other-host": self.tls, "no-root": self.tls}
        host = {"host": "no-such-host.invalid", "other-host": "127.0.0.1", "certificate": "localhost"}
        database = "nothere" if reason == "database" else "postgres"
        more = {
            "no-tls": "?sslmode=require",
            "no-root": f"?sslmode=verify-ca&sslrootcert={self.folder}/gone.crt",
            "certificate": f"?sslmode=verify-ca&sslrootcert={self.folder}/other/server.crt",
            "other-host": f"?sslmode=verify-full&sslrootcert={self.folder}/ours/server.crt",
            "well": f"?sslmode=verify-full&sslrootcert={self.folder}/ours/server.crt",
        }
        if reason == "socket":
            return f"postgresql:///{database}?host={self.folder}"
        port = self.tls if reason == "well" else ports.get(reason, self.plain)
        return f"postgresql://{host.get(reason, 'localhost')}:{port}/{database}{more.get(reason, '')}"


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    folder = tmp_path_factory.mktemp("doors")
    certificate(folder / "ours", "localhost")
    certificate(folder / "other", "localhost")
    with running_server() as server, ExitStack() as open_doors:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE USER {USER} PASSWORD '{PASSWORD}'".encode())
            connection.execute(b"CREATE TABLE rows (label int, score float)")
            connection.execute(f"GRANT SELECT ON rows TO {USER}".encode())
            rules = Path(server.pgdata) / "pg_hba.conf"
            rules.write_text(f"local all {USER} scram-sha-256\nlocal all all trust\n")
            connection.execute("SELECT pg_reload_conf()")
        await_rules(server.get_uri())
        place = f"{server.pgdata}/.s.PGSQL.5432"
        plain, tls = open_doors.enter_context(door(place)), open_doors.enter_context(door(place, folder / "ours"))
        yield Doors(plain, tls, free_port(), folder)


def await_rules(uri: str) -> None:
    """Wait until the server has read that the user needs a password; it does so in its own time."""
    for _ in range(600):
        try:
            psycopg.connect(uri, user=USER, password="wrong" + PASSWORD).close()
        except psycopg.OperationalError:
            return
        time.sleep(0.1)
    raise AssertionError("the server does not read its rules")


REASONS = {
    "host": Reach.HOST_UNKNOWN,
    "socket": Reach.NO_SOCKET,
    "refused": Reach.REFUSED,
    "no-tls": Reach.NO_TLS,
    "no-root": Reach.NO_ROOT,
    "certificate": Reach.CERTIFICATE,
    "other-host": Reach.CERTIFICATE,
    "no-password": Reach.NO_PASSWORD,
    "password": Reach.LOGIN,
    "database": Reach.LOGIN,
}


def surroundings(reason: str, patch: pytest.MonkeyPatch) -> None:
    """Set credentials in the environment, as users do."""
    patch.setenv("PGUSER", USER)
    if reason != "no-password":
        patch.setenv("PGPASSWORD", "wrong" + PASSWORD if reason == "password" else PASSWORD)


def discreet(error: ConfideError, reason: Reach, doors: Doors) -> None:
    text = str(error)
    assert reason in text
    for secret in (PASSWORD, USER, "FATAL", "libpq", "psycopg", str(doors.folder / "ours")):
        assert secret not in re.sub(r"^\S* ?postgresql://\S+", "", text)
    assert PASSWORD not in text
    assert error.__suppress_context__ or error.__context__ is None


@pytest.mark.few(3)
@pytest.mark.parametrize("reason", REASONS)
def test_tables(doors: Doors, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    surroundings(reason, monkeypatch)
    url = doors.url(reason)
    location = TableLocation.parse(f"{url}{'&' if '?' in url else '?'}table=rows")
    with pytest.raises(UnreadableError) as caught, open_table(location):
        pass
    discreet(caught.value, REASONS[reason], doors)


@pytest.mark.parametrize("reason", ["host", "refused", "certificate", "no-password", "password", "database"])
def test_ledgers(doors: Doors, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    surroundings(reason, monkeypatch)
    with (
        Ledger(doors.url(reason)) as ledger,
        pytest.raises(LedgerError, match="Nothing is charged or released") as caught,
    ):
        ledger.accounts()
    discreet(caught.value, REASONS[reason], doors)


@pytest.mark.parametrize("reason", ["refused", "password", "database"])
def test_contest_servers(doors: Doors, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    surroundings(reason, monkeypatch)
    database = Database.at(Path("unused"), doors.url(reason))
    with pytest.raises(HomeError) as caught:
        database.check()
    discreet(caught.value, REASONS[reason], doors)


def test_with_the_right_settings_the_same_door_opens(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    surroundings("well", monkeypatch)
    with open_table(TableLocation.parse(f"{doors.url('well')}&table=rows")) as held:
        assert held.table.columns == ("label", "score")
