"""A run in which one site is slow, one is broken and one is old: what it answers to others, and how it ends."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from confide.federation.flare.flows import MESSAGES, Party
from confide.federation.flare.session import BEGIN_SECONDS, END_SECONDS
from confide.federation.flare.signing import add_site
from confide.federation.protocol import OFFER, RunError
from confide.federation.question import Question
from confide.federation.site.config import SiteFolder
from confide.federation.site_state import SiteState
from tests.federation.flare import registered, unruly
from tests.federation.flare.conftest import SITES, Network, python_path
from tests.federation.flare.hostile import Attacker, flare_site
from tests.federation.flare.shots import LATE, TOPICS, answered, modules_of, shell, shots_at
from tests.federation.joining import join
from tests.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.processes, pytest.mark.long]

ROUND_SECONDS = 60.0
"""Seconds for all that is tried in the run, and for the others' replies, on a machine that may be overloaded."""
FAULTS = {"east": unruly.GARBAGE, "north": unruly.OLD, "west": unruly.SLOW}


@dataclass
class SlowRun:
    """A run under way that waits for a slow site until its time is over."""

    network: Network
    ended: list[tuple[RunError, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.earlier = set(self._folders())
        self.thread = Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        question = Question.checked(study="first", model="faulty", mode="secure-sum", sites=SITES)
        began = time.monotonic()
        try:
            self.network.session.run(question, timeout=ROUND_SECONDS)
        except RunError as error:
            self.ended.append((error, time.monotonic() - began))

    @property
    def name(self) -> str:
        (folder,) = set(self._folders()) - self.earlier
        return folder.name

    def _folders(self) -> Iterable[Path]:
        """Folders of runs at the server; that of an earlier run may still change."""
        return self.network.federation.server_kit.glob("*-*-*-*-*")


@pytest.fixture(scope="module")
def mole(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacker]:
    """A hostile site of the guarded federation, which takes no part in its runs."""
    folder = tmp_path_factory.mktemp("mole")
    place = SiteFolder(folder / "mole")
    join(add_site(network.federation, "mole"), "mole", place)
    with flare_site("mole", place.kit, python_path(folder)) as attacker:
        log = place.kit / "log.txt"
        wait_until(lambda: log.exists() and "Successfully registered" in log.read_text())
        yield attacker


@pytest.fixture(scope="module")
def slow_run(network: Network) -> Iterator[SlowRun]:
    """A run that has reached the slow site."""
    places = {site: network.folders[site].path for site in FAULTS}
    for site, how in FAULTS.items():
        unruly.behave(places[site], OFFER, how)
    run = SlowRun(network)
    try:
        wait_until((places["west"] / unruly.REACHED).exists)
        yield run
    finally:
        for place in places.values():
            unruly.behave_well(place)
        run.thread.join()


def test_a_guarded_server_passes_nothing_on_and_answers_a_site_what_a_run_needs(
    network: Network, mole: Attacker, slow_run: SlowRun
) -> None:
    """The mole sends everything to everybody in a run, in its own name and in others'."""
    run = slow_run.name
    targets = {
        "server": "server_engine",
        "east": "site_engine",
        f"server.{run}": "server_run",
        f"west.{run}": "site_run",
    }
    shots = [shot for target, role in targets.items() for shot in shots_at(target, role)]
    forged = [shell("east", network.folders["east"].key, origin=name) for name in ("server", "east", "west")]
    needed = {(shot.channel, shot.topic): shot for shot in shots if shot.target == "server" and shot.channel == "task"}
    answers = mole.fire([*(shot for shot in shots if shot not in needed.values()), *forged])
    assert {"confide.federation.flare.site_run", "confide.federation.flare.server_run"} <= modules_of(run)
    assert len(answers) > 150
    assert answered(answers) == set()
    assert set(needed) == MESSAGES[Party.SITE, Party.SERVER]
    assert not mole.fire([needed["task", "heart_beat"]], seconds=PATIENCE)[needed["task", "heart_beat"]].silent
    log = network.federation.server_kit / "log.txt"
    said = "refused a message, as its route is not one that a run needs: 'req' by 'mole' from 'mole' to 'east'"
    wait_until(lambda: said in log.read_text())


def test_no_topic_was_added_to_flare(network: Network, slow_run: SlowRun) -> None:
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


def test_slow_broken_and_old_sites_are_each_named(slow_run: SlowRun) -> None:
    """The run ends in time, says which site did what, and releases nothing."""
    slow_run.thread.join()
    ended, seconds = slow_run.ended[0]
    assert seconds < 2 * ROUND_SECONDS + BEGIN_SECONDS + END_SECONDS
    reports = {report.name: report for report in ended.reports}
    assert reports["east"].state == SiteState.FAILED
    assert "its reply cannot be read" in reports["east"].message
    assert reports["north"].state == SiteState.FAILED
    assert "speaks version 0 of the protocol" in reports["north"].message
    assert reports["west"].state == SiteState.SILENT
    assert "did not reply in time" in reports["west"].message
    for name in SITES:
        assert name in str(ended)
    assert "Nothing was charged or released" in str(ended)
