"""What private logistic regression loses, by brute force: minima that move, densities that differ, and broken twins."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit

from confide.errors import ParameterError
from confide.privacy.mechanisms.logistic_minimum import distance_bound, near_minimum
from confide.privacy.mechanisms.objective_perturbation import (
    ROUNDING_SHARE,
    TiltedQuery,
    objective_perturbation,
    row_price,
    tilt_rate,
)
from confide.privacy.mechanisms.output_perturbation import output_perturbation
from confide.privacy.mechanisms.unit_rows import UnitRows, unit_rows
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import lower_exponential
from confide.privacy.queries import SphericalQuery, power_of_two_below
from tests.noises import FORBIDDEN, SILENT, Deaf

Floats = NDArray[np.float64]
Row = tuple[float, bool]
Data = tuple[Row, ...]

EVERY = tuple(Neighbours)
UNIVERSE: tuple[Row, ...] = tuple(product((-1.0, -0.5, 0.5, 1.0), (False, True)))


def read(data: Data) -> UnitRows:
    matrix = np.array([[x] for x, _ in data]).reshape(-1, 1)
    return unit_rows(matrix, np.array([label for _, label in data], dtype=np.bool_), row_norm=1.0, intercept=False)


def next_to(data: Data, neighbours: Neighbours) -> Iterator[Data]:
    """All neighbours with rows from the universe; under add-remove-one those with a row more."""
    if neighbours == Neighbours.ADD_REMOVE_ONE:
        yield from ((*data, row) for row in UNIVERSE)
    for place, (x, label) in enumerate(data):
        rest = data[:place] + data[place + 1 :]
        if neighbours == Neighbours.LABEL_ONLY:
            yield (*rest, (x, not label))
        elif neighbours == Neighbours.REPLACE_ONE:
            yield from ((*rest, row) for row in UNIVERSE)


def pairs(neighbours: Neighbours, most: int = 2) -> list[tuple[Data, Data]]:
    small = (data for size in range(most + 1) for data in combinations_with_replacement(UNIVERSE, size))
    return [(data, other) for data in small for other in next_to(data, neighbours)]


# Many short rows push the weight far from 0 and bend the loss little, so that one more row moves it almost as far as
# the bound allows.
_PUSHED: Data = ((0.01, True),) * 4000
STRAINED = {
    Neighbours.ADD_REMOVE_ONE: (_PUSHED, (*_PUSHED, (1.0, False))),
    Neighbours.REPLACE_ONE: ((*_PUSHED[:1600], (1.0, True)), (*_PUSHED[:1600], (1.0, False))),
    Neighbours.LABEL_ONLY: ((*_PUSHED, (1.0, True)), (*_PUSHED, (1.0, False))),
}


# --- output perturbation


def output_loss(pair: tuple[Data, Data], regularization: Fraction, scale: Fraction) -> float:
    """The largest log-ratio of two densities of Laplace noise around what is computed for each."""
    ours, theirs = (near_minimum(read(data), regularization)[0] for data in pair)
    return float(abs(ours - theirs) / scale)


@pytest.mark.parametrize("neighbours", EVERY)
@pytest.mark.parametrize("regularization", [Fraction(1, 64), Fraction(1)])
def test_minima_move_no_further_than_output_perturbation_pays_for(
    neighbours: Neighbours, regularization: Fraction
) -> None:
    epsilon = Fraction(1, 2)
    scale = output_perturbation(read(()), regularization, epsilon, neighbours).scale
    losses = [output_loss(pair, regularization, scale) for pair in pairs(neighbours, most=1)]
    assert max(losses) <= epsilon
    assert output_loss(STRAINED[neighbours], regularization, scale) <= epsilon


@pytest.mark.parametrize("neighbours", [Neighbours.ADD_REMOVE_ONE, Neighbours.LABEL_ONLY])
def test_half_the_noise_would_be_too_little(neighbours: Neighbours) -> None:
    query = output_perturbation(read(()), Fraction(1), Fraction(1), neighbours)
    assert output_loss(STRAINED[neighbours], Fraction(1), query.scale / 2) > 1.5


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("neighbours", EVERY)
def test_minima_of_several_weights_move_no_further_either(neighbours: Neighbours, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, labels = rng.normal(size=(9, 3)) * 2, rng.random(9) < 0.5
    scale = output_perturbation(_rows(matrix, labels), Fraction(1, 4), Fraction(1), neighbours).scale
    here = near_minimum(_rows(matrix, labels), Fraction(1, 4))
    for other in _changed(matrix, labels, neighbours, rng):
        there = near_minimum(other, Fraction(1, 4))
        assert math.dist([float(w) for w in here], [float(w) for w in there]) <= float(scale)


# --- objective perturbation, in one dimension


GRID = np.linspace(-60.0, 60.0, 2401)
FLOATS = 1e-9  # their rounding, in this check


def log_density(data: Data, weights: Floats, regularization: float, rate: float) -> Floats:
    """Of the exact minimum: the density of the tilt that leads there, times how fast tilts change there."""
    tilt, bend = regularization * weights, np.full_like(weights, regularization)
    for (x, label), times in Counter(data).items():
        y = 1.0 if label else -1.0
        missing = expit(-y * x * weights)
        tilt = tilt - times * y * x * missing
        bend = bend + times * x * x * missing * (1.0 - missing)
    density: Floats = np.log(rate / 2.0) - rate * np.abs(tilt) + np.log(bend)
    return density


def objective_loss(pair: tuple[Data, Data], regularization: Fraction, rate: Fraction) -> float:
    ours, theirs = (log_density(data, GRID, float(regularization), float(rate)) for data in pair)
    return float(np.abs(ours - theirs).max())


CASES = [(Fraction(1), Fraction(1, 4)), (Fraction(1), Fraction(1, 2)), (Fraction(1), Fraction(2)), (3, Fraction(1, 30))]


@pytest.mark.parametrize("neighbours", EVERY)
@pytest.mark.parametrize(("epsilon", "regularization"), CASES)
def test_the_exact_minimum_costs_no_more_than_epsilon(
    epsilon: Fraction, regularization: Fraction, neighbours: Neighbours
) -> None:
    rate = tilt_rate(regularization, Fraction(epsilon), neighbours)
    every = [*pairs(neighbours), STRAINED[neighbours]]
    assert max(objective_loss(pair, regularization, rate) for pair in every) <= epsilon + FLOATS


def test_densities_are_densities() -> None:
    data: Data = ((1.0, True), (0.5, False))
    weights = np.linspace(-60.0, 60.0, 100001)
    density = np.exp(log_density(data, weights, 1.0, 2.0))
    assert np.trapezoid(density, weights) == pytest.approx(1.0, abs=1e-4)


# Without bending the loss, short rows let the tilt be large where one more row's probability is any that one likes.
_LEANING: Data = ((0.0001, False),) * 400_000
_LEANT = (_LEANING, (*_LEANING, (1.0, True)))


@pytest.mark.parametrize(("epsilon", "regularization"), CASES[:2])
def test_one_row_more_can_cost_all_of_it(epsilon: Fraction, regularization: Fraction) -> None:
    """So that the price could not be lower."""
    rate = tilt_rate(regularization, epsilon, Neighbours.ADD_REMOVE_ONE)
    assert 0.98 * epsilon < objective_loss(_LEANT, regularization, rate) <= epsilon + FLOATS


@pytest.mark.parametrize(("regularization", "cost"), [(Fraction(1, 64), 3.0), (Fraction(1, 4), 1.3)])
def test_without_the_price_of_the_change_of_variables_it_would_cost_more(regularization: Fraction, cost: float) -> None:
    assert objective_loss(_LEANT, regularization, Fraction(1)) > cost


def test_from_one_over_epsilon_on_the_change_of_variables_costs_nothing() -> None:
    assert tilt_rate(Fraction(2), Fraction(1, 2), Neighbours.ADD_REMOVE_ONE) == Fraction(1, 2)
    assert tilt_rate(Fraction(2), Fraction(1), Neighbours.REPLACE_ONE) == Fraction(1, 2)
    assert tilt_rate(Fraction(199, 100), Fraction(1, 2), Neighbours.ADD_REMOVE_ONE) < Fraction(1, 2)
    assert tilt_rate(Fraction(1, 64), Fraction(1, 100), Neighbours.LABEL_ONLY) == Fraction(1, 100)


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("regularization", [Fraction(1, 64), Fraction(1, 2), Fraction(1), Fraction(30)])
def test_the_price_of_a_row_is_the_maximum_over_its_probability(rate: Fraction, regularization: Fraction) -> None:
    def missing(p: float) -> float:
        return -(float(rate) * p + math.log1p(p * (1 - p) / float(regularization)))

    lowest = minimize_scalar(missing, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-12}).fun
    highest = -min(lowest, missing(1.0))
    price = float(row_price(rate, regularization))
    assert price == pytest.approx(highest, abs=1e-9)
    assert price >= highest - 1e-15
    assert price <= float(rate) + math.log1p(1 / (4 * float(regularization)))


@pytest.mark.parametrize("neighbours", [Neighbours.ADD_REMOVE_ONE, Neighbours.REPLACE_ONE])
def test_the_rate_is_as_large_as_can_be(neighbours: Neighbours) -> None:
    epsilon, regularization = Fraction(1), Fraction(1, 3)
    rate = tilt_rate(regularization, epsilon, neighbours)
    more = rate if neighbours == Neighbours.REPLACE_ONE else 0
    assert epsilon - Fraction(1, 10**12) < row_price(rate, regularization) + more <= epsilon


@pytest.mark.parametrize("neighbours", [Neighbours.ADD_REMOVE_ONE, Neighbours.REPLACE_ONE])
def test_what_cannot_be_had_is_refused_with_the_least_strength_that_can(neighbours: Neighbours) -> None:
    epsilon = Fraction(1, 2)
    least = 1 / (4 * (lower_exponential(epsilon) - 1))
    with pytest.raises(ParameterError) as refused:
        tilt_rate(least * Fraction(999, 1000), epsilon, neighbours)
    said = Fraction(str(refused.value).partition("at least ")[2].partition(", ")[0])
    assert least < said < least * Fraction(101, 100)
    assert 0 < tilt_rate(said, epsilon, neighbours) < Fraction(1, 10)


# --- objective perturbation, with several weights


def _rows(matrix: Floats, labels: NDArray[np.bool_]) -> UnitRows:
    return unit_rows(matrix, labels, row_norm=1.0, intercept=False)


def _changed(
    matrix: Floats, labels: NDArray[np.bool_], neighbours: Neighbours, rng: np.random.Generator
) -> Iterator[UnitRows]:
    for place in range(len(labels)):
        kept = np.arange(len(labels)) != place
        if neighbours == Neighbours.ADD_REMOVE_ONE:
            yield _rows(matrix[kept], labels[kept])
        elif neighbours == Neighbours.LABEL_ONLY:
            yield _rows(matrix, np.where(kept, labels, ~labels))
        else:
            another = np.where(kept[:, None], matrix, 3.0 * rng.normal(size=matrix.shape[1]))
            yield _rows(another, np.where(kept, labels, rng.random() < 0.5))


@dataclass(frozen=True)
class Density:
    """The log-density of the exact minimum, but for a constant; `lean` is what very many, very short rows add."""

    regularization: float
    rate: float
    lean: tuple[float, ...] = (0.0, 0.0, 0.0)

    def at(self, rows: UnitRows, weights: Floats) -> float:
        x = rows.matrix / 2.0**20
        y = np.where(rows.labels, 1.0, -1.0)
        missing = expit(-y * (x @ weights))
        gradient = self.regularization * weights - (y * missing) @ x + self.lean
        bend = (x.T * (missing * (1.0 - missing))) @ x + self.regularization * np.eye(weights.size)
        return float(-self.rate * np.linalg.norm(gradient) + np.linalg.slogdet(bend)[1])


@pytest.mark.parametrize("neighbours", EVERY)
@pytest.mark.parametrize("regularization", [Fraction(1, 4), Fraction(3)])
def test_several_weights_cost_no_more_than_epsilon(neighbours: Neighbours, regularization: Fraction) -> None:
    epsilon = Fraction(1)
    density = Density(float(regularization), float(tilt_rate(regularization, epsilon, neighbours)))
    highest = 0.0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        matrix, labels = rng.normal(size=(4, 3)), rng.random(4) < 0.5
        points = rng.normal(size=(20, 3)) * rng.choice([0.1, 1.0, 10.0], size=(20, 1))
        for other in _changed(matrix, labels, neighbours, rng):
            losses = [abs(density.at(_rows(matrix, labels), w) - density.at(other, w)) for w in points]
            highest = max(highest, *losses)
    assert 0.3 < highest <= epsilon


def test_a_replaced_row_can_cost_all_of_it() -> None:
    """Two rows that are both all but certainly misjudged, and pull in opposite directions."""
    rate = tilt_rate(Fraction(2), Fraction(1), Neighbours.REPLACE_ONE)
    density = Density(2.0, float(rate), lean=(4000.0, 0.0, 50.0))
    pair = [_rows(np.array([[0.01, 0.0, side]]), np.array([True])) for side in (-0.9999, 0.9999)]
    here, there = (density.at(rows, np.array([-2000.0, 0.0, 0.0])) for rows in pair)
    assert 0.99 < abs(here - there) <= 1.0


# --- what is drawn


def test_the_noise_on_the_weights_covers_how_far_they_may_be_off() -> None:
    query = objective_perturbation(read(()), Fraction(3), Fraction(1, 2), Neighbours.ADD_REMOVE_ONE)
    assert query.weight_scale * Fraction(1, 2) * ROUNDING_SHARE == 2 * distance_bound(Fraction(3))
    assert 1 / query.tilt_scale == Fraction(1, 2) * (1 - ROUNDING_SHARE)


def test_output_noise_covers_it_too() -> None:
    query = output_perturbation(read(()), Fraction(3), Fraction(1, 2), Neighbours.REPLACE_ONE)
    assert query.scale * Fraction(1, 2) == Fraction(2, 3) + 2 * distance_bound(Fraction(3))


@pytest.mark.parametrize("neighbours", EVERY)
def test_nothing_but_noise_tells_of_the_data(neighbours: Neighbours) -> None:
    """Number of draws, scales and grids are public: the same for all data, whatever their number of rows."""
    for ask in (objective_perturbation, output_perturbation):
        heard = []
        for data in ((), ((1.0, True),), _PUSHED):
            deaf = Deaf()
            shown = ask(read(data), Fraction(2), Fraction(1), neighbours).draw(deaf.noise())
            heard.append((shown, deaf.heard))
        assert heard[0] == heard[1] == heard[2]


def test_asking_draws_nothing() -> None:
    query = objective_perturbation(read(((1.0, True),)), Fraction(2), Fraction(1), Neighbours.ADD_REMOVE_ONE)
    assert isinstance(query, TiltedQuery)
    with pytest.raises(pytest.fail.Exception):
        query.draw(FORBIDDEN)


def test_without_noise_the_minimum_comes_out() -> None:
    data: Data = ((1.0, True), (0.5, True), (-0.5, False), (1.0, False))
    found = near_minimum(read(data), Fraction(1))
    tilted = objective_perturbation(read(data), Fraction(1), Fraction(1), Neighbours.LABEL_ONLY).draw(SILENT)
    noisy = output_perturbation(read(data), Fraction(1), Fraction(1), Neighbours.LABEL_ONLY).draw(SILENT)
    assert abs(tilted[0] - found[0]) < Fraction(1, 10**6)
    assert abs(noisy[0] - found[0]) < Fraction(1, 2**16)


def test_private_numbers_have_no_text() -> None:
    data: Data = ((1.0, True), (0.5, True))
    query = objective_perturbation(read(data), Fraction(1), Fraction(1), Neighbours.LABEL_ONLY)
    assert "rows" not in repr(query)
    assert "values" not in repr(output_perturbation(read(data), Fraction(1), Fraction(1), Neighbours.LABEL_ONLY))


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1, 3), Fraction(1000, 7), Fraction(1, 10**9)])
def test_grids_are_powers_of_two_far_below_the_noise(scale: Fraction) -> None:
    query = SphericalQuery(values=(Fraction(1, 7),), scale=scale)
    assert query.scale / 2**17 < query.grid <= query.scale / 2**16
    assert power_of_two_below(query.grid) == query.grid
    assert (query.draw()[0] / query.grid).denominator == 1
