"""Sites that are down, slow, broken, old or killed: the run ends in time, says which site it was, releases nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from fractions import Fraction

import psutil
import pytest

from confide.federation.channel import ANSWER, OFFER
from confide.federation.flare.processes import start_site
from confide.federation.flare.session import BEGIN_SECONDS, END_SECONDS
from confide.federation.outcome import ANSWERED, FAILED, SILENT, RunError
from confide.federation.question import Question
from tests.federation.flare import unruly
from tests.federation.flare.conftest import PATIENCE, SITES, Network
from tests.federation.flare.test_modes import spent


def run_processes(network: Network, site: str) -> list[psutil.Process]:
    return list(psutil.Process(network.running(site).pid).children(recursive=True))


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "this did not come true in time"
        time.sleep(0.1)


def test_slow_broken_and_old_sites_are_each_named(network: Network) -> None:
    for site, how in (("east", unruly.GARBAGE), ("north", unruly.OLD), ("west", unruly.SLOW)):
        unruly.behave(network.folders[site].path, OFFER, how)
    question = Question.checked(study="first", model="faulty", mode="secure-sum", sites=SITES)
    began = time.monotonic()
    try:
        with pytest.raises(RunError) as ended:
            network.session.run(question, timeout=12.0)
    finally:
        for folder in network.folders.values():
            unruly.behave_well(folder.path)
    assert time.monotonic() - began < 2 * 12.0 + BEGIN_SECONDS + END_SECONDS
    reports = {report.name: report for report in ended.value.reports}
    assert reports["east"].state == FAILED
    assert "its reply cannot be read" in reports["east"].message
    assert reports["north"].state == FAILED
    assert "another version of the protocol" in reports["north"].message
    assert reports["west"].state == SILENT
    assert "did not reply in time" in reports["west"].message
    for name in SITES:
        assert name in str(ended.value)
    assert "Nothing was charged or released" in str(ended.value)


def test_a_site_killed_in_the_second_round_costs_nobody_twice(network: Network) -> None:
    question = Question.checked(study="kill", model="killed", mode="private", sites=SITES, epsilon="0.25")
    before = {site: spent(network, site) if network.folders[site].ledger.exists() else Fraction(0) for site in SITES}
    place = network.folders["west"].path
    unruly.behave(place, ANSWER, unruly.STUCK)

    def kill_when_stuck() -> None:
        wait_until((place / unruly.REACHED).exists)
        for process in (psutil.Process(network.running("west").pid), *run_processes(network, "west")):
            process.kill()

    killer = threading.Thread(target=kill_when_stuck)
    killer.start()
    try:
        with pytest.raises(RunError) as ended:
            network.session.run(question, timeout=PATIENCE)
        states = {report.name: report.state for report in ended.value.reports}
        assert states == {**dict.fromkeys(SITES[:2], ANSWERED), "west": SILENT}
        assert "west: silent (it left in the middle of the run" in str(ended.value)
        assert "costs nothing more" in str(ended.value)
        with pytest.raises(RunError, match=r"west: silent \(it is not connected; start it") as absent:
            network.session.run(question, timeout=PATIENCE)
        assert "Nobody was asked" in str(absent.value)
    finally:
        killer.join()
        unruly.behave_well(place)
        start_site(network.folders["west"])
    assert network.session.wait_for(SITES, PATIENCE) == SITES
    paid = {site: spent(network, site) - before[site] for site in SITES}
    assert set(paid.values()) == {Fraction(1, 4)}
    outcome = network.session.run(question, timeout=PATIENCE)
    assert [report.receipt["charged"] for report in outcome.reports if report.receipt] == [0.0] * 3
    assert {site: spent(network, site) - before[site] for site in SITES} == paid
