"""Hostile sites and a hostile server, as real processes, send every topic that FLARE registers; runs need a few.

The attackers are FLARE's own engines with a kit of the federation. Beside a guarded site stands one on FLARE's own
engine, at which the same messages succeed: so silence here comes of the guard.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from uuid import uuid4

import pytest

from confide.federation.flare.flows import ADMIN, SITE_TOPICS, Party
from confide.federation.flare.processes import start_site
from confide.federation.flare.session import FederationSession, open_session
from confide.federation.flare.signing import provision
from confide.federation.protocol import OFFER, RunError
from confide.federation.question import Question
from confide.federation.site.config import SiteFolder
from tests.federation.flare import unruly
from tests.federation.flare.conftest import SITES, make_site, python_path
from tests.federation.flare.hostile import Attacker, Shot, flare_engine, flare_site
from tests.federation.flare.shots import answered, modules_of, shell, shots_at
from tests.ports import free_port
from tests.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.long, pytest.mark.processes, pytest.mark.flare]

HARMLESS = ("sys.info", "sys.report_env", "train.check_status", "train.get_scopes", "process_info", "get_task")
"""Some topics that FLARE's own engine answers to anybody."""


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
    federation = provision(folder / "federation", name="Siege", sites=SITES, port=free_port())
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


def contents(site: SiteFolder) -> dict[str, bytes]:
    """Everything that a site keeps, but for logs and what belongs to its process."""
    kept = (path for path in site.path.rglob("*") if path.is_file() and "run" not in path.relative_to(site.path).parts)
    return {str(path): path.read_bytes() for path in kept if "log" not in path.name}


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
    assert siege.session.wait_for(("east",), PATIENCE) == ("east",)


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
    files = [shell("east", siege.guarded.path / name) for name in ("rows.csv", "site.key", "site.db")]
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
    assert siege.session.wait_for(("east",), PATIENCE) == ("east",)


def test_a_peer_shuts_a_plain_site_down(siege: Siege) -> None:
    shut = [Shot(target=site, channel=ADMIN, topic="admin", inner="train.shutdown") for site in ("north", "east")]
    assert siege.peer.fire(shut[1:])[shut[1]].silent
    assert siege.peer.fire(shut[:1], seconds=PATIENCE)[shut[0]].text == "Shutdown the client..."
    wait_until(lambda: siege.session.connected_sites() == ("east", "west"))


def end_without_result(session: FederationSession, question: Question) -> None:
    with suppress(RunError):
        session.run(question, timeout=PATIENCE)


def test_a_process_of_a_run_answers_a_dishonest_server_nothing_that_it_did_not_ask(siege: Siege) -> None:
    place = siege.guarded.path
    unruly.behave(place, OFFER, unruly.SLOW)
    question = Question.checked(study="first", model="disclosed", mode="disclosure-control", sites=("east",))
    thread = threading.Thread(target=end_without_result, args=(siege.session, question))
    thread.start()
    try:
        wait_until((place / unruly.REACHED).exists)
        run = next(siege.guarded.kit.glob("*-*-*-*-*")).name
        shots = [shot for shot in shots_at(f"east.{run}", "site_run") if shot.topic != "__end_run__"]
        forged = [replace(shot, origin=f"server.{run}") for shot in shots]
        answers = siege.server.fire([*shots, *forged])
        assert "confide.federation.flare.site_run" in modules_of(run)
    finally:
        unruly.behave_well(place)
        thread.join()
    assert len(answers) > 80
    assert answered(answers) == set()
