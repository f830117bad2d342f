"""A person says yes before a site reads, charges or sends anything."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from confide.errors import RecordsError, RefusedError, UsageError
from confide.federation.policy import default_policy
from confide.federation.protocol import OFFER, RunError
from confide.federation.question import Question
from confide.federation.site import approvals as module
from confide.federation.site.approvals import Approvals, Decision, HeldError, HeldQuestion, question_id
from confide.federation.site.records import APPROVALS, SiteRecords
from confide.federation.site_state import SiteState
from confide.records.anchor import Anchor
from confide.report.validation.sites import decision_line
from tests.federation.network import MODES, Network
from tests.federation.site_books import approvals_of, entries, execute, problems

SIZES = {"north": 60, "south": 70, "west": 80}
COORDINATOR = "coordinator@confide.local"


@pytest.fixture
def network(tmp_path: Path) -> Network:
    made = Network.build(tmp_path, SIZES)
    text = default_policy(studies=("trial",), modes=MODES).replace('approval = "automatic"', 'approval = "manual"')
    made.sites["north"].folder.policy.write_text(text)
    return made.reopened()


def approvals(network: Network) -> Approvals:
    return approvals_of(network.sites["north"].folder)


@pytest.mark.few(1)
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
    folder = network.sites["north"].folder
    execute(
        folder,
        "INSERT INTO confide_entries SELECT chain, 2, topic, replace(text, '\"asked\"', '\"approved\"'), seal, seal "
        "FROM confide_entries WHERE chain = 'approvals'",
    )
    with pytest.raises(RunError, match="north: failed") as failed:
        network.run(question)
    assert str(network.sites["north"].folder.path) not in str(failed.value)
    assert problems(folder)


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
    records = SiteRecords(network.sites["north"].folder)
    asked = {"kind": "asked", "id": name, "coordinator": COORDINATOR, "question": question.to_dict()}
    records.append(APPROVALS, asked)
    records.append(APPROVALS, {"kind": "approved", "id": name, "by": "anna", "why": None})
    assert approvals(network).all() == ()
    with pytest.raises(HeldError):
        approvals(network).require(question, COORDINATOR)


def test_a_question_that_two_processes_enter_keeps_its_decision(network: Network) -> None:
    question = network.question("secure-sum")
    held = hold(network, question)
    approvals(network).decide(held.id, Decision.APPROVED, by="anna")
    records = SiteRecords(network.sites["north"].folder)
    records.append(APPROVALS, records.read(APPROVALS)[0])
    approvals(network).require(question, COORDINATOR)


def test_only_so_many_questions_wait(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 2)
    questions = [network.question("private", epsilon="1/2", edition=number) for number in (1, 2, 3)]
    held = [hold(network, question) for question in questions[:2]]
    folder = network.sites["north"].folder
    before = entries(folder, APPROVALS)
    with pytest.raises(RefusedError, match="too many questions wait"):
        approvals(network).require(questions[2], COORDINATOR)
    assert entries(folder, APPROVALS) == before
    with pytest.raises(HeldError):
        approvals(network).require(questions[0], COORDINATOR)
    approvals(network).decide(held[0].id, Decision.REFUSED, by="anna", why="no")
    hold(network, questions[2])


@pytest.mark.parametrize("later", ["nothing", "requests"])
def test_an_old_copy_of_the_database_does_not_bring_an_approval_back(network: Network, later: str) -> None:
    """Somebody who may write to the folder, and cannot read the key, kept the database."""
    question, north = network.question("secure-sum"), network.sites["north"]
    held = hold(network, question)
    approvals(network).decide(held.id, Decision.APPROVED, by="anna")
    old = north.folder.database.read_bytes()
    approvals(network).decide(held.id, Decision.REFUSED, by="anna", why="the board said no")
    if later == "requests":
        with pytest.raises(RunError, match="the board said no"):
            network.run(question)
    north.folder.database.write_bytes(old)
    with pytest.raises(RecordsError, match="older copy"):
        approvals(network).require(question, COORDINATOR)
    with pytest.raises(RunError, match="north: failed"):
        network.run(question)
    with pytest.raises(RecordsError, match="older copy"):
        approvals(network).decide(held.id, Decision.APPROVED, by="anna")
    assert problems(north.folder)


def test_old_entries_of_the_approvals_alone_do_not_bring_an_approval_back(network: Network) -> None:
    """The chain of approvals as it was, with its own head: all other chains, and the register of chains, went on."""
    question, folder = network.question("secure-sum"), network.sites["north"].folder
    held = hold(network, question)
    approvals(network).decide(held.id, Decision.APPROVED, by="anna")
    execute(folder, "CREATE TABLE kept AS SELECT * FROM confide_heads WHERE chain = 'approvals'")
    approvals(network).decide(held.id, Decision.REFUSED, by="anna", why="the board said no")
    execute(
        folder,
        "DELETE FROM confide_heads WHERE chain = 'approvals'",
        "INSERT INTO confide_heads SELECT * FROM kept",
        "DELETE FROM confide_entries WHERE chain = 'approvals' AND number = 3",
        "DROP TABLE kept",
    )
    with pytest.raises(RecordsError, match="older copy, or entries were deleted"):
        approvals(network).require(question, COORDINATOR)
    assert problems(folder)


def test_a_person_is_told_if_the_anchor_does_not_know_of_a_decision(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = network.question("secure-sum")
    held = hold(network, question)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Anchor, "_write", full)
        with pytest.raises(RecordsError, match="No space left"):
            approvals(network).decide(held.id, Decision.APPROVED, by="anna")
    approvals(network).require(question, COORDINATOR)
    approvals(network).decide(held.id, Decision.REFUSED, by="anna", why="no")
    assert entries(network.sites["north"].folder, APPROVALS) == 3


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["noisy-scores", "disclosure-control", "secure-sum", "private"])
def test_a_site_without_one_of_its_records_files_answers_nothing(tmp_path: Path, mode: str) -> None:
    every = "modes = ['disclosure-control', 'secure-sum', 'private', 'noisy-scores']\nepsilon_in_all = 5\n"
    network = Network.build(tmp_path, {"east": 90, "north": 60, "south": 75}, every)
    terms: dict[str, dict[str, Any]] = {
        "private": {"epsilon": 1},
        "noisy-scores": {"epsilon": 5, "delta": "0.01", "sensitivity": "0.1"},
    }
    network.run(network.question(mode, **terms.get(mode, {})))
    folder = network.sites["north"].folder
    assert not problems(folder)
    for name in ("site.db", "site.db.key", "site.db.anchor"):
        path = folder.path / name
        kept = path.read_bytes()
        path.unlink()
        assert problems(folder), name
        with pytest.raises(RunError, match="north: failed"):
            network.run(network.question(mode, **terms.get(mode, {})))
        assert not path.exists(), "the evidence stays"
        path.write_bytes(kept)
        path.chmod(0o600)
    assert not problems(folder)


@pytest.mark.parametrize("name", ["register.db", "ledger.db", "site.secret"])
def test_records_of_an_older_version_are_refused_with_the_next_step(network: Network, name: str) -> None:
    folder = network.sites["north"].folder
    for path in folder.path.glob("site.db*"):
        path.unlink()
    (folder.path / name).write_bytes(b"older")
    with pytest.raises(RecordsError, match=r"older version of confide .*site request.*epsilon_in_all"):
        approvals(network).all()
    with pytest.raises(RunError, match="north: failed"):
        network.run(network.question("disclosure-control"))
