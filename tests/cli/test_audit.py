"""`confide audit` as a user types it."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from confide.audits import run
from confide.audits.subject import Subject
from confide.audits.twins import twins
from confide.cli.audit import audit
from confide.errors import ParameterError
from tests.cli.commands import confide

FEW = ("--draws", "20000")


def broken_targets(epsilon: Fraction) -> tuple[Subject[Any], ...]:
    """A broken twin that passes for a mechanism."""
    return tuple(replace(twin, wrong="") for twin in twins(epsilon) if twin.name == "auc/exact-one-class")


def blind_twins(epsilon: Fraction) -> tuple[Subject[Any], ...]:
    """A sound mechanism that passes for a broken twin."""
    return tuple(replace(target, wrong="nothing") for target in run.subjects(["prevalence"], epsilon=epsilon))


def command() -> typer.Typer:
    app = typer.Typer()
    app.command()(audit)
    return app


def test_json_has_the_published_schema() -> None:
    answer = confide("audit", "prevalence", "auc/rank-sum", "--epsilon", "0.5", "--json", *FEW)
    assert answer.code == 0, answer.err
    found: dict[str, Any] = json.loads(answer.out)
    assert found["schema"] == "confide.audit/1"
    assert found["twins"] == []
    assert [(each["mechanism"], each["neighbours"]) for each in found["mechanisms"]] == [
        ("auc/rank-sum", "replace-one"),
        ("auc/rank-sum", "label-only"),
        ("prevalence/laplace", "replace-one"),
        ("prevalence/laplace", "add-remove-one"),
        ("prevalence/laplace", "label-only"),
    ]
    for each in found["mechanisms"]:
        assert set(each) == {
            "mechanism", "neighbours", "epsilon", "delta", "lower_bound", "verdict", "draws", "error", "event",
        }  # fmt: skip
        assert each["epsilon"] == 0.5
        assert 0.0 <= each["lower_bound"] <= 0.5
        assert each["verdict"] == "not refuted"
        assert each["error"] == 1e-4
        assert 0 < each["draws"] <= 20_000


def test_the_table_says_what_was_tried_and_how_sure_it_is() -> None:
    answer = confide("audit", "prevalence", *FEW, "--error", "1e-3")
    assert answer.code == 0
    for expected in ("prevalence/laplace", "add-remove-one", "not refuted", "at most 0.001,", "None of 3 is refuted."):
        assert expected in answer.out, expected
    assert answer.err == "auditing: 3 times 20,000 draws\n"


def test_help_has_examples() -> None:
    answer = confide("audit", "--help")
    assert answer.code == 0
    assert "confide audit auc/rank-sum" in answer.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("auc/ranksum",), "Did you mean 'auc/rank-sum'"),
        (("--epsilon", "0"), "epsilon must be greater than 0"),
        (("--epsilon", "much"), "epsilon must be a finite number"),
        (("--error", "0"), "error must lie above 0"),
        (("--draws", "500"), "--draws must be at least 24,000 for shares/tree, which needs the most of the"),
        (("auc/rank-sum", "--draws", "500"), "--draws must be at least 1,600 for auc/rank-sum, which"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: tuple[str, ...], message: str) -> None:
    answer = confide("audit", *arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_help_states_the_fewest_draws() -> None:
    for broken in (False, True):
        assert f"{run.fewest_draws(run.subjects(broken=broken)):,} or more" in confide("audit", "--help").out


def test_too_few_draws_are_refused_before_any_work() -> None:
    begun: list[Any] = []
    with pytest.raises(ParameterError, match="`draws` must be at least 24,000"):
        run.audit_all(run.subjects(), draws=23_999, starting=begun.append)
    assert begun == []


def test_all_twins_are_asked_for() -> None:
    """That each is caught is shown where enough is drawn for it."""
    every = {twin.name for twin in twins(Fraction(1))}
    assert every == {subject.name for subject in run.subjects(["prevalence"], broken=True) if subject.wrong}


def test_twins_that_are_caught_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that give themselves away by an answer that the neighbour never gives."""
    plain = tuple(twin for twin in twins(Fraction(1)) if twin.name in ("auc/exact-one-class", "auc/refuses-one-class"))
    assert len(plain) == 2
    monkeypatch.setattr(run, "twins", lambda epsilon: plain)
    answer = CliRunner().invoke(command(), ["prevalence", "--twins", "--json", *FEW])
    assert answer.exit_code == 0, answer.stdout
    caught = json.loads(answer.stdout)["twins"]
    assert [(each["mechanism"], each["verdict"]) for each in caught] == [(twin.name, "caught") for twin in plain]
    assert all(each["wrong"] for each in caught)


def test_a_refuted_mechanism_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "targets", broken_targets)
    answer = CliRunner().invoke(command(), FEW)
    assert answer.exit_code == 1
    assert "1 of 1 REFUTED." in answer.stdout


def test_a_twin_that_is_missed_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    missed = blind_twins(Fraction(1))
    monkeypatch.setattr(run, "twins", lambda epsilon: missed)
    answer = CliRunner().invoke(command(), ["prevalence", "--twins", *FEW])
    assert answer.exit_code == 1
    assert "NOT CAUGHT" in answer.stdout
    assert "0 of 3 broken twins are caught. The others need more --draws" in answer.stdout
