"""Sites that are down or killed: the run says which site it was, releases nothing, and is free when asked again."""

from __future__ import annotations

import threading
from contextlib import suppress
from fractions import Fraction

import psutil
import pytest

from confide.federation.coordinator.validation import derive
from confide.federation.flare.processes import start_site
from confide.federation.protocol import ANSWER, RunError
from confide.federation.question import Question
from confide.federation.site_state import SiteState
from confide.ledger.ledger import Ledger
from tests.federation.flare import unruly
from tests.federation.flare.conftest import SITES, Network
from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.long


def spent(network: Network, site: str) -> Fraction:
    """What was charged to a site's ledger so far."""
    with Ledger(network.folders[site].database) as ledger:
        return sum((account.spent.epsilon for account in ledger.accounts()), start=Fraction(0))


def test_private_answers_cost_nothing_more_after_a_site_was_killed_in_the_second_round(network: Network) -> None:
    question = Question.checked(study="noise", model="noised", mode="private", sites=SITES, epsilon="0.5")
    before = {site: spent(network, site) for site in SITES}
    place = network.folders["west"].path
    unruly.behave(place, ANSWER, unruly.STUCK)
    killer = threading.Thread(target=kill_when_stuck, args=(network, "west"))
    killer.start()
    try:
        with pytest.raises(RunError) as ended:
            network.session.run(question, timeout=PATIENCE)
        states = {report.name: report.state for report in ended.value.reports}
        assert states == {"east": SiteState.ANSWERED, "north": SiteState.ANSWERED, "west": SiteState.SILENT}
        assert "west: silent (it left in the middle of the run)" in str(ended.value)
        assert "Nothing is released" in str(ended.value)
        assert "costs nothing more" in str(ended.value)
        with pytest.raises(RunError, match=r"west: silent \(it is not connected; start it with") as absent:
            network.session.run(question, timeout=PATIENCE)
        assert "Nobody was asked" in str(absent.value)
    finally:
        killer.join()
        unruly.behave_well(place)
        start_site(network.folders["west"])
    assert network.session.wait_for(SITES, PATIENCE) == SITES
    assert [spent(network, site) - before[site] for site in SITES] == [Fraction(1, 2)] * 3
    outcome = network.session.run(question, timeout=PATIENCE)
    assert [spent(network, site) - before[site] for site in SITES] == [Fraction(1, 2)] * 3
    assert [report.receipt["charged"]["epsilon"] for report in outcome.reports if report.receipt] == [0.0] * 3
    assert [site.result is not None for site in derive(outcome).sites] == [True] * 3


def kill_when_stuck(network: Network, site: str) -> None:
    """Kill a site, with the processes of its runs, when it hangs in the middle of one."""
    wait_until((network.folders[site].path / unruly.REACHED).exists)
    parent = psutil.Process(network.running(site).pid)
    killed = [parent, *parent.children(recursive=True)]
    for process in killed:
        with suppress(psutil.NoSuchProcess):  # children end by themselves when their parent is gone
            process.kill()
    psutil.wait_procs(killed, timeout=PATIENCE)
