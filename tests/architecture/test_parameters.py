"""Parameters are written once: a request's fields, from which verbs and commands are made; other lists are short."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

import confide
from confide.cli.main import Verbs
from confide.errors import ParameterError
from confide.tasks import attack, contest, federation_demo, ledger, plan, site
from confide.tasks import learning as steps
from confide.tasks import release as releases
from confide.tasks.requests.account import AccountRequest
from confide.tasks.requests.attack import AttackRequest, ContestAttackRequest, CurveAttackRequest
from confide.tasks.requests.contest import ContestPlanRequest, ContestRequest, FinalRequest
from confide.tasks.requests.evaluate import ARRAYS, EvaluateRequest
from confide.tasks.requests.federation import DemoRequest, ModelRequest, SiteRequest
from confide.tasks.requests.learning import SelectRequest, TrainRequest
from confide.tasks.requests.options import OPTION, Option
from confide.tasks.requests.plan import ExactPlanRequest, PlanRequest
from confide.tasks.requests.release import ReleaseRequest
from confide.tasks.requests.validate import ValidateRequest

PACKAGE = Path(confide.__file__).parent
MOST = 14

EXCEPTIONS = {
    "learning/estimators.py:PrivateNaiveBayes.__init__": "scikit-learn reads parameters from the constructor",
    "learning/estimators.py:PrivateSelector.__init__": "scikit-learn reads parameters from the constructor",
    "learning/selection_methods.py:prepare_selection": "one method takes what another does not; Python's public form",
    "intervals/validation_size.py:validation_sample_size": "the parameters of R's pmvalsampsize",
}


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    def visit(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            inside = (*names, child.name) if named else names  # type: ignore[attr-defined]
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield ".".join(inside), child
            yield from visit(child, inside)

    yield from visit(tree, ())


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return len([one for one in every if one is not None and one.arg not in ("self", "cls")])


def test_no_function_has_a_long_list_of_parameters() -> None:
    """After a failure: make the parameters a frozen value, or state above why this list must stay."""
    long = {
        f"{path.relative_to(PACKAGE)}:{name}"
        for path in PACKAGE.rglob("*.py")
        for name, function in functions(ast.parse(path.read_text(encoding="utf-8")))
        if parameters_of(function) > MOST
    }
    assert long == set(EXCEPTIONS)


VERBS: dict[str, tuple[Any, tuple[Callable[..., Any], ...], set[str]]] = {
    "release": (ReleaseRequest, (confide.release, releases.quote_release), {"source", "question"}),
    "select": (SelectRequest, (confide.select, steps.quote_select), {"source", "data_name", "question"}),
    "train": (TrainRequest, (confide.train, steps.quote_train), {"source", "data_name", "question"}),
    "validate": (ValidateRequest, (confide.validate,), {"progress"}),
    "evaluate": (EvaluateRequest, (confide.evaluate,), {"data", *ARRAYS, "progress"}),
    "plan": (PlanRequest, (confide.plan,), {"curve"}),
    "plan --exact": (ExactPlanRequest, (plan.plan_exact,), set()),
    "contest plan": (ContestPlanRequest, (contest.plan_contest,), {"begin"}),
    "contest new": (
        ContestRequest,
        (contest.make_contest, contest.quote_contest),
        {"name", "labels_file"},
    ),
    "contest publish": (
        FinalRequest,
        (contest.publish_final, contest.quote_final),
        {"holder", "finalists_file"},
    ),
    "attack file": (AttackRequest, (confide.attack,), {"source", "generator", "effort", "starting"}),
    "attack curve": (CurveAttackRequest, (attack.attack_curve,), {"curve"}),
    "attack contest": (ContestAttackRequest, (attack.attack_contest,), {"generator"}),
    "ledger new": (AccountRequest, (ledger.open_account, ledger.change_caps), {"account"}),
    "site init": (SiteRequest, (site.init_site,), {"kit", "folder"}),
    "site add-model": (ModelRequest, (site.add_model,), {"folder"}),
    "federation demo": (DemoRequest, (federation_demo.plan_demo,), {"folder"}),
}
"""Requests, the functions that take their fields, and the fields that are no option of the command."""


@pytest.mark.parametrize("command", VERBS)
def test_python_takes_the_fields_of_the_request(command: str) -> None:
    request, verbs, _ = VERBS[command]
    for verb in verbs:
        assert inspect.signature(verb).parameters == inspect.signature(request).parameters
        assert verb.__doc__


@pytest.mark.parametrize("command", VERBS)
def test_the_command_has_an_option_for_each_field(command: str) -> None:
    request, _, elsewhere = VERBS[command]
    group: Any = Verbs(name="confide")
    for name in command.removesuffix(" --exact").split():
        group = group.commands[name].loaded
    params = {param.name: param for param in group.params}
    for each in (one for one in fields(request) if one.init):
        assert (OPTION in each.metadata) is (each.name not in elsewhere), each.name
        if OPTION not in each.metadata:
            continue
        described: Option = each.metadata[OPTION]
        shown = params[each.name]
        assert shown.help == described.help
        assert set(described.flags) <= set(shown.opts)
        alone = not command.startswith("plan")  # which has two requests: a user means one
        assert shown.required is (alone and (each.default is MISSING or described.required))


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": -1},
        {"metrics": "gini"},
        {"neighbours": "nobody"},
        {"score": "died"},
        {"metrics": "auc", "threshold": 0.5},
        {"metrics": "roc", "strategy": "forest"},
        {"level": 2},
    ],
)
def test_a_wrong_request_cannot_be_made(wrong: dict[str, Any]) -> None:
    """The file does not exist: nothing is read."""
    with pytest.raises(ParameterError):
        ReleaseRequest("nowhere.csv", **{"label": "died", "score": "risk", "epsilon": 1, **wrong})


def test_a_request_does_not_change() -> None:
    request = ReleaseRequest("rows.csv", label="died", score="risk", epsilon=1)
    with pytest.raises(FrozenInstanceError):
        request.epsilon = 2  # type: ignore[misc]


def test_the_text_of_a_request_shows_no_rows_and_no_place_with_a_password() -> None:
    place = "postgresql://ana:hush@db.example/ledgers"
    shown = repr(
        ReleaseRequest([1, 0], label="died", score="risk", epsilon=1, data_name="rows, version 1", ledger=place)
    )
    assert "hush" not in shown
    assert "[1, 0]" not in shown
    site = SiteRequest("kit.zip", "site", model_name="m", data=place, label="died")
    assert "hush" not in repr(site)
