"""A server that lists other sites than the coordinator signed for, over real processes."""

from __future__ import annotations

import pytest

from confide.federation.protocol import RunError
from confide.federation.question import Question
from confide.federation.site.register import Register
from confide.federation.site_state import SiteState
from tests.federation.flare import unruly
from tests.federation.flare.conftest import Network
from tests.waiting import PATIENCE

pytestmark = pytest.mark.long


def test_sites_send_nothing_to_a_server_that_leaves_one_of_them_out(network: Network) -> None:
    sites = ("east", "west")
    question = Question.checked(study="first", model="kept", mode="disclosure-control", sites=sites)
    unruly.leave_out(network.federation.server_kit, "west")
    try:
        with pytest.raises(RunError) as ended:
            network.session.run(question, timeout=PATIENCE)
    finally:
        unruly.behave_well(network.federation.server_kit)
    reports = {report.name: report for report in ended.value.reports}
    assert reports["east"].state == SiteState.REFUSED
    assert "1 sites were listed, and the coordinator signed that 2 must take part" in reports["east"].message
    for site in sites:
        assert not Register(network.folders[site].path).answered_exactly("kept")
    assert set(network.session.run(question, timeout=PATIENCE).sites) == set(sites)
