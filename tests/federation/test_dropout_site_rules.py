"""Sums that survive dropouts keep to the other rules of a site: approvals, the allowance, and the log of requests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from confide.federation.protocol import ANSWER, OFFER, SHARES, UNMASK, VOTE, Message, RunError
from confide.federation.question import Question
from confide.federation.site.accounts import ACCOUNT, charged_in_period
from confide.federation.site.approvals import Approvals, Decision
from confide.federation.site.records import REGISTER, REQUESTS, SiteRecords
from confide.federation.site_state import SiteState
from confide.ledger.ledger import Ledger
from tests.federation.dropouts import SEVEN, Server, dying, reopened
from tests.federation.network import Network
from tests.federation.site_books import approvals_of

ALLOWANCE = '[allowance]\nperiod = "year"\nepsilon = "1/4"\n'
LATER = (SHARES, ANSWER, VOTE, UNMASK)


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network.build(tmp_path, SEVEN)


def ruled(network: Network, site: str, *, add: str = "", manual: bool = False) -> None:
    """Change a site's policy, and restart the site."""
    policy = network.sites[site].folder.policy
    text = policy.read_text() + add
    policy.write_text(text.replace('approval = "automatic"', 'approval = "manual"') if manual else text)
    network.sites[site] = reopened(network, site)  # type: ignore[index]


def asked(network: Network, mode: str = "private", **given: Any) -> Question:
    usual = {"epsilon": "1/4", "site_share": 0} if mode == "private" else {"grid": "uniform:200"}
    return network.question(mode, **{"colluders": 1, "fewest": 5, **usual, **given})


def approvals(network: Network) -> Approvals:
    return approvals_of(network.sites["north"].folder)


def decide(network: Network, decision: Decision, why: str | None = None) -> None:
    (held,) = approvals(network).all()
    approvals(network).decide(held.id, decision, by="anna", why=why)


def registered(network: Network, site: str) -> int:
    """Number of all entries in a site's register."""
    return len(SiteRecords(network.sites[site].folder).read(REGISTER))


def logged(network: Network, site: str) -> list[dict[str, Any]]:
    return list(SiteRecords(network.sites[site].folder).read(REQUESTS))


@pytest.mark.long
@pytest.mark.parametrize("mode", ["private", "secure-sum"])
def test_nothing_is_charged_shared_or_registered_before_the_approval(network: Network, mode: str) -> None:
    ruled(network, "north", manual=True)
    question = asked(network, mode)
    assert question.threshold
    for _ in range(2):
        with pytest.raises(RunError, match=r"Waiting for a person's approval: north.*Nothing was charged") as held:
            network.run(question)
        assert (held.value.exit_code, held.value.rounds) == (4, 1)
        assert [registered(network, name) for name in SEVEN] == [0] * 7
        assert mode != "private" or [network.spent(name) for name in SEVEN] == [0.0] * 7
        network.sites["north"] = reopened(network, "north")  # type: ignore[index]
    decide(network, Decision.APPROVED)
    outcome = network.run(question)
    assert outcome.question.sites == tuple(SEVEN)
    assert all(registered(network, name) for name in SEVEN)
    assert mode != "private" or [network.spent(name) for name in SEVEN] == [0.25] * 7
    assert network.run(question).total == outcome.total


def test_a_server_that_goes_on_gets_nothing_of_a_site_that_waits(network: Network) -> None:
    ruled(network, "north", manual=True)
    question = asked(network)
    server = Server(network, question, network.sites)
    first = server.ask("north", OFFER, question=question.to_dict())
    assert first["state"] == SiteState.HELD
    assert not {"offer", "sealing"} & set(first)
    others = tuple(name for name in SEVEN if name != "north")
    server.begin(others).answer_all()
    proofs = server.proofs(others)
    given: Mapping[str, Mapping[str, Any]] = {
        SHARES: {
            "offers": [server.first[name]["offer"] for name in others],
            "sealing": [server.first[name]["sealing"] for name in others],
        },
        ANSWER: {"boxes": {name: server.boxes[name]["south"] for name in others if name != "south"}},
        VOTE: {"left": list(others), "answered": proofs},
        UNMASK: {"left": list(others), "answered": proofs, "votes": server.votes(others)},
    }
    for topic in LATER:
        said = server.ask("north", topic, **given[topic])
        assert said["state"] == SiteState.FAILED
        assert not {"boxes", "masked", "vote", "shares"} & set(said)
    assert registered(network, "north") == 0
    assert not network.sites["north"].folder.database.exists() or network.spent("north") == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("topic", LATER)
def test_an_approval_that_is_taken_back_ends_every_later_step(network: Network, topic: str) -> None:
    ruled(network, "north", manual=True)
    question = asked(network)
    with pytest.raises(RunError, match="Waiting"):
        network.run(question)
    decide(network, Decision.APPROVED)
    north, said = network.sites["north"], list[Mapping[str, Any]]()

    def second_thoughts(step: str, request: Message) -> Message:
        if step == topic:
            decide(network, Decision.REFUSED, "second thoughts")
            said.append(north.reply(step, request))
            return said[-1]
        return north.reply(step, request)

    lost = {"east": dying(network.sites["east"], ANSWER, after=False)}
    network.run(question, replaced={**lost, "north": second_thoughts})
    (refusal,) = said
    assert refusal["state"] == SiteState.REFUSED
    assert "second thoughts" in refusal["message"]
    assert not {"boxes", "masked", "vote", "shares"} & set(refusal)
    if topic in (SHARES, ANSWER):
        assert (registered(network, "north"), network.spent("north")) == (0, 0.0)
    assert logged(network, "north")[-1]["state"] == SiteState.REFUSED


