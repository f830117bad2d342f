"""Hostile sites and a hostile server, as real processes, send every topic that FLARE registers; runs need a few.

The attackers are FLARE's own engines with a kit of the federation. Beside a guarded site stands one on FLARE's own
engine, at which the same messages succeed: so silence here comes of the guard.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from confide.federation.channel import OFFER
from confide.federation.flare.flows import ADMIN, MESSAGES, SITE_TOPICS, Party
from confide.federation.flare.processes import start_site
from confide.federation.flare.provision import add_site, provision, unpack_site_kit
from confide.federation.flare.session import FederationSession, open_session
from confide.federation.outcome import RunError
from confide.federation.question import Question
from confide.federation.site.site_folder import SiteFolder
from tests.federation.flare import registered, unruly
from tests.federation.flare.conftest import PATIENCE, SITES, Network, make_site, python_path, wait_until
from tests.federation.flare.hostile import Answer, Attacker, Shot, flare_engine, flare_site

pytestmark = pytest.mark.processes

DOWNLOADS = [f"download_service__ download_service__{topic}" for topic in ("download", "source_failure")]
TOPICS: dict[str, list[str]] = json.loads((Path(__file__).parent / "flare_topics.json").read_text())
LATE = [f"{kind} {topic}" for kind in ("request", "stream") for topic in DOWNLOADS]
"""Topics that FLARE registers when a file is first sent."""

RUN_SECONDS = 12.0
HARMLESS = ("sys.info", "sys.report_env", "train.check_status", "train.get_scopes", "process_info", "get_task")
"""Some topics that FLARE's own engine answers to anybody."""


def topics_of(role: str, kind: str) -> list[str]:
    return [line.partition(" ")[2] for line in TOPICS[role] if line.startswith(f"{kind} ")]


def shots_at(target: str, role: str) -> list[Shot]:
    """Every message that an engine of some role has a handler for, and `bye` not: it only ends the own connection."""
    shots = []
    for kind in ("request", "stream"):
        for line in topics_of(role, kind):
            channel, topic = line.split(" ")
            for each in [topic] if topic != "*" else _every(channel, role):
                shots.append(Shot(target=target, channel=channel, topic=each, streamed=kind == "stream"))
    shots = [shot for shot in shots if shot.topic != "bye"]
    return shots + [
        Shot(target=target, channel=ADMIN, topic="admin", inner=topic) for topic in topics_of(role, "admin")
    ]


def _every(channel: str, role: str) -> list[str]:
    if channel == "aux_communication":
        return topics_of(role, "aux")
    if channel == "hci_channel":
        return ["command"]
    if channel == "return_only":
        return ["server_command:get_task"]
    return [] if channel == ADMIN else topics_of(role, "command")


def shell(target: str, path: Path, origin: str = "") -> Shot:
    return Shot(target=target, channel=ADMIN, topic="admin", inner="sys.shell", body=f"cat {path}", origin=origin)


@dataclass
class Siege:
    """A hostile server, a hostile site, a guarded site and one on FLARE's own engine."""

    server: Attacker
    peer: Attacker
    session: FederationSession
    guarded: SiteFolder
    plain: SiteFolder


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siege]:
    folder = tmp_path_factory.mktemp("siege")
    federation = provision(folder / "federation", name="Siege", sites=SITES)
    places = {name: make_site(federation, name, folder / name) for name in SITES}
    path = python_path(folder)
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("PYTHONPATH", path)
        server = stack.enter_context(flare_engine("server", federation.server_kit, path, "org=coordinator"))
        stack.enter_context(flare_site("north", places["north"].kit, path))
        peer = stack.enter_context(flare_site("west", places["west"].kit, path))
        stack.callback(start_site(places["east"]).stop)
        session = stack.enter_context(open_session(federation, timeout=PATIENCE))
        assert session.wait_for(SITES, PATIENCE) == SITES
        yield Siege(server, peer, session, places["east"], places["north"])


def answered(answers: dict[Shot, Answer]) -> set[str]:
    return {shot.inner or f"{shot.channel} {shot.topic}" for shot, answer in answers.items() if not answer.silent}


def contents(site: SiteFolder) -> dict[str, bytes]:
    """Everything that a site keeps, but for logs and what belongs to its process."""
    kept = (path for path in site.path.rglob("*") if path.is_file() and "run" not in path.relative_to(site.path).parts)
    return {str(path): path.read_bytes() for path in kept if "log" not in path.name}


