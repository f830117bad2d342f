"""A person says yes before a site reads, charges or sends anything."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from confide.errors import FederationError, RefusedError, UsageError
from confide.federation.policy import default_policy
from confide.federation.protocol import OFFER, RunError
from confide.federation.question import Question
from confide.federation.site import approvals as module
from confide.federation.site.approvals import Approvals, Decision, HeldError, HeldQuestion, question_id
from confide.federation.site.logs import HEADS, KEY, LogAnchors, SealedLog
from confide.federation.site_state import SiteState
from confide.report.validation.sites import decision_line
from tests.federation.network import MODES, Network

SIZES = {"north": 60, "south": 70, "west": 80}
COORDINATOR = "coordinator@confide.local"


@pytest.fixture
def network(tmp_path: Path) -> Network:
    made = Network.build(tmp_path, SIZES)
    text = default_policy(studies=("trial",), modes=MODES).replace('approval = "automatic"', 'approval = "manual"')
    made.sites["north"].folder.policy.write_text(text)
    return made.reopened()


def approvals(network: Network) -> Approvals:
    return Approvals(network.sites["north"].folder)


@pytest.mark.parametrize("mode", ["disclosure-control", "secure-sum", "private"])
def test_a_question_waits_until_a_person_approves(network: Network, mode: str) -> None:
    question = network.question(mode, **({"epsilon": 1} if mode == "private" else {}))
    for _ in range(2):
        with pytest.raises(RunError, match=r"Waiting for a person's approval: north.*Nothing was charged") as held:
            network.run(question)
        assert held.value.exit_code == 4
        assert held.value.rounds == 1
        assert {report.name: report.state for report in held.value.reports} == {
            "north": SiteState.HELD,
            "south": SiteState.ANSWERED,
            "west": SiteState.ANSWERED,
        }
        network = network.reopened()
    assert all(network.spent(name) == 0 for name in SIZES)
    (waiting,) = approvals(network).waiting()
    assert waiting.question == question
    approvals(network).decide(waiting.id[:8], Decision.APPROVED, by="anna")
    outcome = network.reopened().run(question)
    assert all(report.state is SiteState.ANSWERED for report in outcome.reports)
    assert approvals(network).waiting() == ()


def test_an_approval_is_for_one_question_of_one_coordinator_and_purpose(network: Network) -> None:
    asked = network.question("private", epsilon="1/2")
    other = [
        network.question("private", epsilon="1/4"),
        network.question("private", epsilon="1/2", edition=2),
        network.question("private", epsilon="1/2", purpose="another one"),
        network.question("private", epsilon="1/2", sites=("north", "south", "west"), fewest=3, colluders=2),
    ]
    with pytest.raises(RunError):
        network.run(asked)
    approvals(network).decide(question_id(asked, "coordinator@confide.local"), Decision.APPROVED, by="anna")
    network.run(asked)
    for question in other:
        with pytest.raises(RunError, match="Waiting"):
            network.run(question)
    stranger = replace(network.sites["north"], coordinator="coordinator@elsewhere")
    with pytest.raises(RunError, match="Waiting"):
        network.run(asked, replaced={"north": stranger.reply})


def test_a_refusal_tells_why_and_an_approval_can_be_taken_back(network: Network) -> None:
    question = network.question("disclosure-control")
    with pytest.raises(RunError):
        network.run(question)
    (held,) = approvals(network).waiting()
    approvals(network).decide(held.id, Decision.REFUSED, by="anna", why="the board has not decided")
    with pytest.raises(RunError, match="refused this question: the board has not decided") as refused:
        network.run(question)
    assert refused.value.exit_code == 1
    approvals(network).decide(held.id, Decision.APPROVED, by="anna")
    north = network.sites["north"]

    def change_of_mind(topic: str, request: object) -> dict[str, object]:
        if topic != OFFER:
            approvals(network).decide(held.id, Decision.REFUSED, by="anna", why="second thoughts")
        return north.reply(topic, request)  # type: ignore[arg-type]

    with pytest.raises(RunError, match="second thoughts"):
        network.run(question, replaced={"north": change_of_mind})
    with pytest.raises(UsageError, match="confide site pending"):
        approvals(network).decide("", Decision.APPROVED, by="anna")


def test_few_enough_sites_do_not_go_on_without_one_that_waits(network: Network) -> None:
    """A list of sites is fixed by the first answer; the site that waits could never take part after that."""
    with pytest.raises(RunError, match="Waiting"):
        network.run(network.question("disclosure-control", fewest=2))
    assert network.run(network.question("disclosure-control", sites=("south", "west"))).sites.keys() == {
        "south",
        "west",
    }


def test_a_held_question_shows_nothing_of_the_data(network: Network) -> None:
    """The rows are not even read: replies, the log and what a person sees are the same without any."""
    question = network.question("private", epsilon=1)
    north = network.sites["north"]
    request = {"protocol": question.protocol, "session": "s" * 32, "question": question.to_dict()}
    first = north.reply(OFFER, request)
    (north.folder.path / "rows.csv").unlink()
    assert north.reply(OFFER, request) == first
    assert first["state"] == SiteState.HELD
    rows = np.random.default_rng(0).random(3)
    (north.folder.path / "rows.csv").write_text("outcome,risk\n" + "".join(f"1,{risk}\n" for risk in rows))
    assert north.reply(OFFER, request) == first


def test_a_changed_log_of_approvals_answers_nothing(network: Network) -> None:
    question = network.question("disclosure-control")
    with pytest.raises(RunError):
        network.run(question)
    path = network.sites["north"].folder.approvals
    (line,) = path.read_text().splitlines()
    forged = {**json.loads(line), "kind": "approved", "by": "nobody", "why": None, "n": 2}
    path.write_text(f"{line}\n{json.dumps(forged)}\n")
    with pytest.raises(RunError, match="north: failed") as failed:
        network.run(question)
    assert str(network.sites["north"].folder.path) not in str(failed.value)
    assert approvals(network).check().problem is not None


def hold(network: Network, question: Question) -> HeldQuestion:
    """Ask a question, and return it as it waits."""
    with pytest.raises(HeldError):
        approvals(network).require(question, COORDINATOR)
    return next(one for one in approvals(network).all() if one.question == question)


def same_first_digits(content: bytes) -> SimpleNamespace:
    """A hash that a coordinator has found collisions of, in the digits that people see."""
    found = hashlib.sha256(content).hexdigest()
    return SimpleNamespace(hexdigest=lambda: "0" * 12 + found[12:])


def test_an_approval_answers_no_other_question_with_the_same_first_digits(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "sha256", same_first_digits)
    harmless = network.question("private", epsilon="1/100", site_share=0, purpose="yearly audit 8251")
    harmful = network.question("secure-sum", purpose="exact table 4127")
    held = hold(network, harmless)
    assert held.number == "0" * 12
    approvals(network).decide(held.number, Decision.APPROVED, by="anna")
    approvals(network).require(harmless, COORDINATOR)
    with pytest.raises(HeldError, match=r"number 0{12}[0-9a-f]+\)"):
        approvals(network).require(harmful, COORDINATOR)
    with pytest.raises(RunError, match="Waiting"):
        network.run(harmful)
    with pytest.raises(UsageError, match="give more digits") as ambiguous:
        approvals(network).decide("0" * 12, Decision.APPROVED, by="anna")
    numbers = [one.number for one in approvals(network).all()]
    assert len(set(numbers)) == 2
    assert all(number in str(ambiguous.value) for number in numbers)
    (waiting,) = approvals(network).waiting()
    assert waiting.question == harmful
    assert waiting.number in decision_line(waiting)
    approvals(network).decide(waiting.number, Decision.REFUSED, by="anna", why="no")
    approvals(network).require(harmless, COORDINATOR)
    with pytest.raises(RefusedError, match="refused this question: no"):
        approvals(network).require(harmful, COORDINATOR)


@pytest.mark.parametrize("other", ["question", "purpose", "coordinator"])
def test_an_approval_answers_no_other_question_with_the_same_hash(
    network: Network, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """Even a broken hash lets no other question through: the stored one is compared."""
    monkeypatch.setattr(module, "question_id", lambda question, coordinator: "1" * 64)
    question = network.question("private", epsilon="1/2", purpose="audit")
    approvals(network).decide(hold(network, question).id, Decision.APPROVED, by="anna")
    approvals(network).require(question, COORDINATOR)
    asked, by = question, COORDINATOR
    if other == "question":
        asked = network.question("secure-sum", purpose="audit")
    elif other == "purpose":
        asked = replace(question, purpose="something else")
    else:
        by = "coordinator@elsewhere"
    with pytest.raises(RefusedError, match="another question with the same number"):
        approvals(network).require(asked, by)


def test_a_person_types_enough_digits_of_one_number(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    held = [hold(network, network.question("private", epsilon="1/2", edition=number)) for number in range(1, 18)]
    assert all(len(one.id) == 64 and one.number == one.id[:12] for one in held)
    first = held[0]
    for short in ("", first.id[:1], first.id[:7]):
        with pytest.raises(UsageError, match="too short"):
            approvals(network).decide(short, Decision.APPROVED, by="anna")
    with pytest.raises(UsageError, match="no question has the number"):
        approvals(network).decide(first.id[:8] + "x", Decision.APPROVED, by="anna")
    for digits in (8, 12, 64):
        assert approvals(network).decide(first.id[:digits].upper(), Decision.APPROVED, by="anna").id == first.id
    monkeypatch.setattr(module, "FEWEST_DIGITS", 1)
    monkeypatch.setattr(module, "SHOWN_DIGITS", 1)
    beginnings = [one.id[0] for one in held]
    several = next(digit for digit in beginnings if beginnings.count(digit) > 1)  # 17 numbers, 16 digits
    with pytest.raises(UsageError, match="give more digits") as ambiguous:
        approvals(network).decide(several, Decision.APPROVED, by="anna")
    numbers = [one.number for one in approvals(network).all() if one.id.startswith(several)]
    assert all(number in str(ambiguous.value) for number in numbers)
    for number in numbers:
        assert approvals(network).decide(number, Decision.APPROVED, by="anna").number == number


def test_an_approval_of_an_earlier_version_answers_nothing(network: Network) -> None:
    """Numbers of 12 digits identified questions once."""
    question = network.question("secure-sum", purpose="audit")
    name = question_id(question, COORDINATOR)[:12]
    log = SealedLog(network.sites["north"].folder.approvals, strict=True)
    asked = {"kind": "asked", "id": name, "coordinator": COORDINATOR, "question": question.to_dict()}
    log.append({"at": "2026-01-01", **asked})
    log.append({"at": "2026-01-01", "kind": "approved", "id": name, "by": "anna", "why": None})
    assert approvals(network).all() == ()
    with pytest.raises(HeldError):
        approvals(network).require(question, COORDINATOR)


def test_a_question_that_two_processes_enter_keeps_its_decision(network: Network) -> None:
    question = network.question("secure-sum")
    held = hold(network, question)
    approvals(network).decide(held.id, Decision.APPROVED, by="anna")
    log = SealedLog(network.sites["north"].folder.approvals, strict=True)
    log.append(log.read()[0])
    approvals(network).require(question, COORDINATOR)


def test_only_so_many_questions_wait(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 2)
    questions = [network.question("private", epsilon="1/2", edition=number) for number in (1, 2, 3)]
    held = [hold(network, question) for question in questions[:2]]
    entries = approvals(network).check().entries
    with pytest.raises(RefusedError, match="too many questions wait"):
        approvals(network).require(questions[2], COORDINATOR)
    assert approvals(network).check().entries == entries
    with pytest.raises(HeldError):
        approvals(network).require(questions[0], COORDINATOR)
    approvals(network).decide(held[0].id, Decision.REFUSED, by="anna", why="no")
    hold(network, questions[2])


@pytest.mark.parametrize("later", ["nothing", "requests"])
def test_old_copies_of_files_do_not_bring_an_approval_back(network: Network, later: str) -> None:
    """Somebody who may write to the folder, and cannot read the key, kept the heads and the log of approvals."""
    question, north = network.question("secure-sum"), network.sites["north"]
    held = hold(network, question)
    approvals(network).decide(held.id, Decision.APPROVED, by="anna")
    old = {path: path.read_bytes() for path in (north.folder.path / HEADS, north.folder.approvals)}
    approvals(network).decide(held.id, Decision.REFUSED, by="anna", why="the board said no")
    if later == "requests":
        with pytest.raises(RunError, match="the board said no"):
            network.run(question)
    for path, content in old.items():
        path.write_bytes(content)
    with pytest.raises(FederationError, match="newest backup"):
        approvals(network).require(question, COORDINATOR)
    with pytest.raises(RunError, match="north: failed"):
        network.run(question)
    with pytest.raises(FederationError, match="newest backup"):
        approvals(network).decide(held.id, Decision.APPROVED, by="anna")
    assert approvals(network).check().problem is not None


def test_a_person_is_told_if_the_register_does_not_know_of_a_decision(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = network.question("secure-sum")
    held = hold(network, question)

    def full(*_: object) -> None:
        raise FederationError("the register cannot be used")

    with monkeypatch.context() as patched:
        patched.setattr(LogAnchors, "write", full)
        for _ in range(2):
            with pytest.raises(FederationError, match="register cannot be used"):
                approvals(network).decide(held.id, Decision.APPROVED, by="anna")
        with pytest.raises(FederationError, match="register cannot be used"):
            approvals(network).require(question, COORDINATOR)
    approvals(network).require(question, COORDINATOR)
    assert approvals(network).check().entries == 2


def test_a_site_without_its_logs_knows_that_it_had_some(network: Network) -> None:
    """Its ledger, which was charged, is enough if even the register was removed."""
    question, folder = network.question("private", epsilon="1/2"), network.sites["north"].folder
    approvals(network).decide(hold(network, question).id, Decision.APPROVED, by="anna")
    network.run(question)
    logs = (KEY, HEADS, folder.log.name, folder.approvals.name)
    for gone in (logs, ("register.db", "register.key")):
        for name in gone:
            (folder.path / name).unlink()
        for log in (SealedLog(folder.log), SealedLog(folder.approvals)):
            assert "has logged before" in str(log.check().problem)
        with pytest.raises(FederationError, match="has logged before"):
            approvals(network).require(question, COORDINATOR)


@pytest.mark.parametrize("mode", ["noisy-scores", "disclosure-control", "secure-sum", "private"])
def test_the_key_of_the_logs_is_older_than_anything_that_a_site_stores(tmp_path: Path, mode: str) -> None:
    """A site without the key that has stored something counts as one whose logs are gone."""
    every = "modes = ['disclosure-control', 'secure-sum', 'private', 'noisy-scores']\nepsilon_in_all = 5\n"
    network = Network.build(tmp_path, {"east": 90, "north": 60, "south": 75}, every)
    terms: dict[str, dict[str, Any]] = {
        "private": {"epsilon": 1},
        "noisy-scores": {"epsilon": 5, "delta": "0.01", "sensitivity": "0.1"},
    }
    network.run(network.question(mode, **terms.get(mode, {})))
    folder = network.sites["north"].folder
    assert SealedLog(folder.log).check().problem is None
    for path in (folder.path / "logs.key", folder.path / "logs.heads", folder.log):
        path.unlink()
    assert SealedLog(folder.log).check().problem is not None
    with pytest.raises(RunError, match="north: failed"):
        network.run(network.question(mode, **terms.get(mode, {})))
