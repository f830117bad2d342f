"""What sites and server do not let anybody do: run other code than ours, listen elsewhere, talk in the clear."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pytest

from confide.errors import FederationError
from confide.federation.flare import executor
from confide.federation.flare.hardening import EXECUTOR, RIGHTS, ROLES
from confide.federation.flare.job import SignedQuestion, write_job
from confide.federation.flare.processes import find_running, start_server, start_site
from confide.federation.flare.session import RunProgress, open_session
from confide.federation.protocol import OFFER
from confide.federation.question import PROTOCOL, Question
from confide.federation.site_state import SiteState
from tests.federation.flare.conftest import SITES, Network
from tests.federation.site_books import logged
from tests.waiting import PATIENCE, wait_until

QUESTION = Question.checked(study="first", model="shipped", mode="disclosure-control", sites=SITES[:1])

AUTHORIZED = """
import sys
from nvflare.apis.fl_constant import SiteType
from nvflare.apis.workspace import Workspace
from nvflare.private.fed.app.fl_app_validator import FLAppValidator
from nvflare.private.fed.utils.app_authz import AppAuthzService
from nvflare.private.fed.utils.fed_utils import security_init

kit, site, *apps = sys.argv[1:]
security_init(True, site, Workspace(kit, site), FLAppValidator(SiteType.CLIENT), SiteType.CLIENT)
for app in apps:
    print(AppAuthzService.authorize(app, "someone", "coordinator", "project_admin"))
"""


def finished(network: Network, job: Path) -> Mapping[str, Any]:
    """Submit a job as it is; what the engine says of it in the end."""
    return finished_run(network, network.session._submitted(job))


def finished_run(network: Network, run: str) -> Mapping[str, Any]:
    return network.session._finished(run, RunProgress(question=QUESTION, progress=lambda site, state: None), PATIENCE)[
        0
    ]


def job_of(network: Network, folder: Path) -> Path:
    signed = SignedQuestion.sign(QUESTION, network.federation.coordinator_kit / "startup")
    return write_job(folder, QUESTION, signed, at=("east",), timeout=PATIENCE)


def with_code(job: Path) -> Path:
    (job / "app" / "custom").mkdir()
    (job / "app" / "custom" / "shipped.py").write_text("raise SystemExit\n")
    return job


def test_the_server_refuses_code_that_is_shipped_with_a_run(network: Network, tmp_path: Path) -> None:
    job = with_code(job_of(network, tmp_path / "job"))
    meta = finished(network, job)
    assert meta["status"] == "FINISHED:FAILED_TO_RUN"
    assert meta["job_deploy_detail"] == ["server: BYOC not permitted"]


@pytest.mark.long
@pytest.mark.processes
def test_a_site_refuses_shipped_code_whatever_the_server_does(network: Network, tmp_path: Path) -> None:
    honest = job_of(network, tmp_path / "honest")
    shipped = with_code(job_of(network, tmp_path / "shipped"))
    apps = [str(job / "app") for job in (honest, shipped)]
    said = subprocess.run(
        [sys.executable, "-c", AUTHORIZED, str(network.folders["east"].kit), "east", *apps],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert said.stdout.splitlines()[-2:] == ["(True, '')", "(False, 'BYOC not permitted')"]


@pytest.mark.long
def test_a_site_refuses_a_run_that_names_another_class(network: Network, tmp_path: Path) -> None:
    job = job_of(network, tmp_path / "job")
    config = job / "app" / "config" / "config_fed_client.json"
    other = "nvflare.app_common.np.np_trainer.NPTrainer"
    config.write_text(config.read_text().replace(EXECUTOR, other))
    assert other in config.read_text()
    run = network.session._submitted(job)
    log = network.folders["east"].kit / run / "error_log.txt"
    said = f"Component '{other}' at config path 'executors.#1.executor' is not in allow_list"
    try:
        wait_until(lambda: log.exists() and said in log.read_text())
    finally:
        network.session._abort(run)
    assert finished_run(network, run)["status"] != "FINISHED:COMPLETED"


def engines(network: Network) -> Iterator[psutil.Process]:
    for folder in (network.federation.folder, *(site.path for site in network.folders.values())):
        running = find_running(folder)
        assert running is not None
        parent = psutil.Process(running.pid)
        yield from (parent, *parent.children(recursive=True))


def test_everything_listens_on_this_machine_alone_and_wants_certificates(network: Network) -> None:
    listening = {address for process in engines(network) for address in listeners(process)}
    server = ("127.0.0.1", network.federation.port)
    assert server in listening
    assert len(listening) > len(SITES)
    assert {host for host, _ in listening} == {"127.0.0.1"}
    for address in listening:
        assert answer(address, None) == b""
        assert answer(address, secured()) == b""
    assert answer(server, secured(network.folders["east"].kit / "startup")).startswith(b"HTTP/1.1")


def listeners(process: psutil.Process) -> set[tuple[str, int]]:
    """Where a process listens; nowhere, if it is one of a run that ends just now."""
    with suppress(psutil.NoSuchProcess):
        found = [one for one in process.net_connections(kind="inet") if one.status == psutil.CONN_LISTEN]
        return {(str(one.laddr.ip), int(one.laddr.port)) for one in found}
    return set()


def secured(startup: Path | None = None) -> ssl.SSLContext:
    """Somebody who speaks TLS, with a site's certificate or without one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if startup is not None:
        context.load_cert_chain(startup / "client.crt", startup / "client.key")
    return context