@pytest.mark.flare
def test_a_peer_reads_files_at_a_plain_site_and_nothing_at_a_guarded_one(siege: Siege) -> None:
    """Behind FLARE's own server, which passes on what a peer sends."""
    wanted = [siege.plain.path / "rows.csv", siege.plain.key, siege.guarded.path / "rows.csv", siege.guarded.key]
    shots = [shell("north", path) for path in wanted[:2]] + [shell("east", path) for path in wanted[2:]]
    forged = [replace(shot, origin=origin) for shot in shots[2:] for origin in ("server", "east")]
    succeed = siege.peer.fire(shots[:2], seconds=PATIENCE)
    assert "disclosed" in succeed[shots[0]].text
    assert "PRIVATE KEY" in succeed[shots[1]].text
    answers = siege.peer.fire([*shots[2:], *forged])
    assert all(answer.silent for answer in answers.values())


def test_a_guarded_site_answers_nothing_that_a_peer_sends(siege: Siege) -> None:
    before = contents(siege.guarded)
    shots = shots_at("east", "site_engine")
    plain = [replace(shot, target="north") for shot in shots if (shot.inner or shot.topic) in HARMLESS]
    assert len(answered(siege.peer.fire(plain, seconds=PATIENCE))) == len(HARMLESS)
    answers = siege.peer.fire(shots)
    assert len(answers) > 60
    assert answered(answers) == set()
    assert contents(siege.guarded) == before
    assert siege.session.connected_sites()[0] == "east"


def test_a_guarded_site_answers_a_dishonest_server_what_a_run_needs(siege: Siege) -> None:
    before = contents(siege.guarded)
    run = str(uuid4())
    shots = shots_at("east", "site_engine")
    about = [replace(shot, run=run) for shot in shots if shot.inner]
    astray = [
        replace(shot, run=name)
        for shot in shots
        if shot.inner.startswith("train.")
        for name in ("..", "../..", "startup", f"{run} --set a=b", run.upper())
    ]
    files = [shell("east", siege.guarded.path / name) for name in ("rows.csv", "site.key", "ledger.db")]
    needed = [shot for shot in about if shot.inner in SITE_TOPICS[Party.SERVER]]
    answers = siege.server.fire(needed, seconds=PATIENCE)
    others = siege.server.fire([shot for shot in (*shots, *about, *astray, *files) if shot not in needed])
    assert answered(answers) == SITE_TOPICS[Party.SERVER]
    assert len(others) > 120
    assert answered(others) <= {"scheduler.check_resource", "scheduler.cancel_resource"}
    assert {shot.run for shot, answer in others.items() if not answer.silent} <= {""}
    said = {shot.inner: answer.text for shot, answer in answers.items()}
    assert said["train.deploy"] == "app app does not pass signature verification"
    assert said["train.abort"] == "Client app already stopped."
    assert "No reserved resources" in said["train.start_job"]
    assert contents(siege.guarded) == before


def test_a_coordinators_session_answers_nothing(siege: Siege, caplog: pytest.LogCaptureFixture) -> None:
    cell = siege.session._engine.api.cell.core_cell
    shots = shots_at(cell.get_fqcn(), "server_engine")
    with caplog.at_level("CRITICAL", logger="confide.federation.flare.guard"):
        answers = siege.server.fire(shots)
    assert len(answers) > 30
    assert answered(answers) == set()
    assert "east" in siege.session.connected_sites()


def test_a_peer_shuts_a_plain_site_down(siege: Siege) -> None:
    shut = [Shot(target=site, channel=ADMIN, topic="admin", inner="train.shutdown") for site in ("north", "east")]
    assert siege.peer.fire(shut[1:])[shut[1]].silent
    assert siege.peer.fire(shut[:1], seconds=PATIENCE)[shut[0]].text == "Shutdown the client..."
    wait_until(lambda: siege.session.connected_sites() == ("east", "west"))


def modules_of(run: str) -> set[str]:
    """The modules that the processes of a run were started with."""
    lines = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return {word for line in lines if run in line for word in line}


