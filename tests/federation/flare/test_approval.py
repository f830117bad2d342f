"""A person's approval with real processes: a run ends while a site waits, and the next one goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from confide.federation.protocol import RunError
from confide.federation.question import Question
from confide.federation.site_state import ProgressState, SiteState
from confide.tasks.site_status import approve_question, pending_questions, verify_site
from tests.federation.flare.conftest import SITES, Network
from tests.waiting import PATIENCE

pytestmark = pytest.mark.long


@pytest.fixture
def manual(network: Network) -> Iterator[Network]:
    policy = network.folders["north"].policy
    before = policy.read_text()
    policy.write_text(before.replace('approval = "automatic"', 'approval = "manual"'))
    yield network
    policy.write_text(before)


def test_a_run_ends_while_a_person_decides_and_goes_on_when_it_is_asked_again(manual: Network) -> None:
    question = Question.checked(
        study="first", model="approved", mode="secure-sum", sites=SITES, purpose="a test of approvals"
    )
    shown: list[tuple[str, ProgressState]] = []
    with pytest.raises(RunError, match="Waiting for a person's approval: north") as held:
        manual.session.run(question, timeout=PATIENCE, progress=lambda site, state: shown.append((site, state)))
    assert held.value.exit_code == 4
    assert ("north", ProgressState.HELD) in shown
    folder = manual.folders["north"].path
    (waiting,) = pending_questions(folder).questions
    assert waiting.question == question
    assert waiting.coordinator == manual.federation.coordinator
    approve_question(folder, waiting.id)
    outcome = manual.session.run(question, timeout=PATIENCE)
    assert {report.state for report in outcome.reports} == {SiteState.ANSWERED}
    assert verify_site(folder).whole