def answer(address: tuple[str, int], context: ssl.SSLContext | None) -> bytes:
    """What a listener says, if anything, to a request for its first page."""
    with suppress(ConnectionError, ssl.SSLError), socket.create_connection(address, timeout=PATIENCE) as plain:
        caller = plain if context is None else context.wrap_socket(plain)
        with caller:
            caller.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return caller.recv(100)
    return b""


def test_a_caller_who_says_nothing_does_not_block_others(network: Network) -> None:
    address = ("127.0.0.1", network.federation.port)
    with socket.create_connection(address, timeout=PATIENCE), open_session(network.federation, PATIENCE) as session:
        assert session.wait_for(SITES, PATIENCE) == SITES


def test_rights_are_the_least_that_runs_need(network: Network) -> None:
    for kit, needed in (
        (network.folders["east"].kit, {"submit_job"}),
        (network.federation.server_kit, {"submit_job", "manage_job", "view", "app_command"}),
    ):
        rights = json.loads((kit / "local" / "authorization.json").read_text())["permissions"]
        assert set(rights) == set(ROLES)
        for role in ROLES:
            granted = {right for right in RIGHTS if rights[role][right] != "none"}
            assert granted == (needed if role == "project_admin" else set())


def test_what_runs_is_not_started_again(network: Network) -> None:
    with pytest.raises(FederationError, match=r"is running already \(process \d+\); stop it first"):
        start_server(network.federation)
    with pytest.raises(FederationError, match="is running already"):
        start_site(network.folders["east"])


def test_a_question_that_nobody_signed_is_refused(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server cannot ask, in a coordinator's name, for something else than the coordinator signed."""
    from nvflare.apis.workspace import Workspace

    place = network.folders["east"]
    monkeypatch.setattr(executor, "signer", lambda workspace, job, signed: "someone@somewhere.confide")
    asked = Question.checked(study="first", model="shipped", mode="secure-sum", sites=SITES)
    request = json.dumps({"protocol": PROTOCOL, "session": "0" * 32, "question": asked.to_dict()})
    signed = SignedQuestion.sign(QUESTION, network.federation.coordinator_kit / "startup")
    asking = executor.ConfideExecutor(**asdict(signed))
    reply = asking._reply(OFFER, request, Workspace(str(place.kit), "east"), "job")
    assert reply["state"] == SiteState.REFUSED
    assert "another question than the one that the coordinator signed" in reply["message"]
    lines = logged(place)
    states = [line["state"] for line in lines if line["coordinator"] == "someone@somewhere.confide"]
    assert states == [SiteState.REFUSED]