def test_an_answer_is_not_repeated_after_the_approval_was_taken_back(network: Network) -> None:
    ruled(network, "north", manual=True)
    question = asked(network)
    with pytest.raises(RunError, match="Waiting"):
        network.run(question)
    decide(network, Decision.APPROVED)
    server = Server(network, question, network.sites).begin().answer_all()
    request = {"boxes": {name: server.boxes[name]["north"] for name in SEVEN if name != "north"}}
    assert server.ask("north", ANSWER, **request)["state"] == SiteState.ANSWERED
    decide(network, Decision.REFUSED, "second thoughts")
    again = server.ask("north", ANSWER, **request)
    assert again["state"] == SiteState.REFUSED
    assert "masked" not in again


@pytest.mark.few(1)
@pytest.mark.parametrize("topic", [VOTE, UNMASK])
def test_a_list_that_names_a_site_twice_is_refused(network: Network, topic: str) -> None:
    """The log states how many sites a list has."""
    server = Server(network, asked(network), network.sites).begin().answer_all()
    left = list(SEVEN)
    request = {"left": [*left, left[0]], "answered": server.proofs(tuple(left)), "votes": []}
    assert server.ask("north", topic, **request)["state"] == SiteState.FAILED
    assert not any("sum over" in entry["message"] for entry in logged(network, "north"))


def test_an_answer_that_nobody_read_is_charged_once_and_counts_once(network: Network) -> None:
    ruled(network, "east", add=ALLOWANCE)
    question, folder = asked(network), network.sites["east"].folder
    lost = {name: dying(network.sites[name], ANSWER, after=True) for name in ("coast", "east", "west")}
    with pytest.raises(RunError, match="Nothing is released"):
        network.run(question, replaced=lost)

    def counted() -> tuple[float, Fraction]:
        with Ledger(folder.database) as ledger:
            return network.spent("east"), charged_in_period(ledger, ACCOUNT, "year", datetime.now(UTC)).added

    once = (0.25, Fraction(1, 4))
    assert counted() == once
    for name in SEVEN:
        network.sites[name] = reopened(network, name)  # type: ignore[index]
    outcome = network.run(question)
    assert outcome.question.sites == tuple(SEVEN)
    assert counted() == once
    with pytest.raises(RunError, match=r"allows epsilon 0.25 a year .* 0.25 is spent") as refused:
        network.run(asked(network, edition=2, fewest=7))
    assert (refused.value.exit_code, refused.value.rounds) == (3, 1)
    assert counted() == once


@pytest.mark.long
def test_a_site_that_paid_and_is_in_no_sum_pays_no_second_time(network: Network) -> None:
    """Its answer was lost, and the others settled without it."""
    ruled(network, "east", add=ALLOWANCE)
    question = asked(network)
    first = network.run(question, replaced={"east": dying(network.sites["east"], ANSWER, after=True)})
    network.sites["east"] = reopened(network, "east")  # type: ignore[index]
    again = network.run(question)
    assert again.total == first.total
    assert "east" not in again.question.sites
    assert {report.name: report.state for report in again.reports}["east"] == SiteState.LEFT_OUT
    assert [network.spent(name) for name in SEVEN] == [0.25] * 7
    with Ledger(network.sites["east"].folder.database) as ledger:
        assert charged_in_period(ledger, ACCOUNT, "year", datetime.now(UTC)).added == Fraction(1, 4)


def test_every_request_is_logged_with_its_round(network: Network) -> None:
    lost = {"east": dying(network.sites["east"], ANSWER, after=False)}
    network.run(asked(network), replaced=lost)
    for name in (name for name in SEVEN if name != "east"):
        entries = logged(network, name)
        assert sorted(entry["round"] for entry in entries) == [1, 2, 3, 4, 5]
        assert {(entry["study"], entry["mode"], entry["state"]) for entry in entries} == {
            ("trial", "private", "answered")
        }
    assert [entry["round"] for entry in logged(network, "east")] == [1, 2]


def test_requests_that_are_refused_or_come_twice_are_logged_too(network: Network) -> None:
    question = asked(network)
    server = Server(network, question, network.sites).begin().answer_all()
    before = len(logged(network, "north"))
    assert server.answer("north")["masked"] == server.answers["north"]["masked"]
    for number, topic in zip((2, 3, 4, 5), LATER, strict=True):
        given: dict[str, Any] = {"boxes": {}} if topic == ANSWER else {}
        assert server.ask("north", topic, **given)["state"] in (SiteState.FAILED, SiteState.REFUSED)
        assert logged(network, "north")[-1]["round"] == number
    assert len(logged(network, "north")) == before + 5
    assert network.spent("north") == 0.25
