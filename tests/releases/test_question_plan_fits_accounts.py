"""A plan for many questions gives each the most that an account then grants."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from confide.errors import BudgetError, ParameterError
from confide.ledger.account import Account
from confide.ledger.account_terms import AccountTerms, Caps
from confide.ledger.spending import Budget
from confide.privacy.concentration import Concentration
from confide.privacy.neighbours import Neighbours
from confide.releases.confusion import prepare_confusion
from confide.releases.plan import plan
from confide.releases.plan_result import ADDITION, ZCDP, QuestionPlan, QuestionWay, Share
from confide.releases.registry import prepare
from confide.releases.simulation import make_stand_in
from confide.report.plan import plan_advice, plan_commands
from confide.tasks.plan import release_parameters

# How wide intervals are does not matter here.
pytestmark = [
    pytest.mark.usefixtures("few_simulated_tables"),
]

CAPS = Budget(epsilon=Fraction(3), delta=Fraction(1, 10**6))
COUNTS = make_stand_in("recall", 500, 0.3, None).counts


def account_for(share: Share, neighbours: str) -> Account:
    zcdp = share.composition == ZCDP
    at = Concentration.for_account(CAPS.epsilon, CAPS.delta) if zcdp else None
    return Account(
        name="a",
        terms=AccountTerms(neighbours=Neighbours.parse(neighbours), concentration=at),
        caps=Caps(total=CAPS),
    )


def grants(share: Share, neighbours: str, metric: str, questions: int) -> bool:
    """Whether an account opened as planned grants so many releases that are asked for as planned."""
    terms: dict[str, Any] = {"epsilon": share.epsilon, "delta": share.delta, "neighbours": neighbours}
    (prepared,) = prepare(metric, COUNTS, mechanism=share.mechanism, **terms)
    account = account_for(share, neighbours)
    costs = [account.cost(prepared.guarantee, None)] * questions
    try:
        account.require(costs, None, requested=Fraction(1))
    except BudgetError:
        return False
    return True


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("metric", "questions", "neighbours"),
    [("recall", 7, "replace-one"), ("recall", 60, "add-remove-one"), ("auc", 300, "replace-one")],
)
def test_each_way_fits_and_hardly_more_would(metric: str, questions: int, neighbours: str) -> None:
    many = planned(metric, questions, neighbours=neighbours)
    assert {way.share.composition for way in many.ways} == {ADDITION, ZCDP}
    for way in many.ways:
        assert grants(way.share, neighbours, metric, questions)
        assert not grants(way.share, neighbours, metric, questions + 1 + questions // 100)


@pytest.mark.long
def test_few_questions_add_up_and_many_compose() -> None:
    few, many = planned("recall", 3), planned("recall", 100)
    assert few.best.share.composition == ADDITION
    assert "addition is cheaper for 3 questions" in few.why
    best = many.best.share
    assert (best.composition, best.mechanism, best.delta) == (ZCDP, "gaussian", CAPS.delta)
    asked = prepare_confusion(COUNTS, mechanism="gaussian", epsilon=best.epsilon, delta=best.delta)
    assert asked.guarantee.rho == best.rho
    other = many.best_by(ADDITION)
    assert other is not None
    assert many.best.mean_absolute_error < other.mean_absolute_error / 2


def test_without_a_delta_only_addition_is_planned() -> None:
    many = planned("recall", 4, delta=0)
    assert [way.share.epsilon for way in many.ways] == [Fraction(3, 4)]
    assert "zcdp needs a delta" in many.why


def test_the_commands_open_the_account_and_ask_each_question() -> None:
    found = whole("recall", 100)
    first, second = plan_commands(found, release_parameters(found))
    assert first == "confide ledger new NAME --epsilon 3 --delta 1e-06 --composition zcdp"
    assert second.endswith("--delta 1e-06 --mechanism gaussian --account NAME")
    assert any("zcdp is cheaper for 100 questions" in line for line in plan_advice(found))
    assert found.to_dict()["questions"]["best"]["composition"] == "zcdp"


def test_a_way_without_a_value_is_never_the_best() -> None:
    none, some = (
        QuestionWay(
            share=Share(composition=ADDITION, mechanism="m", epsilon=Fraction(1), delta=Fraction(0)),
            mean_absolute_error=error,
            population_width=1.0,
        )
        for error in (float("nan"), 2.0)
    )
    assert QuestionPlan(questions=1, epsilon=Fraction(1), delta=Fraction(0), ways=(none, some)).best == some
    assert none.to_dict()["mean_absolute_error"] is None


@pytest.mark.parametrize("questions", [0, -1, True, 1.5])
def test_a_number_of_questions_is_whole(questions: Any) -> None:
    with pytest.raises(ParameterError, match="questions must be a whole number"):
        plan("auc", rows=100, epsilon=1, curve=False, questions=questions)


def test_too_many_questions_are_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon is too small for 9,000,000 questions"):
        planned("recall", 9_000_000, delta=0)


def planned(metric: str, questions: int, **terms: Any) -> QuestionPlan:
    found: QuestionPlan | None = whole(metric, questions, **terms).questions
    assert found is not None
    return found


@cache
def whole(metric: str, questions: int, **terms: Any) -> Any:
    given = {"epsilon": CAPS.epsilon, "delta": CAPS.delta, "rows": 500, "prevalence": 0.3, "curve": False, **terms}
    return plan(metric, questions=questions, **given)
