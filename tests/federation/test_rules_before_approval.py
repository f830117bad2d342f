"""A person is asked only about questions that all other rules allow, as far as no rows are needed to know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.federation.protocol import OFFER, RunError
from confide.federation.question import Question
from confide.federation.site.approvals import Decision
from confide.federation.site_state import RefusalReason, SiteState
from tests.federation.gaussian_sites import POLICY as ZCDP
from tests.federation.network import Network
from tests.federation.site_books import approvals_of

SIZES = {"north": 60, "south": 70, "west": 80}
MANUAL = 'approval = "manual"\n'
YEAR = '[allowance]\nperiod = "year"\nepsilon = "1/2"\n'


def build(folder: Path, rules: str = "") -> Network:
    """Set three sites up, of which `north` asks a person, after it answered a private question of epsilon 1/2."""
    network = Network.build(folder, SIZES, rules or "epsilon_per_study = 1\n")
    network.run(network.question("private", epsilon="1/2", site_share=0))
    with_person(network, MANUAL)
    return network.reopened()


def with_person(network: Network, rule: str) -> None:
    policy = network.sites["north"].folder.policy
    policy.write_text(rule + policy.read_text())


def offer(network: Network, question: Question) -> dict[str, Any]:
    """Return the reply of `north` to the first request about a question, but for its fresh keys."""
    request = {"protocol": question.protocol, "session": "s" * 32, "question": question.to_dict()}
    reply = network.reopened().sites["north"].reply(OFFER, request)
    return {name: reply[name] for name in ("state", "message", "reason") if name in reply}


def waiting(network: Network) -> int:
    return len(approvals_of(network.sites["north"].folder).waiting())


RULED_OUT: dict[str, tuple[str, dict[str, Any], str]] = {
    "model": ("private", {"model": "risks", "epsilon": "1/4"}, "this site has no model 'risks'"),
    "study": ("private", {"study": "other", "epsilon": "1/4"}, "studies in its policy"),
    "epsilon": ("private", {"epsilon": 2}, "epsilon 2 was asked for"),
    "noise": ("private", {"epsilon": "1/4", "noise": "gaussian", "delta": "1e-6"}, "Gaussian noise was asked for"),
    "mode": ("noisy-scores", {"epsilon": 5, "delta": "0.01", "sensitivity": "0.1"}, "modes in its policy"),
    "budget": ("private", {"epsilon": "3/4", "site_share": 0}, "study trial has epsilon 0.5 of 1 left at this site"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("rule", RULED_OUT)
def test_a_question_that_other_rules_refuse_is_not_held(tmp_path: Path, rule: str) -> None:
    mode, terms, said = RULED_OUT[rule]
    network = build(tmp_path)
    question = network.question(mode, **terms)
    manual = offer(network, question)
    assert manual["state"] == SiteState.REFUSED
    assert said in manual["message"]
    assert waiting(network) == 0
    policy = network.sites["north"].folder.policy
    policy.write_text(policy.read_text().removeprefix(MANUAL))
    assert offer(network, question) == manual, "the refusal is the same without a person"


def test_an_exact_question_that_differs_from_the_answered_one_is_not_held(tmp_path: Path) -> None:
    network = Network.build(tmp_path, SIZES, "epsilon_per_study = 1\n")
    network.run(network.question("disclosure-control"))
    with_person(network, MANUAL)
    assert "has answered another question" in offer(network, network.question("secure-sum"))["message"]
    assert waiting(network) == 0
    assert offer(network, network.question("disclosure-control"))["state"] == SiteState.HELD


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ('epsilon_per_study = "1/2"\n', "study trial has epsilon 0 of 0.5 left"),
        ('epsilon_in_all = "1/2"\n', "all studies together have epsilon 0 of 0.5 left"),
        ("", "this site allows epsilon 0.5 a year"),
    ],
)
def test_what_the_budget_cannot_pay_now_is_not_held(tmp_path: Path, rules: str, said: str) -> None:
    network = build(tmp_path, rules)
    policy = network.sites["north"].folder.policy
    if not rules:
        policy.write_text(policy.read_text() + YEAR)
    for site_share in (0, "1/2"):
        reply = offer(network, network.question("private", epsilon="1/4", edition=2, site_share=site_share))
        assert reply["state"] == SiteState.REFUSED
        assert reply["reason"] == RefusalReason.BUDGET
        assert said in reply["message"]
    assert waiting(network) == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("rules", ['epsilon_per_study = "1/2"\nepsilon_in_all = "1/2"\n', ZCDP])
def test_a_question_that_was_paid_for_is_held_and_then_answered(tmp_path: Path, rules: str) -> None:
    """Nothing is left to spend, and nothing needs to be: the answer is stored."""
    terms: dict[str, Any] = {"epsilon": 3, "noise": "gaussian", "delta": "1e-6"} if rules == ZCDP else {"epsilon": ".5"}
    network = Network.build(tmp_path, SIZES, rules)
    question = network.question("private", **terms)
    network.run(question)
    with_person(network, MANUAL)
    assert offer(network, question)["state"] == SiteState.HELD
    (held,) = approvals_of(network.sites["north"].folder).waiting()
    approvals_of(network.sites["north"].folder).decide(held.id, Decision.APPROVED, by="anna")
    outcome = network.reopened().run(question)
    assert all(report.receipt is not None and report.receipt["reused"] for report in outcome.reports)


@pytest.mark.few(1)
@pytest.mark.parametrize("share", ["0", "1/2"])
def test_own_counts_that_are_stored_do_not_count_for_a_new_edition(tmp_path: Path, share: str) -> None:
    """Epsilon 1 of which half is for own counts: a new edition of the same rows costs the half of the sum alone."""
    network = Network.build(tmp_path, SIZES, 'epsilon_per_study = "3/2"\n')
    network.run(network.question("private", epsilon=1, site_share=share))
    with_person(network, MANUAL)
    reply = offer(network, network.question("private", epsilon=1, site_share=share, edition=2))
    assert reply["state"] == (SiteState.REFUSED if share == "0" else SiteState.HELD)


def test_rules_are_checked_again_after_the_approval(tmp_path: Path) -> None:
    network = build(tmp_path)
    question = network.question("private", epsilon="1/4", site_share=0)
    assert offer(network, question)["state"] == SiteState.HELD
    folder = network.sites["north"].folder
    (held,) = approvals_of(folder).waiting()
    approvals_of(folder).decide(held.id, Decision.APPROVED, by="anna")
    folder.policy.write_text(folder.policy.read_text().replace("epsilon_per_study = 1", 'epsilon_per_study = "1/2"'))
    with pytest.raises(RunError, match=r"study trial has epsilon 0 of 0\.5 left") as refused:
        network.reopened().run(question)
    assert refused.value.exit_code == 3


@pytest.mark.few(1)
@pytest.mark.parametrize("rule", ["budget", "model", "held", "exact"])
def test_no_reply_before_a_decision_depends_on_the_rows(tmp_path: Path, rule: str) -> None:
    """The reply is the same with other rows, and with none at all: they are not read."""
    network = build(tmp_path)
    questions = {
        "budget": network.question("private", epsilon="3/4"),
        "model": network.question("private", epsilon="1/4", model="risks"),
        "held": network.question("private", epsilon="1/4"),
        "exact": network.question("secure-sum"),
    }
    first, rows = offer(network, questions[rule]), network.sites["north"].folder.path / "rows.csv"
    assert first["state"] == (SiteState.REFUSED if rule in ("budget", "model") else SiteState.HELD)
    risks = np.random.default_rng(0).random(3)
    rows.write_text("outcome,risk\n" + "".join(f"1,{risk}\n" for risk in risks))
    assert offer(network, questions[rule]) == first
    rows.unlink()
    assert offer(network, questions[rule]) == first
