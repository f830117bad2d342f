"""`validate` in Python gives what `confide validate` gives, with the same checks."""

from __future__ import annotations

import inspect
import json
from html import escape
from typing import Any

import pytest

import confide
from confide.errors import UsageError
from confide.federation.policy import default_policy
from confide.federation.protocol import RunError
from confide.ledger.ledger import Ledger
from confide.tasks.requests.validate import ValidateRequest
from confide.tasks.site import add_model
from confide.tasks.validate import plan_validation, prepare_validation, validate
from tests.cli.hospitals import NAMES, Hospitals, near, out_of_reach
from tests.report.test_evaluation_page import Elements


def spent(hospitals: Hospitals, name: str) -> float:
    with Ledger(hospitals.site(name).database) as ledger:
        return float(sum(account.spent.epsilon for account in ledger.accounts()))


def without_time(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "seconds"}


def test_an_exact_validation_is_that_of_the_command(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    near(hospitals, monkeypatch)
    found = confide.validate(hospitals.coordinator, model_name="risk", mode="secure-sum", null_auc=0.6)
    answer = hospitals.ask("--mode", "secure-sum", "--null-auc", "0.6", "--json")
    assert answer.code == 0, answer.err
    assert without_time(found.to_dict()) == without_time(json.loads(answer.out))


def test_a_private_validation_is_charged_once_to_whoever_asks_again(
    hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    near(hospitals, monkeypatch)
    states: list[tuple[str, str]] = []
    found = validate(
        str(hospitals.coordinator),
        model_name="risk",
        mode="private",
        epsilon="1/2",
        sites=NAMES,
        progress=lambda site, state: states.append((site, str(state))),
    )
    assert {site for site, _ in states} == set(NAMES)
    assert [spent(hospitals, name) for name in NAMES] == [0.5, 0.5, 0.5]
    again = json.loads(hospitals.ask("--mode", "private", "--epsilon", "0.5", "--json").out)
    assert again["pooled"]["auc"] == found.to_dict()["pooled"]["auc"]
    assert [spent(hospitals, name) for name in NAMES] == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "privat", "epsilon": 1}, "Did you mean 'private'"),
        ({"mode": "private"}, "needs `epsilon`"),
        ({"mode": "private", "epsilon": -1}, "epsilon"),
        ({"mode": "secure-sum", "epsilon": 1}, "leave it out"),
        ({"mode": "secure-sum", "sites": ("north", "sout", "west")}, "Did you mean 'south'"),
        ({"mode": "secure-sum", "sites": "north"}, "`sites` must be a list"),
        ({"mode": "secure-sum", "sites": ()}, "`sites` must be a list"),
        ({"mode": "secure-sum", "timeout": 0}, "timeout"),
        ({"mode": "secure-sum", "level": 1}, "level"),
        ({"mode": "secure-sum", "null_auc": 1.5}, "`null_auc`"),
    ],
)
def test_wrong_parameters_are_refused_before_any_site_is_asked(
    provisioned: Hospitals, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], words: str
) -> None:
    out_of_reach(monkeypatch)
    with pytest.raises(UsageError, match=words) as refusal:
        validate(provisioned.coordinator, model_name="risk", **options)
    assert "--" not in str(refusal.value).replace("validate --", "")


@pytest.mark.long
def test_a_plan_is_that_of_a_dry_run_and_asks_nobody(provisioned: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    out_of_reach(monkeypatch)
    request = prepare_validation(
        ValidateRequest(provisioned.coordinator, model_name="risk", mode="private", epsilon=1, rows=3_000)
    )
    command = provisioned.ask("--mode", "private", "--epsilon", "1", "--rows", "3000", "--dry-run", "--json")
    assert plan_validation(request).to_dict() == json.loads(command.out)
    exact = plan_validation(
        prepare_validation(ValidateRequest(provisioned.coordinator, model_name="risk", mode="secure-sum"))
    )
    for one in (plan_validation(request), exact):
        elements = Elements(one._repr_html_())
        assert "table" in elements.tags
        assert "script" not in elements.tags
        assert all(escape(sentence) in one._repr_html_() for sentence in one.promise)
    assert "Expected accuracy" in plan_validation(request)._repr_html_()
    assert exact.expected is None
    assert set(exact.prices.values()) == {None}


def test_a_failure_carries_the_report_of_each_site(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    near(hospitals, monkeypatch)
    hospitals.site("south").policy.write_text(default_policy(studies=["sepsis"]), encoding="utf-8")
    with pytest.raises(RunError, match="Nothing was charged") as failure:
        validate(hospitals.coordinator, model_name="risk", mode="private", epsilon=1)
    error = failure.value
    assert {report.name: str(report.state) for report in error.reports} == {
        "north": "answered",
        "south": "refused",
        "west": "answered",
    }
    refusal = next(report.message for report in error.reports if report.name == "south")
    assert refusal in str(error)
    assert refusal not in error.summary
    assert "south" in error.summary
    assert (error.exit_code, error.rounds) == (1, 1)
    assert [spent(hospitals, name) for name in NAMES] == [0, 0, 0]


def test_lack_of_budget_is_a_code_and_not_a_phrase(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    near(hospitals, monkeypatch)
    for name in NAMES:
        add_model(hospitals.site(name).path, "again", same_as="risk", studies=["more"])
    policy = hospitals.site("west").policy
    text = policy.read_text(encoding="utf-8")
    policy.write_text(text.replace("epsilon_in_all = 3", "epsilon_in_all = 1"), encoding="utf-8")
    validate(hospitals.coordinator, model_name="risk", mode="private", epsilon=1)
    with pytest.raises(RunError) as failure:
        validate(hospitals.coordinator, model_name="risk", mode="private", epsilon="1/2", study="more")
    assert failure.value.exit_code == 3
    assert failure.value.without_reports().exit_code == 3


def test_the_task_takes_the_parameters_that_are_checked() -> None:
    taken, checked = (inspect.signature(task).parameters for task in (validate, ValidateRequest))
    assert taken == checked
    assert "progress" in taken
