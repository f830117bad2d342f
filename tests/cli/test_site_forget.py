"""`confide site forget`: a second exact answer needs a yes."""

from __future__ import annotations

import pytest

from confide.federation.site.register import Register
from tests.cli.commands import confide
from tests.cli.hospitals import NAMES, Hospitals, near


def test_forgetting_asks_for_a_yes_and_lets_another_question_through(
    hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    near(hospitals, monkeypatch)
    place = hospitals.site("north").path
    assert hospitals.ask("--mode", "secure-sum").code == 0
    assert hospitals.ask("--mode", "secure-sum", "--grid", "uniform:50").code == 1
    unsaid = confide("site", "forget", place, "risk")
    assert unsaid.code == 2
    assert "--yes" in unsaid.err
    for name in NAMES:
        assert confide("site", "forget", hospitals.site(name).path, "risk", "--yes").code == 0
    assert hospitals.ask("--mode", "secure-sum", "--grid", "uniform:50").code == 0
    wrong = confide("site", "forget", place, "rsk", "--yes")
    assert wrong.code == 2
    assert "Did you mean 'risk'?" in wrong.err


def test_there_may_be_nothing_to_forget(provisioned: Hospitals) -> None:
    answer = confide("site", "forget", provisioned.site("north").path, "risk", "--yes")
    assert answer.code == 2
    assert "nothing to forget" in answer.err
    assert Register(provisioned.site("north").path).fixed() == ()


def test_a_refusal_states_when_an_answer_may_be_forgotten(
    hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    near(hospitals, monkeypatch)
    assert hospitals.ask("--mode", "disclosure-control").code == 0
    refused = hospitals.ask("--mode", "secure-sum")
    assert refused.code == 1
    said = "only if nobody saw the first answer, or the data were replaced completely"
    assert said in " ".join(refused.out.split())
