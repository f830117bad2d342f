"""A session reads a run's result as from a stranger."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from confide.errors import FederationError
from confide.federation.coordinator.rounds import replay
from confide.federation.crypto.agreement import signed_reply
from confide.federation.flare.run_result import read_result, write_failure, write_outcome
from confide.federation.protocol import ANSWER, OFFER, SHARES, UNMASK, Message, Outcome, RunError, SiteReport
from confide.federation.question import Question
from confide.federation.site_state import SiteState
from tests.federation.dropouts import SEVEN, STEPS, dying
from tests.federation.network import Network

SESSION = "0" * 32
MODES = ("secure-sum", "private", "disclosure-control")
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Network:
    return Network.build(tmp_path_factory.mktemp("result"), {"a": 60, "b": 70, "c": 80})


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Network]:
    """One for each mode: a site answers without noise in one mode only."""
    return {mode: Network.build(tmp_path_factory.mktemp(mode), {"a": 60, "b": 70, "c": 80}) for mode in MODES}


@pytest.fixture(scope="module")
def outcomes(networks: dict[str, Network]) -> dict[str, Outcome]:
    return {mode: network.run(asked(network, mode)) for mode, network in networks.items()}


def asked(network: Network, mode: str) -> Question:
    return network.question(mode, **({"epsilon": "1"} if mode == "private" else {}))


def read(network: Network, text: object, question: Question, *heard: SiteReport, session: str = SESSION) -> Outcome:
    return read_result(text, question, heard, session=session, root=network.authority.root)


def reread(networks: dict[str, Network], outcome: Outcome, change: Change = lambda plain: None) -> Outcome:
    """Read a result again, as a server may have changed it."""
    plain = json.loads(write_outcome(outcome))
    change(plain)
    mode = outcome.question.mode
    question = asked(networks[mode], mode)
    return read(networks[mode], json.dumps(plain), question, session=outcome.transcript["session"])


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", MODES)
def test_an_honest_result_is_read_as_it_was_written(
    networks: dict[str, Network], outcomes: dict[str, Outcome], mode: str
) -> None:
    assert json.dumps(reread(networks, outcomes[mode]).to_dict()) == json.dumps(outcomes[mode].to_dict())


def invent_a_table(plain: dict[str, Any]) -> None:
    """Answer with the table of another site."""
    replies = plain["transcript"]["rounds"][1]["replies"]
    replies["a"]["table"] = replies["b"]["table"]


def invent_a_sum(plain: dict[str, Any]) -> None:
    """Add one to the first masked count of a site: masks still cancel."""
    masked = plain["transcript"]["rounds"][1]["replies"]["a"]["masked"]
    payload = bytearray(base64.b64decode(masked["payload"]))
    payload[0] ^= 1
    masked["payload"] = base64.b64encode(payload).decode()


def invent_a_receipt(plain: dict[str, Any]) -> None:
    plain["transcript"]["rounds"][1]["replies"]["a"]["receipt"]["charged"]["epsilon"] = 0.0


def invent_noisy_counts(plain: dict[str, Any]) -> None:
    replies = plain["transcript"]["rounds"][1]["replies"]
    replies["a"]["own"] = replies["b"]["own"]


@pytest.mark.parametrize(
    ("mode", "invent"),
    [
        ("disclosure-control", invent_a_table),
        ("secure-sum", invent_a_sum),
        ("private", invent_a_sum),
        ("private", invent_a_receipt),
        ("private", invent_noisy_counts),
    ],
)
def test_a_server_cannot_invent_a_result(
    networks: dict[str, Network], outcomes: dict[str, Outcome], mode: str, invent: Change
) -> None:
    with pytest.raises(RunError, match="of site 'a' is not signed by its own key"):
        reread(networks, outcomes[mode], invent)


def test_a_server_cannot_sign_for_a_site_that_it_invented(
    outcomes: dict[str, Outcome], networks: dict[str, Network]
) -> None:
    """The root of another federation signed for sites of the same names, which answered the same question."""
    outcome = outcomes["disclosure-control"]
    question = asked(networks["disclosure-control"], "disclosure-control")
    with pytest.raises(RunError, match="was not issued by this federation's root"):
        read(networks["private"], write_outcome(outcome), question, session=outcome.transcript["session"])


def test_a_result_is_signed_with_the_keys_that_the_coordinator_knows(
    networks: dict[str, Network], outcomes: dict[str, Outcome]
) -> None:
    outcome, network = outcomes["disclosure-control"], networks["disclosure-control"]
    known = {name: site.identity.fingerprint() for name, site in network.sites.items()}
    terms = {"session": outcome.transcript["session"], "root": network.authority.root}
    question = asked(network, "disclosure-control")
    assert read_result(write_outcome(outcome), question, **terms, pinned=known).sites == outcome.sites
    with pytest.raises(RunError, match="does not have the fingerprint pinned here"):
        read_result(write_outcome(outcome), question, **terms, pinned={**known, "a": known["b"]})


def test_a_result_of_an_earlier_run_is_not_believed(networks: dict[str, Network], outcomes: dict[str, Outcome]) -> None:
    network = networks["private"]
    text = write_outcome(outcomes["private"])
    with pytest.raises(FederationError, match="of another run"):
        read(network, text, asked(network, "private"), session="5" * 32)
    again = json.loads(text)
    again["transcript"]["session"] = "5" * 32
    with pytest.raises(RunError, match="is not for this run"):
        read(network, json.dumps(again), asked(network, "private"), session="5" * 32)


def test_an_outcome_for_another_question_is_not_believed(
    networks: dict[str, Network], outcomes: dict[str, Outcome]
) -> None:
    outcome, network = outcomes["secure-sum"], networks["secure-sum"]
    other = network.question("secure-sum", grid="uniform:50")
    with pytest.raises(RunError, match="is not for this run"):
        read(network, write_outcome(outcome), other, session=outcome.transcript["session"])


def test_an_outcome_of_fewer_sites_than_were_signed_for_is_not_believed(
    networks: dict[str, Network], outcomes: dict[str, Outcome]
) -> None:
    def leave_out(plain: dict[str, Any]) -> None:
        for one in plain["transcript"]["rounds"]:
            del one["replies"]["c"]

    with pytest.raises(RunError, match="did not take part"):
        reread(networks, outcomes["disclosure-control"], leave_out)


CHANGES: tuple[Change, ...] = (
    lambda plain: plain.clear(),
    lambda plain: plain.update(transcript=None),
    lambda plain: plain["transcript"].pop("session"),
    lambda plain: plain["transcript"].update(rounds={}),
    lambda plain: plain["transcript"]["rounds"].pop(),
    lambda plain: plain["transcript"]["rounds"].reverse(),
    lambda plain: plain["transcript"]["rounds"][0].pop("replies"),
    lambda plain: plain["transcript"]["rounds"][0].update(replies=[]),
    lambda plain: plain["transcript"]["rounds"][0]["replies"].update(a=None),
    lambda plain: plain["transcript"]["rounds"][1]["replies"].update(a={"silence": "\x1b[2J"}),
    lambda plain: plain["transcript"]["rounds"][1]["replies"]["a"].pop("signature"),
    lambda plain: plain["transcript"]["rounds"][1]["replies"]["a"].update(signature=[]),
    lambda plain: plain["transcript"]["rounds"][1]["replies"]["a"].update(state="\x1b[2J"),
    lambda plain: plain.update(seconds="nan"),
    lambda plain: plain.update(seconds=float("nan")),
    lambda plain: plain.pop("seconds"),
)


@pytest.mark.parametrize("change", CHANGES)
def test_malformed_outcomes_are_refused(
    networks: dict[str, Network], outcomes: dict[str, Outcome], change: Change
) -> None:
    with pytest.raises(FederationError) as refused:
        reread(networks, outcomes["secure-sum"], change)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    "failure",
    [
        {},
        [],
        "text",
        {"message": "x", "reports": [{"nme": 1}], "rounds": 2},
        {"message": "x", "reports": 7, "rounds": 2},
        {"message": "x", "reports": [], "rounds": "two"},
    ],
)
def test_malformed_failures_are_refused(network: Network, failure: object) -> None:
    with pytest.raises(FederationError, match="cannot be read") as refused:
        read(network, json.dumps({"failure": failure}), asked(network, "secure-sum"))
    assert not isinstance(refused.value, RunError)


@pytest.mark.parametrize("text", [None, 7, "", "no JSON", "[1]", "[" * 100_000])
def test_what_is_no_result_is_refused(network: Network, text: object) -> None:
    with pytest.raises(FederationError, match="cannot be read"):
        read(network, text, asked(network, "secure-sum"))


def test_words_of_a_failure_are_printable(network: Network) -> None:
    report = SiteReport(name="a", state=SiteState.FAILED, message="\x1b]0;owned\x07 no", receipt={"charged": "\x1b[2J"})
    text = write_failure(RunError("\x1b[2J ask\nagain", (report,), rounds=1))
    with pytest.raises(RunError) as ended:
        read(network, text, asked(network, "secure-sum"))
    assert str(ended.value) == "·[2J ask again"
    assert ended.value.reports == (SiteReport(name="a", state=SiteState.FAILED, message="·]0;owned· no"),)
    assert ended.value.rounds == 1


def test_a_failure_without_reports_has_those_that_were_heard(network: Network) -> None:
    heard = (SiteReport(name="a", state=SiteState.ANSWERED),)
    with pytest.raises(RunError) as ended:
        read(network, write_failure(FederationError("no")), asked(network, "secure-sum"), *heard)
    assert ended.value.reports == heard


@pytest.mark.few(1)
@pytest.mark.parametrize(("rho", "kept"), [(0.004, True), ("\x1b[2J", False), (float("inf"), False)])
def test_rho_of_a_receipt_is_read_where_it_is_a_number(tmp_path: Path, rho: object, kept: bool) -> None:
    """A site may sign anything."""
    network = Network.build(tmp_path, {"a": 60, "b": 70, "c": 80})
    charged, honest = {"epsilon": 1.4, "delta": 9e-7, "rho": rho}, network.sites["a"]

    def odd(topic: str, request: Message) -> Message:
        reply = dict(honest.reply(topic, request))
        if "receipt" in reply:
            del reply["signature"]
            reply["receipt"] |= {"charged": charged}
            terms = {"session": request["session"], "question": asked(network, "private").digest()}
            reply = signed_reply(honest.identity, reply, topic=topic, request=request, **terms)
        return reply

    outcome = network.run(asked(network, "private"), replaced={"a": odd})
    receipt = reread({"private": network}, outcome).reports[0].receipt
    assert (None if receipt is None else receipt["charged"]) == (charged if kept else None)


def test_a_server_that_shows_a_site_other_replies_than_there_were_invents_no_result(tmp_path: Path) -> None:
    """The request of a round is worked out from earlier replies; a site signs to which request it replied."""
    network = Network.build(tmp_path, {"a": 60, "b": 70, "c": 80}, 'modes = ["noisy-scores"]\n')
    question = network.question("noisy-scores", epsilon=5, delta="0.01", sensitivity="0.1")
    honest = network.sites["a"]

    def lied_to(topic: str, request: Message) -> Message:
        if topic == ANSWER:
            request = json.loads(json.dumps(request))
            request["pooled"]["negatives"] = request["pooled"]["positives"]
        return honest.reply(topic, request)

    with pytest.raises(RunError, match="the reply of site 'a' is not signed by its own key"):
        network.run(question, replaced={"a": lied_to})


@pytest.fixture(scope="module")
def dropped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Network, Question, list[Outcome]]:
    """Two runs of one question about a sum over seven sites, of which two drop out before their answers."""
    network = Network.build(tmp_path_factory.mktemp("dropped"), SEVEN)
    question = network.question("private", epsilon="1", fewest=5, colluders=1)

    def run() -> Outcome:
        gone = {name: dying(network.sites[name], ANSWER, after=False) for name in ("coast", "west")}
        return network.run(question, replaced=gone)

    return network, question, [run(), run()]


Reorder = Callable[[list[dict[str, Any]]], object]


def swap(first: int, second: int) -> Reorder:
    def change(rounds: list[dict[str, Any]]) -> None:
        rounds[first], rounds[second] = rounds[second], rounds[first]

    return change


def relabel(first: int, second: int) -> Reorder:
    """Give the replies of a round as those of another."""

    def change(rounds: list[dict[str, Any]]) -> None:
        rounds[first]["replies"] = rounds[second]["replies"]

    return change


def repeat(number: int) -> Reorder:
    return lambda rounds: rounds.insert(number, rounds[number])


def exchange(number: int) -> Reorder:
    """Give a site's reply as another's."""

    def change(rounds: list[dict[str, Any]]) -> None:
        replies = rounds[number]["replies"]
        replies["east"] = {**replies["hills"], "site": "east"}

    return change


def silence(number: int) -> Reorder:
    """Say that a site dropped out, which did not."""
    return lambda rounds: rounds[number]["replies"].update(east={"silence": "it is gone"})


OTHERWISE = {
    **{f"swap {first} and {second}": swap(first, second) for first in range(5) for second in range(first)},
    **{f"{second} as {first}": relabel(first, second) for first in range(5) for second in range(5) if first != second},
    **{f"repeat {number}": repeat(number) for number in range(5)},
    **{f"exchange in {number}": exchange(number) for number in range(3)},
    **{f"silence in {number}": silence(number) for number in range(1, 3)},
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", OTHERWISE)
def test_a_transcript_with_dropouts_is_refused_in_another_order(
    dropped: tuple[Network, Question, list[Outcome]], name: str
) -> None:
    network, question, (outcome, _) = dropped
    transcript = json.loads(json.dumps(outcome.transcript))
    assert [one["topic"] for one in transcript["rounds"]] == list(STEPS)
    terms: dict[str, Any] = {"root": network.authority.root, "session": outcome.transcript["session"]}
    assert replay(question, json.loads(json.dumps(transcript)), **terms).total == outcome.total
    OTHERWISE[name](transcript["rounds"])
    with pytest.raises(FederationError):
        replay(question, transcript, **terms)


@pytest.mark.parametrize("topic", [OFFER, SHARES, ANSWER, UNMASK])
def test_a_round_of_an_earlier_run_is_refused(dropped: tuple[Network, Question, list[Outcome]], topic: str) -> None:
    network, question, (earlier, later) = dropped
    transcript = json.loads(json.dumps(later.transcript))
    replayed = [one for one in json.loads(json.dumps(earlier.transcript))["rounds"] if one["topic"] == topic]
    transcript["rounds"] = [replayed[0] if one["topic"] == topic else one for one in transcript["rounds"]]
    with pytest.raises(FederationError):
        replay(question, transcript, root=network.authority.root, session=later.transcript["session"])
