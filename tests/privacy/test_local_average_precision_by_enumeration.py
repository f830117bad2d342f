"""Average precision at its local scale never loses more than epsilon: all small datasets with ties, by integration.

Datasets, neighbours and the density of one side of the noise are those of the enumeration for AUC; tied negatives
count as above. Beside each sound mechanism stands what becomes of it when a part is left out: its loss is too large.
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
from confide.errors import ParameterError
from confide.privacy.mechanisms.average_precision_sensitivity import SLACK, local_sensitivity
from confide.privacy.mechanisms.local_average_precision import (
    FEWEST,
    STEEPEST,
    PrecisionParameters,
    local_average_precision,
    precision_parameters,
)
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import as_real, lower_bound, upper_bound
from confide.privacy.queries import GRID, CutQuery, Noise
from tests.privacy.test_local_auc_by_enumeration import (
    ADD_REMOVE,
    LABEL,
    REPLACE,
    Law,
    Releases,
    Table,
    counts_of,
    outputs_to_try,
    pairs,
    tables,
    two_levels,
)


@dataclass(frozen=True)
class Sides:
    """Noise in units of 1/epsilon, a law for each side of zero; the density is continuous there."""

    above: Law
    below: Law

    def log_density(self, x: FloatArray) -> FloatArray:
        above, below = (side.log_density(x) + self._more(side) for side in (self.above, self.below))
        return np.where(x > 0.0, above, below)

    def log_above(self, x: FloatArray) -> FloatArray:
        """The logarithm of P(X >= x) for x >= 0."""
        return self.above.log_beyond(x) + self._more(self.above)

    def log_below(self, x: FloatArray) -> FloatArray:
        """The logarithm of P(X <= -x) for x >= 0."""
        return self.below.log_beyond(x) + self._more(self.below)

    def _more(self, side: Law) -> float:
        """A side's law has half of all mass if both are alike."""
        return math.log(2.0 * side.mass / (self.above.mass + self.below.mass))


def law_of(parameters: PrecisionParameters) -> Sides:
    shape = parameters.shape
    assert shape.above.tail == shape.below.core == 0
    assert (shape.above.core == 0) == (parameters.neighbours == ADD_REMOVE)
    return Sides(Law(float(shape.above.core), 0.0), Law(0.0, float(shape.below.tail)))


def largest_loss(found: Releases, epsilon: float, law: Sides, *, cut: bool = True) -> float:
    """The largest log-ratio over all outputs, in either direction, over epsilon."""
    outputs = outputs_to_try(found, epsilon, cut=cut)

    def logs(value: FloatArray, size: FloatArray) -> FloatArray:
        rate = epsilon * size
        parts = [np.log(size) + law.log_density(rate * (outputs - value))]
        if cut:
            parts += [law.log_above(rate * (1.0 - value)), law.log_below(rate * value)]
        return np.concatenate(parts, axis=1)

    losses = logs(found.value, found.size) - logs(found.other_value, found.other_size)
    return float(np.abs(losses).max()) / epsilon


Query = Callable[[Table], tuple[float, float]]


def asking(parameters: PrecisionParameters) -> Query:
    """The value of a dataset, and one over what a row changes."""
    sizes = cache(lambda positives: 1.0 / float(upper_bound(parameters.bound(positives))))

    def query(table: Table) -> tuple[float, float]:
        value = local_average_precision(counts_of(table), parameters).value
        return float(value), sizes(max(sum(table[::2]), parameters.least))

    return query


def ours(every: list[Table], parameters: PrecisionParameters) -> Releases:
    return pairs(every, parameters.neighbours, float(parameters.epsilon), asking(parameters))


def parameters_of(relation: Neighbours, epsilon: Fraction, least: int = FEWEST) -> PrecisionParameters:
    return PrecisionParameters(epsilon=epsilon, neighbours=relation, least=least)


def steepest(relation: Neighbours, least: int = FEWEST) -> Fraction:
    """The least epsilon that so few positives allow, rounded up."""
    room = STEEPEST
    if relation == ADD_REMOVE:
        gain = 1 + sum((Fraction(1, 4 * j + 2) for j in range(1, least + 1)), Fraction(0))
        room = 1 - gain / sum((Fraction(1, k) for k in range(2, least + 3)), Fraction(0))
    return parameters_of(relation, Fraction(1000), least).steepness * 1000 / room * Fraction(1001, 1000)


