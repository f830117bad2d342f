"""Gaussian noise on scores and counts of features covers every neighbour, and no more than that."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from confide.errors import ParameterError
from confide.features import FeatureRows
from confide.learning.naive_bayes import Recipe, prepare_naive_bayes
from confide.learning.selection_methods import prepare_selection
from confide.privacy.accounting import rho_for
from confide.privacy.concentration import rho_of_pure
from confide.privacy.mechanisms.feature_counts import concentrated_feature_counts, feature_counts, read_feature_counts
from confide.privacy.mechanisms.feature_scores import SCORES
from confide.privacy.mechanisms.row_limits import RowLimit
from confide.privacy.mechanisms.score_perturbation import concentrated_scores
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import IntegerQuery
from tests.audits.exhaustive import concentrated_loss
from tests.features import Dense, every_row, neighbours_of, of_rows
from tests.noises import RELATIONS, SILENT, seeded

RHO, DELTA = Fraction(1, 7), Fraction(1, 10**6)
WIDTH = 2
ROWS = of_rows([((1, 0), True), ((1, 1), False), ((0, 1), False), ((1, 1), True)], WIDTH)


def largest(relation: str, ask: Callable[[FeatureRows], IntegerQuery]) -> Fraction:
    """The largest rho over all datasets of two rows and their neighbours."""
    asked: dict[tuple[bytes, ...], IntegerQuery] = {}

    def query(rows: FeatureRows) -> IntegerQuery:
        key = (rows.features.tobytes(), rows.starts.tobytes(), rows.labels.tobytes())
        return asked.get(key) or asked.setdefault(key, ask(rows))

    different: dict[tuple[tuple[int, ...], tuple[int, ...]], Fraction] = {}
    for table in combinations_with_replacement(every_row(WIDTH), 2):
        labels = np.array([label for _, label in table], dtype=bool)
        dense = Dense(matrix=np.array([features for features, _ in table]), labels=labels)
        ours = of_rows(list(table), WIDTH)
        for theirs in neighbours_of(dense, relation):
            one, other = query(ours), query(theirs)
            if (one.values, other.values) not in different:
                different[one.values, other.values] = concentrated_loss(one, other)
    return max(different.values())


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("score", SCORES[:3])
@pytest.mark.parametrize("most", [1, None])
def test_no_neighbour_costs_the_scores_more_than_rho(score: str, relation: str, most: int | None) -> None:
    if (score, relation) == ("total-count", "label-only"):
        assert not concentrated_scores(ROWS, score, RHO, Neighbours(relation), most_features=most).noisy
        return
    neighbours = Neighbours(relation)
    found = largest(relation, lambda rows: concentrated_scores(rows, score, RHO, neighbours, most_features=most))
    assert RHO / 8 < found <= RHO


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("limit", [RowLimit(kind=kind, worth=k) for kind in ("spread", "sample") for k in (1, 2)])
def test_no_neighbour_costs_the_counts_more_than_rho_and_some_cost_all_of_it(relation: str, limit: RowLimit) -> None:
    found = largest(relation, lambda rows: concentrated_feature_counts(rows, RHO, Neighbours(relation), limit=limit))
    assert RHO * (1 - Fraction(1, 2**50)) < found <= RHO


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_counts_are_those_of_laplace_noise_and_the_scale_is_that_of_its_variance(relation: str) -> None:
    limit, neighbours = RowLimit(kind="sample", worth=2), Neighbours(relation)
    pure, ours = (ask(ROWS, RHO, neighbours, limit=limit) for ask in (feature_counts, concentrated_feature_counts))
    assert ours.values == pure.values
    read = read_feature_counts(ours.draw(SILENT), ours, ROWS, neighbours, limit=limit)
    assert 2 * read.scale**2 == pytest.approx((float(ours.scales[0]) / 2**16) ** 2)


def selected(**given: Any) -> Any:
    asked = {"method": "score-perturbation", "k": 1, "epsilon": 1, "mechanism": "gaussian", "delta": DELTA, **given}
    return prepare_selection(ROWS, **asked)


@pytest.mark.parametrize("asked", [{}, {"method": "clusters", "k": None, "threshold": 1.0, "clusters": 2}])
def test_a_selection_states_its_rho(asked: dict[str, Any]) -> None:
    prepared = selected(**asked)
    assert (prepared.guarantee.rho, prepared.guarantee.delta) == (rho_for(Fraction(1), DELTA), DELTA)
    assert prepared.request["noise"] == "gaussian"
    assert prepared.draw(seeded(3))[0].guarantee == prepared.guarantee
    pure = selected(**asked, mechanism="laplace", delta=0)
    assert pure.guarantee.rho is None
    assert "noise" not in pure.request  # as ledgers know it


def test_naive_bayes_states_the_rho_of_counts_and_histogram() -> None:
    prepared = prepare_naive_bayes(
        ROWS, epsilon=1, mechanism="gaussian", delta=DELTA, recipe=Recipe(calibration=Fraction(1, 10))
    )
    assert prepared.guarantee.rho == rho_for(Fraction(9, 10), DELTA) + rho_of_pure(Fraction(1, 10))
    assert prepared.guarantee.delta == DELTA
    assert np.isfinite(prepared.draw(seeded(4))[0].intercept)
    assert "noise" not in prepare_naive_bayes(ROWS, epsilon=1).request


def test_what_does_not_fit_together_is_refused() -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"mechanism": "laplace"}, "delta is for Gaussian noise"),
        ({"delta": 0}, "give delta"),
        ({"mechanism": "cauchy"}, "mechanism must be one of laplace, gaussian"),
        ({"method": "peeling"}, "adds no Gaussian noise"),
    ]
    for asked, message in refused:
        with pytest.raises(ParameterError, match=message):
            selected(**asked)
