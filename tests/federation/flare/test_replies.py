"""A dishonest server, as a real process, whose replies would have a session write, read or send files here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from confide.errors import FederationError
from confide.federation.flare.federation import Federation
from confide.federation.flare.session import FederationSession, open_session
from confide.federation.flare.signing import provision
from confide.federation.question import Question
from tests.federation.flare import dishonest
from tests.federation.flare.conftest import SITES, python_path
from tests.federation.flare.dishonest import Orders
from tests.federation.flare.hostile import flare_engine
from tests.ports import free_port
from tests.waiting import PATIENCE

pytestmark = pytest.mark.flare

PULL, PUSH = "file_transfer.pull_folder", "file_transfer.push_folder"
NAMES: tuple[object, ...] = (*SITES, [], {})
THERE = {"clients": [{"client_name": name, "client_last_conn_time": 0.0} for name in NAMES]}
OVER = {"job_meta": {"status": "FINISHED:COMPLETED"}}
QUESTION = Question.checked(study="first", model="disclosed", mode="disclosure-control", sites=SITES)


@dataclass(frozen=True)
class Dishonest:
    """A federation with a dishonest server, and somebody's files on the coordinator's machine."""

    federation: Federation
    orders: Path
    home: Path

    @property
    def settings(self) -> Path:
        return self.home / ".bashrc"

    def obey(self, **orders: object) -> None:
        """Tell the server what to reply from now on."""
        source = self.home / "source"
        source.write_text("echo owned\n")
        self.settings.write_text("honest\n")
        Orders(source=str(source), loot=str(self.home / "loot"), **orders).write(self.orders)  # type: ignore[arg-type]

    def contents(self) -> dict[str, bytes]:
        """Everything in the coordinator's folder, but what is the server's own."""
        own = (self.federation.coordinator_kit, self.federation.authority, self.home)
        kept = (path for folder in own for path in folder.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in kept if not path.name.startswith("loot")}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dishonest]:
    folder = tmp_path_factory.mktemp("dishonest")
    federation = provision(folder / "federation", name="Dishonest", sites=SITES, port=free_port())
    path, orders, home = python_path(folder), folder / "orders.json", folder / "home"
    home.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(dishonest.ORDERS, str(orders))
        with flare_engine("server", federation.server_kit, path, "org=coordinator"):
            yield Dishonest(federation, orders, home)


def asked(session: FederationSession) -> None:
    with pytest.raises(FederationError):
        session.run(QUESTION, timeout=5.0)


def test_a_reply_to_a_request_for_the_status_writes_no_file(server: Dishonest) -> None:
    files = {"files": [str(server.settings), "../../../escaped"]}
    server.obey(commands={"check_status": PULL}, replies={"check_status": {**THERE, **files}})
    before = server.contents()
    with open_session(server.federation, timeout=PATIENCE) as session:
        there = session.connected_sites()
    assert server.contents() == before
    assert there == SITES


def test_the_end_of_a_run_writes_no_file(server: Dishonest) -> None:
    files = {"files": [str(server.settings)]}
    replies = {"check_status": THERE, "get_job_meta": OVER, "download_job": files}
    server.obey(replies=replies, job=str(uuid4()))
    before = server.contents()
    with open_session(server.federation, timeout=PATIENCE) as session:
        asked(session)
    assert server.contents() == before


@pytest.mark.parametrize("named", ["a folder", "a run"])
def test_a_session_sends_no_folder_but_its_job(server: Dishonest, named: str) -> None:
    job = str(server.federation.authority) if named == "a folder" else str(uuid4())
    server.obey(commands={"get_job_meta": PUSH}, replies={"check_status": THERE, "get_job_meta": OVER}, job=job)
    before = server.contents()
    sent = len(list(server.home.glob("loot*")))
    with open_session(server.federation, timeout=PATIENCE) as session:
        asked(session)
    assert server.contents() == before
    assert len(list(server.home.glob("loot*"))) == sent + 1


def test_a_login_signs_nothing_but_a_uuid(server: Dishonest) -> None:
    server.obey(nonce='=1\nexecutors=[{tasks=["confide"]}]\n')
    with (
        pytest.raises(FederationError, match="a signature of something else than a UUID"),
        open_session(server.federation, timeout=PATIENCE),
    ):
        pass
    server.obey()
    with open_session(server.federation, timeout=PATIENCE) as session:
        assert session.connected_sites() == ()
