"""One budget for a workflow: its shares, what is left, and what steps cost together."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import ParameterError
from confide.learning.workflow import BudgetSplit, together

epsilons = st.fractions(Fraction(1, 1000), Fraction(1000))
flags = st.booleans()


@given(epsilons, flags, flags)
def test_the_steps_cost_the_budget_together_exactly(budget: Fraction, selects: bool, parallel: bool) -> None:
    plan = BudgetSplit(budget=budget, selects=selects, parallel=parallel)
    assert together(plan.shares, parallel=parallel) == budget
    assert set(plan.shares) == ({"select", "train", "evaluate"} if selects else {"train", "evaluate"})
    assert all(cost > 0 for cost in plan.shares.values())


@given(epsilons, flags, st.fractions(Fraction(1, 1000), Fraction(999, 1000)))
def test_what_selecting_cost_is_not_left_for_training(budget: Fraction, parallel: bool, share: Fraction) -> None:
    plan = BudgetSplit(budget=budget, selects=True, parallel=parallel)
    training = plan.shares["select"] + plan.shares["train"]
    spent = training * share
    costs = {"select": spent, "train": plan.left("train", spent), "evaluate": plan.left("evaluate", spent)}
    assert together(costs, parallel=parallel) == budget
    assert plan.left("train", plan.shares["select"]) == plan.shares["train"]
    for too_much in (training, training + budget):
        with pytest.raises(ParameterError, match="larger `budget`"):
            plan.left("train", too_much)


@given(st.dictionaries(st.sampled_from(["select", "train", "evaluate"]), epsilons), flags)
def test_together_is_the_dearer_side_or_the_sum(costs: dict[str, Fraction], parallel: bool) -> None:
    evaluation = costs.get("evaluate", Fraction(0))
    others = sum(costs.values(), Fraction(0)) - evaluation
    assert together(costs, parallel=parallel) == (max(others, evaluation) if parallel else others + evaluation)


def test_shares_as_documented() -> None:
    assert dict(BudgetSplit(budget=Fraction(1), selects=True, parallel=False).shares) == {
        "select": Fraction(2, 5),
        "train": Fraction(2, 5),
        "evaluate": Fraction(1, 5),
    }
    assert dict(BudgetSplit(budget=Fraction(3), selects=False, parallel=True).shares) == {"train": 3, "evaluate": 3}
    for budget in (0, -1, "much"):
        with pytest.raises(ParameterError):
            BudgetSplit(budget=budget, selects=True, parallel=True)  # type: ignore[arg-type]
