"""A run that ends early says everything that keeps it, and only steps that the question allows."""

from __future__ import annotations

from pathlib import Path

import pytest

from confide.errors import ParameterError, UsageError
from confide.federation.coordinator.run_state import after_absence
from confide.federation.protocol import RunError, SiteReport
from confide.federation.site.approvals import Decision
from confide.federation.site_state import SiteState
from tests.federation.network import Network
from tests.federation.site_books import approvals_of

THREE = {"north": 60, "south": 70, "west": 80}
FOUR = {**THREE, "east": 60}
ASK = {"mode": "private", "epsilon": "1/2", "site_share": 0}


def changed(network: Network, **rules: tuple[str, str]) -> Network:
    """The same sites, after a line of the policy of some was replaced."""
    for name, (before, after) in rules.items():
        policy = network.sites[name].folder.policy
        assert before in policy.read_text()
        policy.write_text(policy.read_text().replace(before, after))
    return network.reopened()


LESS = "; or leave them out (`sites`) or allow fewer sites (`fewest`)"
MANUAL = ('approval = "automatic"', 'approval = "manual"')


def test_one_message_names_those_who_wait_and_those_who_cannot_pay(tmp_path: Path) -> None:
    network = Network.build(tmp_path, THREE)
    network.run(network.question("private", epsilon="3/4", site_share=0))
    more = ("epsilon_per_study = 1", "epsilon_per_study = 2")
    network = changed(changed(network, north=MANUAL), north=more, west=more)
    with pytest.raises(RunError) as ended:
        network.run(network.question(**ASK))  # type: ignore[arg-type]
    for words in (str(ended.value), ended.value.summary):
        assert "Waiting for a person's approval: north" in words
        assert "Cannot pay: south" in words
        assert "Nothing was charged or released. Approval alone is not enough" in words
        assert "ask for less `epsilon`, or let south raise" in words
        assert "leave out" not in words  # two sites make no sum
    assert ended.value.exit_code == 3
    assert all(network.spent(name) == 0.75 for name in THREE)


def test_a_site_that_is_not_needed_does_not_keep_the_run(tmp_path: Path) -> None:
    network = changed(Network.build(tmp_path, FOUR), north=MANUAL, south=('studies = ["trial"]', 'studies = ["other"]'))
    with pytest.raises(RunError, match=r"goes on without south$"):
        network.run(network.question(**ASK, fewest=3, colluders=1))  # type: ignore[arg-type]
    with pytest.raises(
        RunError, match=r"First fix what south reports; or leave out south \(`sites`\)\. Then ask again"
    ):
        network.run(network.question(**ASK))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mode", "sizes", "said"),
    [
        ("secure-sum", THREE, "Fix what they report, and ask again"),
        ("secure-sum", FOUR, f"Fix what they report, and ask again{LESS}"),
        ("disclosure-control", THREE, f"Fix what they report, and ask again{LESS}"),
    ],
)
def test_only_possible_steps_are_advised(tmp_path: Path, mode: str, sizes: dict[str, int], said: str) -> None:
    question = Network.build(tmp_path, sizes).question(mode)
    away = [SiteReport(name="north", state=SiteState.SILENT)]
    assert after_absence(question, away) == said


def test_with_three_sites_a_sum_needs_all_of_them(tmp_path: Path) -> None:
    network = Network.build(tmp_path, THREE)
    with pytest.raises(
        ParameterError, match=r"^mode secure-sum needs all 3 of these sites; got 2 for `fewest`\. Leave"
    ):
        network.question("secure-sum", fewest=2)
    silent = network.sites["south"]

    def away(topic: str, request: object) -> dict[str, object]:
        return {**silent.reply(topic, request), "site": "nobody"}  # type: ignore[arg-type]

    with pytest.raises(
        RunError, match=r"1 of 3 sites did not take part, and all are needed.*Fix what they report, and ask again$"
    ):
        network.run(network.question("secure-sum"), replaced={"south": away})


def test_a_person_gives_enough_of_a_number(tmp_path: Path) -> None:
    """Eight digits of two thousand numbers are the same by chance once in two thousand sites, three nearly always."""
    network = changed(Network.build(tmp_path, THREE), north=MANUAL)
    approvals = approvals_of(network.sites["north"].folder)
    with pytest.raises(RunError):
        network.run(network.question(**ASK))  # type: ignore[arg-type]
    (held,) = approvals.waiting()
    for short in ("", held.id[:3], held.id[:7]):
        with pytest.raises(UsageError, match=r"too short; give all digits .* at least the first 8"):
            approvals.decide(short, Decision.APPROVED, by="anna")
    with pytest.raises(UsageError, match="no question has the number"):
        approvals.decide("0" * 12, Decision.APPROVED, by="anna")
    assert approvals.waiting() == (held,)
    assert approvals.decide(held.id[:8].upper(), Decision.APPROVED, by="anna").decision is Decision.APPROVED


def test_a_beginning_that_two_numbers_share_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = changed(Network.build(tmp_path, THREE), north=MANUAL)
    approvals = approvals_of(network.sites["north"].folder)
    ids = {1: "abcdef012345" + "0" * 52, 2: "abcdef01ffff" + "0" * 52}
    monkeypatch.setattr("confide.federation.site.approvals.question_id", lambda question, _: ids[question.edition])
    for edition in (1, 2):
        with pytest.raises(RunError):
            network.run(network.question(**ASK, edition=edition))  # type: ignore[arg-type]
    with pytest.raises(
        UsageError, match=r"2 questions have numbers .* give more digits, as in abcdef012345, abcdef01ffff"
    ):
        approvals.decide("abcdef01", Decision.APPROVED, by="anna")
    assert len(approvals.waiting()) == 2
    assert approvals.decide("abcdef012", Decision.APPROVED, by="anna").id == ids[1]