def check_all(relation: Neighbours, rows: int, levels: int, epsilon: Fraction, least: int = FEWEST) -> None:
    parameters = parameters_of(relation, epsilon, least)
    found = ours(list(tables(rows, levels)), parameters)
    assert largest_loss(found, float(epsilon), law_of(parameters)) <= 1.0 + 1e-7


every_relation = pytest.mark.parametrize("relation", list(Neighbours))


@pytest.mark.few(1)
@every_relation
@pytest.mark.parametrize("epsilon", [None, Fraction(2)], ids=str)
def test_no_pair_of_neighbours_loses_more(relation: Neighbours, epsilon: Fraction | None) -> None:
    """From five positives of eight rows at three levels, and of sixteen at two; also with the least epsilon."""
    for rows, levels in ((8, 3), (16, 2)):
        check_all(relation, rows, levels, epsilon or steepest(relation))


@pytest.mark.few(1)
@every_relation
@pytest.mark.parametrize(("rows", "levels"), [(7, 4), (9, 3), (24, 2)])
def test_no_pair_of_more_rows_loses_more(relation: Neighbours, rows: int, levels: int) -> None:
    for epsilon in (steepest(relation), Fraction(5, 4), Fraction(6)):
        check_all(relation, rows, levels, epsilon)


@pytest.mark.few(1)
@every_relation
def test_no_least_number_of_positives_loses_more(relation: Neighbours) -> None:
    """Numbers that hold up all datasets, or some."""
    for least in (6, 9, 12, 30):
        check_all(relation, 12, 2, Fraction(3, 2), least)


@every_relation
def test_the_parameters_in_use_lose_epsilon_and_no_more(relation: Neighbours) -> None:
    """Thirty rows at two levels; label-only neighbours lose less in places, as the bound is that of replace-one."""
    for epsilon in (Fraction(1), Fraction(5, 2)):
        parameters = precision_parameters(epsilon, relation, None if relation == ADD_REMOVE else 30)
        found = ours(list(two_levels(parameters.least + 2, 30 - parameters.least - 2)), parameters)
        assert 0.9 <= largest_loss(found, float(epsilon), law_of(parameters)) <= 1.0 + 1e-7


# --- what becomes of it when a part is left out


@pytest.mark.parametrize("relation", [REPLACE, LABEL])
def test_without_the_core_it_loses_more(relation: Neighbours) -> None:
    """The core that is needed for five positives, which become six."""
    epsilon = steepest(relation)
    parameters = parameters_of(relation, epsilon)
    law = law_of(parameters)
    found = ours(list(two_levels(5, 9)), parameters)
    assert largest_loss(found, float(epsilon), law) <= 1.0 + 1e-7
    assert largest_loss(found, float(epsilon), Sides(Law(0.0, 0.0), law.below)) > 1.02
    assert largest_loss(found, float(epsilon), Sides(Law(law.above.core / 2.0, 0.0), law.below)) > 1.01


@pytest.mark.parametrize("relation", [REPLACE, LABEL])
def test_without_the_tail_it_loses_more(relation: Neighbours) -> None:
    epsilon = Fraction(4)
    parameters = parameters_of(relation, epsilon)
    law = law_of(parameters)
    found = ours(list(two_levels(20, 5)), parameters)
    assert largest_loss(found, 4.0, law) <= 1.0 + 1e-7
    assert largest_loss(found, 4.0, Sides(law.above, Law(0.0, 0.0))) > 1.02


@every_relation
def test_without_the_cut_it_loses_more(relation: Neighbours) -> None:
    parameters = parameters_of(relation, Fraction(1))
    found = ours(list(two_levels(6, 18)), parameters)
    assert largest_loss(found, 1.0, law_of(parameters)) <= 1.0 + 1e-7
    assert largest_loss(found, 1.0, law_of(parameters), cut=False) > 2.0