@pytest.fixture(scope="module")
def mole(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacker]:
    """A hostile site of the guarded federation, which takes no part in its runs."""
    folder = tmp_path_factory.mktemp("mole")
    place = SiteFolder(folder / "mole")
    unpack_site_kit(add_site(network.federation, "mole").site_kit("mole"), place)
    with flare_site("mole", place.kit, python_path(folder)) as attacker:
        log = place.kit / "log.txt"
        wait_until(lambda: log.exists() and "Successfully registered" in log.read_text())
        yield attacker


@pytest.fixture(scope="module")
def slow_run(network: Network) -> Iterator[str]:
    """A run that waits for a site that is slow to reply."""
    place = network.folders["west"].path
    unruly.behave(place, OFFER, unruly.SLOW)
    question = Question.checked(study="first", model="faulty", mode="secure-sum", sites=SITES)
    thread = _in_background(network.session, question)
    try:
        wait_until((place / unruly.REACHED).exists)
        kit = network.federation.server_kit
        yield max(kit.glob("*-*-*-*-*"), key=lambda folder: folder.stat().st_mtime).name
    finally:
        thread.join()
        unruly.behave_well(place)


def _in_background(session: FederationSession, question: Question) -> threading.Thread:
    def run() -> None:
        with suppress(RunError):
            session.run(question, timeout=RUN_SECONDS)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_guarded_server_passes_nothing_on_and_answers_a_site_what_a_run_needs(
    network: Network, mole: Attacker, slow_run: str
) -> None:
    """The mole sends everything to everybody in a run, in its own name and in others'."""
    targets = {
        "server": "server_engine",
        "east": "site_engine",
        f"server.{slow_run}": "server_run",
        f"west.{slow_run}": "site_run",
    }
    shots = [shot for target, role in targets.items() for shot in shots_at(target, role)]
    forged = [shell("east", network.folders["east"].key, origin=name) for name in ("server", "east", "west")]
    needed = {(shot.channel, shot.topic): shot for shot in shots if shot.target == "server" and shot.channel == "task"}
    answers = mole.fire([*(shot for shot in shots if shot not in needed.values()), *forged])
    assert {"confide.federation.flare.site_run", "confide.federation.flare.server_run"} <= modules_of(slow_run)
    assert len(answers) > 150
    assert answered(answers) == set()
    assert set(needed) == MESSAGES[Party.SITE, Party.SERVER]
    assert not mole.fire([needed["task", "heart_beat"]], seconds=PATIENCE)[needed["task", "heart_beat"]].silent
    log = (network.federation.server_kit / "log.txt").read_text()
    assert "refused a message, as its route is not one that a run needs: 'req' by 'mole' from 'mole' to 'east'" in log


def test_no_topic_was_added_to_flare(network: Network, slow_run: str) -> None:
    """A version of FLARE with other topics is noticed here; the guard refuses them until they are listed."""
    from nvflare.private.fed.client.admin_commands import AdminCommands
    from nvflare.private.fed.server.server_commands import ServerCommands

    found = registered.read(network.federation.folder, *(site.path for site in network.folders.values()))
    found["site_run"] += _commands(AdminCommands.commands)
    found["server_run"] += _commands(ServerCommands.commands)
    for role, lines in TOPICS.items():
        assert set(found[role]) <= set(lines)
        assert set(lines) - set(found[role]) <= set(LATE)


def _commands(commands: Sequence[Any]) -> list[str]:
    return [f"command {command.get_command_name()}" for command in commands]


@pytest.mark.flare
def test_a_process_of_a_run_answers_a_dishonest_server_nothing_that_it_did_not_ask(siege: Siege) -> None:
    place = siege.guarded.path
    unruly.behave(place, OFFER, unruly.SLOW)
    question = Question.checked(study="first", model="disclosed", mode="disclosure-control", sites=("east",))
    thread = _in_background(siege.session, question)
    try:
        wait_until((place / unruly.REACHED).exists)
        run = next(siege.guarded.kit.glob("*-*-*-*-*")).name
        shots = [shot for shot in shots_at(f"east.{run}", "site_run") if shot.topic != "__end_run__"]
        forged = [replace(shot, origin=f"server.{run}") for shot in shots]
        answers = siege.server.fire([*shots, *forged])
        assert "confide.federation.flare.site_run" in modules_of(run)
    finally:
        thread.join()
        unruly.behave_well(place)
    assert len(answers) > 80
    assert answered(answers) == set()
