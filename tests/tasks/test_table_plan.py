"""A plan for many tables gives each the most that an account then grants, and predicts the noise that is drawn."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import confide
from confide import ScoreCounts
from confide.errors import BudgetError, ParameterError
from confide.features import FeatureRows
from confide.learning.naive_bayes import prepare_naive_bayes
from confide.learning.selection_methods import prepare_selection
from confide.ledger.account import Account
from confide.ledger.account_terms import AccountTerms, Caps
from confide.ledger.spending import Budget
from confide.privacy.concentration import Concentration
from confide.privacy.guarantee import Guarantee
from confide.privacy.mechanisms.strategies import best_strategy
from confide.privacy.neighbours import Neighbours
from confide.releases.curves import prepare_curves
from confide.releases.plan_result import ADDITION, ZCDP, Share
from confide.report.plan import plan_commands, plan_page
from confide.tasks.plan import TablePlan, curve_error, plan_tables, release_parameters
from confide.tasks.requests.plan import TABLES
from tests.noises import Deaf

CAPS = Budget(epsilon=Fraction(3), delta=Fraction(1, 10**6))
COUNTS = ScoreCounts.from_arrays([0, 1] * 50, np.linspace(0.0, 1.0, 100))
FEATURES = FeatureRows.from_matrix(np.eye(40), np.arange(40) % 2 == 0)
RELATIONS = ("replace-one", "add-remove-one", "label-only")


def planned(kind: str, questions: int, neighbours: str = "add-remove-one", **more: Any) -> TablePlan:
    given: dict[str, Any] = {"epsilon": CAPS.epsilon, "delta": CAPS.delta, "rows": 5_000, **more}
    return plan_tables(kind, neighbours=neighbours, questions=questions, **given)


def guarantee(kind: str, share: Share, neighbours: str, deaf: Deaf | None = None) -> Guarantee:
    """The guarantee of a real request that is made as planned; its noise goes to `deaf`."""
    given: dict[str, Any] = {
        "epsilon": share.epsilon,
        "delta": share.delta,
        "mechanism": share.mechanism,
        "neighbours": neighbours,
    }
    if deaf is not None:
        given["noise"] = deaf.noise()
    if kind in ("roc", "pr"):
        return prepare_curves(COUNTS, **given).guarantee
    if kind == "naive-bayes":
        model = prepare_naive_bayes(FEATURES, **given)
        if deaf is not None:
            model.draw()
        return model.guarantee
    score = "difference-count" if neighbours == "label-only" else "total-count"
    selection = prepare_selection(FEATURES, method="score-perturbation", score=score, k=1, **given)
    if deaf is not None:
        selection.draw()
    return selection.guarantee


def grants(kind: str, share: Share, neighbours: str, questions: int) -> bool:
    at = Concentration.for_account(CAPS.epsilon, CAPS.delta) if share.composition == ZCDP else None
    terms = AccountTerms(neighbours=Neighbours.parse(neighbours), concentration=at, label="died", data="people")
    account = Account(name="a", terms=terms, caps=Caps(total=CAPS))
    try:
        account.require(
            [account.cost(guarantee(kind, share, neighbours), None)] * questions, None, requested=Fraction(1)
        )
    except BudgetError:
        return False
    return True


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("kind", TABLES)
def test_each_way_fits_and_hardly_more_would(kind: str, neighbours: str) -> None:
    ways = planned(kind, 60, neighbours).questions.ways
    assert {(way.share.composition, way.share.mechanism) for way in ways} == {
        (composition, mechanism) for composition in (ADDITION, ZCDP) for mechanism in ("laplace", "gaussian")
    }
    for way in ways:
        assert grants(kind, way.share, neighbours, 60)
        assert not grants(kind, way.share, neighbours, 62)


@pytest.mark.parametrize("kind", ["selection", "naive-bayes"])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_the_noise_of_a_count_is_that_which_is_drawn(kind: str, neighbours: str) -> None:
    for way in planned(kind, 60, neighbours).questions.ways:
        deaf = Deaf()
        guarantee(kind, way.share, neighbours, deaf)
        family, _, scale = deaf.heard[0]
        in_rows = float(scale) / (2**16 if kind == "naive-bayes" else 1)  # type: ignore[arg-type]
        assert way.mean_absolute_error == pytest.approx(in_rows * (2**0.5 if family == "laplace" else 1.0))


@pytest.mark.parametrize(("gaussian", "cells"), [(False, 16), (False, 128), (True, 128)])
def test_the_error_of_rates_against_drawn_tables(gaussian: bool, cells: int) -> None:
    """Classes in equally full cells, rows in random order within them; 4,000 tables give it to three per cent."""
    rng, sizes, deviation = np.random.default_rng(0), np.array([1_000.0, 4_000.0]), 3.0
    strategy = best_strategy(cells, gaussian=gaussian)
    levels = strategy.levels(cells) ** (1 if gaussian else 2)
    shape = (4_000, 2, strategy.measure(np.zeros(cells, dtype=np.int64)).size)
    spread = deviation * levels**0.5
    drawn = rng.normal(0.0, spread, shape) if gaussian else rng.laplace(0.0, spread / 2**0.5, shape)
    sums = np.cumsum(strategy.reconstruct(drawn, cells), axis=-1)
    off = sums - np.arange(1, cells + 1) / cells * sums[..., -1:]
    hidden = (sizes / (6.0 * cells)) / sizes**2
    found = np.sqrt(((off**2).mean(axis=(0, 2)) / sizes**2 + hidden).sum())
    assert curve_error(sizes, deviation, cells, gaussian=gaussian) == pytest.approx(found, rel=0.03)


def test_few_curves_add_up_and_many_compose() -> None:
    few, many = planned("roc", 3), planned("roc", 60)
    assert few.questions.best.share.composition == ADDITION
    assert (many.questions.best.share.composition, many.questions.best.share.mechanism) == (ZCDP, "gaussian")
    assert "zcdp is cheaper for 60 questions" in many.questions.why
    assert "zcdp needs a delta" in planned("roc", 60, delta=0).questions.why


def test_the_commands_and_the_page_say_what_to_do() -> None:
    found = confide.plan("roc_curve", rows=5_000, epsilon=3, delta="1e-6", questions=60)
    assert isinstance(found, TablePlan)
    first, second = plan_commands(found, release_parameters(found))
    assert first == "confide ledger new NAME --epsilon 3 --delta 1e-06 --composition zcdp"
    assert "--metric roc" in second
    assert second.endswith("--mechanism gaussian --account NAME")
    assert "both rates of the ROC curve" in plan_page(found, title="Plan")
    assert "population_width" not in str(found.to_dict())
    model = confide.plan("naive-bayes", rows=5_000, epsilon=3, questions=2)
    assert plan_commands(model, release_parameters(model))[-1].startswith("confide train FILE --label COL")


@pytest.mark.parametrize(
    ("kind", "more", "says"),
    [
        ("roc", {"expected": 0.8}, "leave `expected`"),
        ("roc", {"width": 0.1}, "leave `expected` and `width` out"),
        ("roc", {"epsilon": None}, "give epsilon"),
        ("roc", {"questions": 0}, "whole number"),
        ("roc", {"questions": 10**9}, "too small for"),
        ("roc", {"rows": 1}, "rows"),
        ("selection", {"prevalence": 0.2}, "leave it out"),
    ],
)
def test_wrong_plans_are_refused(kind: str, more: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        confide.plan(kind, **{"rows": 5_000, "epsilon": 3, **more})
