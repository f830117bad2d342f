"""Real sites, killed at every step of a sum that survives dropouts: a result in time, one charge, no process left."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import psutil
import pytest

from confide.federation.flare.processes import Running, find_running, start_server, start_site
from confide.federation.flare.session import open_session
from confide.federation.flare.signing import provision
from confide.federation.protocol import ANSWER, SHARES, UNMASK
from confide.federation.question import Question
from confide.federation.site_state import SiteState
from tests.federation.flare import unruly
from tests.federation.flare.conftest import Network, make_site, python_path
from tests.federation.flare.test_faults import kill_when_stuck, spent
from tests.ports import free_port
from tests.waiting import PATIENCE, wait_until

FOUR = ("east", "north", "south", "west")
DROP_AFTER = 20.0
"""Seconds for a site that is slower than the others: machines that run tests may be overloaded."""

pytestmark = [pytest.mark.flare, pytest.mark.long]


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """A server and four sites: any three can take masks off."""
    folder = tmp_path_factory.mktemp("four")
    federation = provision(folder / "federation", name="Four", sites=FOUR, port=free_port())
    folders = {name: make_site(federation, name, folder / name) for name in FOUR}
    started: list[Running] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", python_path(folder))
        try:
            started.append(start_server(federation, seconds=PATIENCE))
            started += [start_site(folders[name]) for name in FOUR]
            with open_session(federation, timeout=PATIENCE) as session:
                assert session.wait_for(FOUR, PATIENCE) == FOUR
                yield Network(federation=federation, session=session, folders=folders)
        finally:
            for place in (federation.folder, *(site.path for site in folders.values())):
                started += [running for running in [find_running(place)] if running is not None]
            for running in started:
                running.stop()


def ask(edition: int) -> Question:
    return Question.checked(
        study="noise",
        model="noised",
        mode="private",
        sites=FOUR,
        fewest=3,
        epsilon="0.1",
        site_share=0,
        edition=edition,
    )


def test_a_sum_with_everybody_takes_four_rounds(four: Network) -> None:
    outcome = four.session.run(ask(1), timeout=PATIENCE, drop_after=DROP_AFTER)
    assert (outcome.rounds, outcome.question.sites) == (4, FOUR)
    assert [spent(four, site) for site in FOUR] == [Fraction(1, 10)] * 4


@pytest.mark.parametrize(("edition", "topic"), [(2, SHARES), (3, ANSWER), (4, UNMASK)])
def test_the_others_get_their_sum_when_a_site_is_killed(four: Network, edition: int, topic: str) -> None:
    question, place = ask(edition), four.folders["west"].path
    before = {site: spent(four, site) for site in FOUR}
    unruly.behave(place, topic, unruly.STUCK)
    killer = threading.Thread(target=kill_when_stuck, args=(four, "west"))
    killer.start()
    try:
        began = time.monotonic()
        outcome = four.session.run(question, timeout=2 * PATIENCE, drop_after=DROP_AFTER)
        took = time.monotonic() - began
    finally:
        killer.join()
        unruly.behave_well(place)
        start_site(four.folders["west"])
    assert four.session.wait_for(FOUR, PATIENCE) == FOUR
    left = FOUR if topic == UNMASK else FOUR[:3]
    assert outcome.question.sites == left
    states = {report.name: report.state for report in outcome.reports}
    assert states == {name: SiteState.ANSWERED if name in left else SiteState.SILENT for name in FOUR}
    assert took < 2 * PATIENCE
    again = four.session.run(question, timeout=PATIENCE, drop_after=DROP_AFTER)
    assert (again.total, again.question.sites) == (outcome.total, left)
    paid = {site: spent(four, site) - before[site] for site in FOUR}
    assert paid == {site: 0 if site == "west" and topic == SHARES else Fraction(1, 10) for site in FOUR}


def test_no_process_of_a_run_is_left(four: Network) -> None:
    def runs() -> list[int]:
        mine = os.fspath(Path(four.federation.folder).parent)
        found = []
        for process in psutil.process_iter():
            try:
                line = process.cmdline()
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
            if any(mine in word for word in line) and any(word.endswith((".site_run", ".server_run")) for word in line):
                found.append(process.pid)
        return found

    wait_until(lambda: not runs())