@pytest.mark.parametrize(("relation", "fewest"), [(REPLACE, 2), (ADD_REMOVE, 1)])
def test_with_fewer_least_positives_it_loses_more(relation: Neighbours, fewest: int) -> None:
    """One of two positives moves from the top to the bottom, or goes: this changes more than the mean of 1/2, ..."""
    sound = parameters_of(relation, Fraction(100))

    def query(table: Table) -> tuple[float, float]:
        positives = sum(table[::2])
        size = max(positives, fewest)
        missed = (1 - local_average_precision(counts_of(table), sound).value) * max(positives, FEWEST)
        last = size + (relation == ADD_REMOVE)
        return float(1 - missed / size), float((last - 1) / sum(Fraction(1, k) for k in range(2, last + 1)))

    steep = 0.2 if relation == REPLACE else 0.0
    found = pairs([(0, 28, 1, 2, 1, 0)], relation, 4.0, query)
    assert largest_loss(found, 4.0, Sides(Law(steep, 0.0), Law(0.0, steep))) > 1.02


# --- scale and parameters


@every_relation
def test_the_scale_is_the_local_sensitivity(relation: Neighbours) -> None:
    """Whatever the number of rows, from five positives on; in floats too."""
    parameters = parameters_of(relation, Fraction(2))
    for positives in (5, 6, 7, 8, 20, 1000, 10**7):
        exact = lower_bound(parameters.bound(positives)) - SLACK
        for rows in (positives + 1, 3 * positives, 10**9):
            local = local_sensitivity(rows, relation).exact(positives)
            assert abs(lower_bound(local) / exact - 1) < Fraction(1, 10**12)
        assert parameters.bounds(np.array([float(positives)]))[0] == pytest.approx(float(exact), rel=1e-9)
    assert (parameters.bounds(np.arange(6.0)) == parameters.bounds(np.array([5.0]))).all()
    query = local_average_precision(counts_of((0, 3, 20, 5)), parameters)
    assert upper_bound(as_real(query.scale)) == pytest.approx(upper_bound(parameters.bound(20)) / 2, rel=1e-12)


@every_relation
def test_the_scale_falls_ever_more_slowly(relation: Neighbours) -> None:
    """Facts 1 to 3 of the proof, which hold for all numbers of positives, at many."""
    parameters = parameters_of(relation, Fraction(2))
    positives = np.unique(np.concatenate((np.arange(5.0, 3000.0), np.geomspace(3e3, 1e6, 100).round())))
    falls = np.log(parameters.bounds(positives) / parameters.bounds(positives + 1.0))
    assert (np.diff(falls) < 1e-14).all()
    assert (falls > 0.0).all()
    assert (falls <= np.log1p(1.0 / positives)).all()
    assert float(parameters.steepness * 2) == pytest.approx(falls[0], rel=1e-9)


def test_parameters_outside_the_proof_are_refused() -> None:
    for relation in Neighbours:
        with pytest.raises(ParameterError, match="at least 5"):
            parameters_of(relation, Fraction(100), 4)
        with pytest.raises(ParameterError, match="too small for this epsilon"):
            parameters_of(relation, steepest(relation) * Fraction(99, 100))


@pytest.mark.parametrize("epsilon", ["1/1000000", "1/100", "1/10", "1/3", "3/5", "1", "10", "1000000"])
def test_parameters_exist_for_every_epsilon(epsilon: str) -> None:
    """The constructor refuses what the proof does not cover, so that whatever comes back is covered."""
    for relation in Neighbours:
        for rows in (None,) if relation == ADD_REMOVE else (1, 2, 10, 1000, 10**6):
            for guess in (None, 0.0, 0.01, 0.3, 0.99):
                parameters = precision_parameters(Fraction(epsilon), relation, rows, guess)
                assert parameters.least >= FEWEST


# --- the cut


def test_what_is_drawn_is_cut_where_it_is_drawn() -> None:
    """The noise is told the limits, and no other number leaves the query."""
    asked: list[tuple[int, int]] = []

    def between(*_: object, lowest: int, highest: int, **__: object) -> int:
        asked.append((lowest, highest))
        return highest

    query = local_average_precision(counts_of((1, 9, 9, 1)), parameters_of(REPLACE, Fraction(1)))
    assert isinstance(query, CutQuery)
    assert query.draw(Noise(pareto_between=between)) == 1
    assert asked == [(0, int(1 / GRID))]
    assert all(0 <= drawn <= 1 for drawn in query.draw_many(200))
    assert set(query.draw_many(200)) & {Fraction(0), Fraction(1)}
