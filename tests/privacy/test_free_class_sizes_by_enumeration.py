"""AUC at the local scale and the integer that follows it lose epsilon together: all small datasets with ties.

The loss of the integer, given AUC, is added to that of AUC at each output. Beside the sound mechanism stand others in
which a part of the integer's rate is left out: they lose more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from confide.counts import FloatArray
from confide.privacy.mechanisms.free_class_sizes import REACH, STEPS, auc_then_sizes, free_sizes
from confide.privacy.mechanisms.local_auc import LocalParameters, local_auc, local_parameters
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import GRID, FollowedQuery, Noise
from tests.privacy.test_local_auc_by_enumeration import (
    ADD_REMOVE,
    HALF,
    LABEL,
    REPLACE,
    THREE_QUARTERS,
    Law,
    Table,
    counts_of,
    law_of,
    neighbours_of,
    parameters_of,
    smallest_least,
    tables,
    two_levels,
)


@dataclass(frozen=True)
class Following:
    """The integer that follows an output: the least size that it tells apart, and the loss of one step of it."""

    least: FloatArray
    rate: FloatArray


Follow = Callable[[FloatArray], Following]
"""What follows each output."""


# --- what follows


def in_use(parameters: LocalParameters) -> Follow:
    """What the code draws: it is the same between two steps of the distance from the nearer end."""
    half = STEPS // 2
    found = [free_sizes(parameters, Fraction(step, STEPS) + 2 * GRID) for step in range(half)]
    least = np.array([1.0 if free is None else float(free.least) for free in found])
    rate = np.array([0.0 if free is None else float(1 / free.scale) for free in found])

    def follow(outputs: FloatArray) -> Following:
        distance = np.minimum(outputs, 1.0 - outputs)
        step = np.minimum(np.floor(STEPS * distance - 1e-9).astype(int), half - 1)
        return Following(least[step], np.where(step < 0, 0.0, rate[step]))

    return follow


def allowed(parameters: LocalParameters, least: int) -> Follow:
    """The largest rate that the proof allows, with any least size from n0 on."""
    epsilon, rows = float(parameters.epsilon), parameters.rows

    def follow(outputs: FloatArray) -> Following:
        distance = np.minimum(outputs, 1.0 - outputs)
        rate = epsilon * distance - 1.0 / least
        if rows is not None:
            rate = np.minimum(rate, min(epsilon - 1.0 / parameters.least, epsilon * 8.0 / 9.0) * distance) / rows
        return Following(np.full(outputs.shape, float(least)), np.maximum(rate, 0.0))

    return follow


# --- losses


Answer = tuple[float, float, float, float]
"""Value of AUC and the size that scales its noise; the numbers of positives and negatives."""


def differing_pairs(every: list[Table], parameters: LocalParameters) -> FloatArray:
    """Answers of neighbours, each pair in one row."""

    @cache
    def answer(table: Table) -> Answer:
        asked = local_auc(counts_of(table), parameters)
        assert isinstance(asked.scale, Fraction)
        return float(asked.value), float(1 / (asked.scale * parameters.epsilon)), sum(table[::2]), sum(table[1::2])

    found = {answer(one) + answer(other) for one in every for other in neighbours_of(one, parameters.neighbours)}
    return np.array(sorted(found))


def joint_loss(every: list[Table], parameters: LocalParameters, follow: Follow, law: Law | None = None) -> float:
    """The largest loss of both numbers together, over epsilon."""
    epsilon, law = float(parameters.epsilon), law or law_of(parameters)
    found = differing_pairs(every, parameters)
    sides = found[:, :4].T[:, :, None], found[:, 4:].T[:, :, None]
    usual = np.concatenate([np.arange(STEPS) / STEPS + shift for shift in (1e-7, 0.5 / STEPS)])
    near = [
        value + side / (epsilon * size) for value, size, _, _ in sides for side in (-1.0, -0.5, -1e-9, 1e-9, 0.5, 1.0)
    ]
    outputs = np.concatenate((np.broadcast_to(usual, (len(found), usual.size)), *near), axis=1)
    outputs = np.clip(outputs, 1e-9, 1.0 - 1e-9)
    densities = [np.log(size) + law.log_density(epsilon * size * (outputs - value)) for value, size, _, _ in sides]
    following = follow(outputs)
    integers = [_integer(ours, theirs, following.least, parameters.rows) for _, _, ours, theirs in sides]
    of_auc, of_integer = np.abs(densities[0] - densities[1]), following.rate * np.abs(integers[0] - integers[1])
    return float((of_auc + of_integer).max()) / epsilon


def _integer(ours: FloatArray, theirs: FloatArray, least: FloatArray, rows: int | None) -> FloatArray:
    if rows is None:
        return np.maximum(np.minimum(ours, theirs), least)
    return np.maximum(ours * theirs, least * (rows - least))


@pytest.mark.few(2)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize(("rows", "levels"), [(6, 3), (12, 2)])
@pytest.mark.parametrize("epsilon", [Fraction(3, 2), Fraction(4)], ids=str)
def test_both_numbers_lose_no_more_than_one(relation: Neighbours, rows: int, levels: int, epsilon: Fraction) -> None:
    check_all(relation, rows, levels, epsilon)


@pytest.mark.long
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize(("rows", "levels"), [(7, 3), (18, 2)])
def test_both_numbers_of_more_rows_lose_no_more(relation: Neighbours, rows: int, levels: int) -> None:
    for epsilon in (Fraction(1), Fraction(5, 2)):
        check_all(relation, rows, levels, epsilon)


def check_all(relation: Neighbours, rows: int, levels: int, epsilon: Fraction) -> None:
    parameters = parameters_of(relation, epsilon, rows, smallest_least(epsilon), HALF)
    every = list(tables(rows, levels))
    assert joint_loss(every, parameters, in_use(parameters)) <= 1.0 + 1e-7
    for least in range(parameters.least, rows // 2):
        assert joint_loss(every, parameters, allowed(parameters, least)) <= 1.0 + 1e-7


def test_the_integer_in_use_pays_for_the_normaliser() -> None:
    """The cheapest datasets on which the rate in use would lose more than epsilon without `1/n1`."""
    parameters = parameters_of(ADD_REMOVE, Fraction(1, 2), 60, 14, HALF)
    every, follow = list(two_levels(15, 45)), in_use(parameters)

    def unpaid(outputs: FloatArray) -> Following:
        found = follow(outputs)
        return Following(found.least, found.rate + np.where(found.rate > 0.0, 1.0 / found.least, 0.0))

    assert joint_loss(every, parameters, follow) <= 1.0 + 1e-7
    assert joint_loss(every, parameters, unpaid) > 1.01


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize(("epsilon", "least"), [("3", 2), ("1/2", 3), ("3", 10)])
def test_the_rate_in_use_is_within_the_proof(relation: Neighbours, epsilon: str, least: int) -> None:
    """At every step of the distance, each of the proof's limits of the rate holds, and `n1` is at least `n0`.

    The first limit leaves `1/n1` to the noise of AUC; each of the others is the narrowest for one of these parameters.
    """
    parameters = parameters_of(relation, Fraction(epsilon), 60, least, HALF)
    found = [(step, free_sizes(parameters, Fraction(step, STEPS) + 2 * GRID)) for step in range(STEPS // 2)]
    drawn = [(Fraction(step, STEPS), free) for step, free in found if free is not None]
    assert len(drawn) > 10
    for distance, free in drawn:
        rate = (1 if parameters.rows is None else parameters.rows) / free.scale
        assert rate <= parameters.epsilon * distance - Fraction(1, free.least)
        assert free.least >= parameters.least
        if parameters.rows is not None:
            assert rate <= (parameters.epsilon - Fraction(1, parameters.least)) * distance
            assert rate <= Fraction(8, 9) * parameters.epsilon * distance


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE])
def test_classes_of_every_size_lose_no_more(relation: Neighbours) -> None:
    """Two levels and thirty rows, from the least class to even ones."""
    for epsilon, least in ((Fraction(1), 8), (Fraction(3), 2)):
        parameters = parameters_of(relation, epsilon, 30, least, HALF)
        for positives in (least + 1, 13):
            every = list(two_levels(positives, 30 - positives))
            assert joint_loss(every, parameters, in_use(parameters)) <= 1.0 + 1e-7
            assert joint_loss(every, parameters, allowed(parameters, least)) <= 1.0 + 1e-7


@pytest.mark.parametrize("relation", list(Neighbours))
def test_something_is_drawn_and_the_room_is_used(relation: Neighbours) -> None:
    """Without an integer these datasets lose less than epsilon at outputs far from the ends; with it, nearly all."""
    parameters = parameters_of(relation, Fraction(4), 24, 2, THREE_QUARTERS)
    follow = in_use(parameters)
    every = list(two_levels(4, 20))
    middle = np.array([0.5])
    assert follow(middle).rate[0] > 0.0
    assert joint_loss(every, parameters, lambda outputs: _sped_up(follow(outputs), 2.5)) > 1.0


def _sped_up(following: Following, times: float) -> Following:
    return Following(following.least, times * following.rate)


# --- what becomes of it when a part is left out


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE, LABEL])
def test_without_the_price_of_the_normaliser_it_loses_more(relation: Neighbours) -> None:
    """The rate `epsilon mu`, without `1/n1`: all of it is needed where the noise gets narrower."""
    parameters = parameters_of(relation, Fraction(1, 2), 60, 5, HALF)

    def greedy(outputs: FloatArray) -> Following:
        rate = 0.5 * np.minimum(outputs, 1.0 - outputs) / (1.0 if relation == ADD_REMOVE else 60.0)
        return Following(np.full(outputs.shape, 5.0), rate)

    every = list(two_levels(6, 54)) if relation == ADD_REMOVE else list(two_levels(5, 55))
    assert joint_loss(every, parameters, allowed(parameters, 5)) <= 1.0 + 1e-7
    assert joint_loss(every, parameters, greedy) > 1.05


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE])
def test_with_the_farther_end_it_loses_more(relation: Neighbours) -> None:
    parameters = parameters_of(relation, Fraction(2), 40, 4, HALF)

    def farther(outputs: FloatArray) -> Following:
        rate = 2.0 * np.maximum(outputs, 1.0 - outputs) - 0.25
        return Following(np.full(outputs.shape, 4.0), np.minimum(rate, 1.5) / (1.0 if relation == ADD_REMOVE else 40.0))

    assert joint_loss(list(two_levels(6, 34)), parameters, farther) > 1.1


def test_below_the_least_size_of_the_noise_it_loses_more() -> None:
    """n1 below n0: where AUC is shrunk the integer has nothing left."""
    parameters = parameters_of(REPLACE, Fraction(2), 40, 8, THREE_QUARTERS)
    every = list(two_levels(6, 34))
    assert joint_loss(every, parameters, allowed(parameters, 8)) <= 1.0 + 1e-7
    assert joint_loss(every, parameters, allowed(parameters, 6)) > 1.05


# --- parameters and draws


@pytest.mark.parametrize("relation", list(Neighbours))
def test_nothing_follows_near_the_ends_or_with_few_rows(relation: Neighbours) -> None:
    rows = None if relation == ADD_REMOVE else 1000
    parameters = local_parameters(Fraction(1), relation, rows)
    assert parameters is not None
    for released in (Fraction(0), GRID, Fraction(1, STEPS), 1 - Fraction(1, STEPS), Fraction(1)):
        assert free_sizes(parameters, released) is None
    found = free_sizes(parameters, Fraction(4, 5))
    assert found is not None
    assert found.least == math.ceil(REACH / Fraction(19, STEPS))  # a point of the grid just below 1/5 is not enough
    few = local_parameters(Fraction(1), relation, None if rows is None else 30)
    assert few is not None
    assert (free_sizes(few, Fraction(4, 5)) is None) == (rows is not None)


def test_a_cell_of_the_grid_is_judged_by_its_worst_point() -> None:
    parameters = local_parameters(Fraction(1), REPLACE, 1000)
    assert parameters is not None
    at, above = (free_sizes(parameters, Fraction(1, 4) + step * GRID) for step in (0, 1))
    assert at is not None
    assert above is not None
    assert above.scale < at.scale


@pytest.mark.parametrize("rows", [10, 1000, 2**30])
@pytest.mark.parametrize("epsilon", ["1/1000000", "1/3", "1000000"])
def test_noise_fits_into_64_bits(rows: int, epsilon: str) -> None:
    for relation in Neighbours:
        parameters = local_parameters(Fraction(epsilon), relation, None if relation == ADD_REMOVE else rows)
        for step in range(STEPS if parameters is not None else 0):
            assert parameters is not None
            found = free_sizes(parameters, Fraction(step, STEPS))
            assert found is None or (found.scale <= 2**55 and found.value(rows // 2, rows // 2) <= 2**62)


def test_the_integer_is_drawn_after_auc_with_its_scale() -> None:
    parameters = parameters_of(REPLACE, Fraction(4), 40, 2, THREE_QUARTERS)
    query = auc_then_sizes(counts_of((2, 20, 8, 10)), parameters)
    assert isinstance(query, FollowedQuery)
    asked: list[tuple[list[int], Fraction]] = []

    def laplace(values: list[int], scale: Fraction) -> list[int]:
        asked.append((list(values), scale))
        return [7 for _ in values]

    def between(released: Fraction) -> Noise:
        return Noise(pareto_between=lambda *_, **__: int(released / GRID), discrete_laplace=laplace)  # type: ignore[arg-type]

    free = free_sizes(parameters, Fraction(3, 4))
    assert free is not None
    assert query.draw(between(Fraction(3, 4))) == (Fraction(3, 4), (7,))
    assert asked == [([300], free.scale)]
    assert query.draw(between(Fraction(1))) == (Fraction(1), ())
    assert query.draw_many(3, between(Fraction(3, 4))) == [(Fraction(3, 4), (7,))] * 3
