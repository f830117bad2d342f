"""`confide site pending`, `approve`, `refuse` and `verify`, as an administrator uses them."""

from __future__ import annotations

import json

import pytest

from tests.cli.commands import confide
from tests.cli.hospitals import Hospitals, near
from tests.federation.site_books import execute


@pytest.fixture
def manual(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> Hospitals:
    policy = hospitals.site("north").policy
    policy.write_text(policy.read_text().replace('approval = "automatic"', 'approval = "manual"'))
    near(hospitals, monkeypatch)
    return hospitals


ASK = ("--mode", "private", "--epsilon", "1/2", "--purpose", "yearly report of the network")


@pytest.mark.long
def test_a_person_reads_what_would_leave_and_decides(manual: Hospitals) -> None:
    place = manual.site("north").path
    held = manual.ask(*ASK)
    assert held.code == 4
    assert "north: waiting for approval" in held.err
    assert "Waiting for a person's approval: north" in held.err
    status = confide("site", "status", place)
    assert "1 question waits for a decision: confide site pending" in status.err
    shown = confide("site", "pending", place)
    for words in (
        "coordinator@stroke.confide",
        "yearly report of the network",
        "noisy counts, epsilon 0.25, and a share of the sum, epsilon 0.25",
        "epsilon 1/2, unless the same question was paid for before left: epsilon 1 of 1 in this study, 3 of 3 in all",
        "- An attacker who was 50 % sure of the outcome in one row is at most 73.2 % sure after seeing this. - No",
        "north, south, west; at least 3 take part",
    ):
        assert words in " ".join(shown.out.split()), words
    (question,) = json.loads(confide("site", "pending", place, "--json").out)["questions"]
    assert len(question["id"]) == 64
    assert question["number"] == question["id"][:12]
    assert f"Question {question['number']}, waiting" in shown.out
    answer = confide("site", "approve", place, question["number"])
    assert answer.code == 0, answer.err
    assert f"confide site refuse {place} {question['number']} " in " ".join(answer.err.split())
    assert manual.ask(*ASK).code == 0
    assert "No question waits" in confide("site", "pending", place).out
    decided = confide("site", "pending", place, "--decided")
    assert "decided: approved by" in " ".join(decided.out.split())
    assert confide("site", "verify", place).code == 0


def test_no_line_is_wider_than_the_terminal(manual: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    manual.ask(*ASK, "--purpose", "a purpose that needs many words " * 5)
    for width in (80, 110):
        monkeypatch.setattr("confide.cli.output._PIPE_WIDTH", width)
        shown = confide("site", "pending", manual.site("north").path).out
        assert max(map(len, shown.splitlines())) <= width
        assert " ".join(["a purpose that needs many words"] * 5) in " ".join(shown.split())


def test_a_person_sees_what_cannot_be_paid_or_would_be_refused_now(manual: Hospitals) -> None:
    place = manual.site("north")
    assert manual.ask(*ASK).code == 4
    assert "as the policy is" not in confide("site", "pending", place.path).out
    rules = place.policy.read_text()
    for rule, changed, words, reason in (
        (
            "epsilon_per_study = 1\n",
            'epsilon_in_all = "1/4"\nepsilon_per_study = 1\n',
            "CANNOT BE PAID as the policy is: all studies together have epsilon 0.25 of 0.25 left",
            "budget",
        ),
        ('studies = ["stroke"]', 'studies = ["other"]', "WOULD BE REFUSED as the policy is: study 'stroke'", None),
    ):
        place.policy.write_text(rules.replace("epsilon_in_all = 3\n", "", 1).replace(rule, changed))
        assert words in " ".join(confide("site", "pending", place.path).out.split())
        (question,) = json.loads(confide("site", "pending", place.path, "--json").out)["questions"]
        assert question["ruled_out"]["reason"] == reason
    place.policy.write_text(rules)
    (question,) = json.loads(confide("site", "pending", place.path, "--json").out)["questions"]
    assert question["ruled_out"] is None


def test_waiting_names_the_options_that_must_be_the_same(manual: Hospitals) -> None:
    held = manual.ask(*ASK)
    said = "ask again later with the same options, --purpose included"
    assert said in " ".join(held.out.split())
    assert said in " ".join(held.err.split()).replace("Ask", "ask")


def test_a_refusal_reaches_the_coordinator(manual: Hospitals) -> None:
    place = manual.site("north").path
    manual.ask(*ASK)
    (question,) = json.loads(confide("site", "pending", place, "--json").out)["questions"]
    assert confide("site", "refuse", place, question["id"], "--why", "").code == 2
    assert confide("site", "refuse", place, question["id"], "--why", "the board meets in May").code == 0
    refused = manual.ask(*ASK)
    assert refused.code == 1
    assert "the board meets in May" in " ".join(refused.out.split())
    assert confide("site", "approve", place, "nothing").code == 2


def test_automatic_approval_says_so(hospitals: Hospitals) -> None:
    shown = confide("site", "pending", hospitals.site("south").path)
    assert 'approval = "automatic"' in shown.out


def test_changed_records_are_noticed(manual: Hospitals) -> None:
    place = manual.site("north")
    manual.ask(*ASK)
    assert json.loads(confide("site", "verify", place.path, "--json").out)["whole"] is True
    execute(place, "UPDATE confide_entries SET text = replace(text, 'private', 'secret') WHERE chain = 'requests'")
    found = confide("site", "verify", place.path)
    assert found.code == 1
    assert "requests: changed or damaged: entry 1" in found.out
    assert "warning: requests: changed" in confide("site", "status", place.path).err


def test_a_log_that_somebody_wrote_to_cannot_steer_a_terminal(manual: Hospitals) -> None:
    place = manual.site("north")
    manual.ask(*ASK)
    forged = json.dumps({"study": "\x1b[2Jtrial", "state": "failed", "message": "\u202eno\x07"})
    execute(place, f"INSERT INTO confide_entries VALUES ('requests', 99, NULL, '{forged}', '', '')")  # noqa: S608
    shown = confide("site", "status", place.path)
    assert "·[2Jtrial" in shown.out
    assert not {"\x1b", "\u202e", "\x07"} & set(shown.out + shown.err)


def test_removed_logs_are_noticed(manual: Hospitals) -> None:
    place = manual.site("north")
    manual.ask(*ASK)
    execute(place, "DELETE FROM confide_entries WHERE chain = 'approvals'")
    found = confide("site", "verify", place.path)
    assert found.code == 1
    assert "approvals: changed or damaged: entry 1 is missing" in found.out
    assert confide("site", "pending", place.path).code == 1
