"""AUC at the local scale never loses more than epsilon: all small datasets with ties, by numerical integration.

A dataset is a table of counts, level of score by class. The density of the noise is written here by its slope, apart
from the sampler. Beside each sound mechanism stands what becomes of it when a part is left out: its loss is too large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import quad

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.privacy.mechanisms.local_auc import LocalParameters, local_auc, local_parameters
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import GRID, CutQuery, Noise

REPLACE, ADD_REMOVE, LABEL = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ONE, Neighbours.LABEL_ONLY

Table = tuple[int, ...]
"""Positives and negatives at the lowest level, at the next one, and so on."""


# --- datasets and neighbours


def tables(rows: int, levels: int) -> Iterator[Table]:
    """All tables with so many rows."""
    cells = 2 * levels
    for bars in combinations(range(rows + cells - 1), cells - 1):
        ends = (-1, *bars, rows + cells - 1)
        yield tuple(ends[k + 1] - ends[k] - 1 for k in range(cells))


def two_levels(positives: int, negatives: int) -> Iterator[Table]:
    """All tables of two levels with these class sizes."""
    for ours in range(positives + 1):
        yield from ((ours, theirs, positives - ours, negatives - theirs) for theirs in range(negatives + 1))


def changed(table: Table, cell: int, by: int) -> Table:
    return (*table[:cell], table[cell] + by, *table[cell + 1 :])


def neighbours_of(table: Table, relation: Neighbours) -> Iterator[Table]:
    for gone in (cell for cell, count in enumerate(table) if count):
        if relation == ADD_REMOVE:
            yield changed(table, gone, -1)
        elif relation == LABEL:
            yield changed(changed(table, gone, -1), gone ^ 1, 1)
        else:
            yield from (changed(changed(table, gone, -1), cell, 1) for cell in range(len(table)) if cell != gone)


def counts_of(table: Table) -> ScoreCounts:
    kept = [(level, *table[2 * level : 2 * level + 2]) for level in range(len(table) // 2)]
    kept = [group for group in kept if group[1] + group[2]]
    scores, positives, negatives = (np.array(column) for column in zip(*kept, strict=True))
    return ScoreCounts(scores.astype(np.float64), positives, negatives)


# --- the noise, by its slope


@dataclass(frozen=True)
class Law:
    """Noise in units of 1/epsilon."""

    core: float
    tail: float

    def log_density(self, x: FloatArray) -> FloatArray:
        x = np.abs(x)
        inner, outer = np.minimum(x, 1.0), np.maximum(x, 1.0)
        fall = -np.log1p(-self.core * inner) * (1.0 / self.core - 1.0) if self.core else inner
        ratio = np.log((1.0 + self.tail * outer) / (1.0 + self.tail))
        fall = fall + (ratio * (1.0 / self.tail + 1.0) if self.tail else outer - 1.0)
        return -fall - math.log(2.0 * self.mass)

    @property
    def mass(self) -> float:
        return _mass(self.core, self.tail)

    def log_beyond(self, x: FloatArray) -> FloatArray:
        """The logarithm of P(X >= x) for x >= 0."""
        at_one = (1.0 - self.core) ** (1.0 / self.core - 1.0) if self.core else math.exp(-1.0)
        outer = np.maximum(x, 1.0)
        log_ratio = np.log((1.0 + self.tail * outer) / (1.0 + self.tail))
        beyond = math.log(at_one * (1.0 + self.tail)) - (log_ratio / self.tail if self.tail else outer - 1.0)
        inner = np.minimum(x, 1.0)
        power = (1.0 - self.core * inner) ** (1.0 / self.core) if self.core else np.exp(-inner)
        with np.errstate(divide="ignore"):
            within = np.log(at_one * (1.0 + self.tail) + power - at_one * (1.0 - self.core))
        return np.where(x > 1.0, beyond, within) - math.log(2.0 * self.mass)


@cache
def _mass(core: float, tail: float) -> float:
    """The integral of one side, by quadrature of the slope's exponential."""
    at_one = (1.0 - core) ** (1.0 / core - 1.0) if core else math.exp(-1.0)

    def inner(x: float) -> float:
        return (1.0 - core * x) ** (1.0 / core - 1.0) if core else math.exp(-x)

    def outer(x: float) -> float:
        return at_one * ((1.0 + tail) / (1.0 + tail * x)) ** (1.0 / tail + 1.0) if tail else math.exp(-x)

    return float(quad(inner, 0.0, 1.0)[0] + quad(outer, 1.0, np.inf, limit=500)[0])


# --- losses


@dataclass(frozen=True)
class Releases:
    """Distinct pairs of neighbours: value and size (noise in units of 1/(epsilon size)) of each."""

    value: FloatArray
    size: FloatArray
    other_value: FloatArray
    other_size: FloatArray


def pairs(
    every: list[Table], relation: Neighbours, epsilon: float, query: Callable[[Table], tuple[float, float]]
) -> Releases:
    known = cache(query)
    distinct = {known(table) + known(other) for table in every for other in neighbours_of(table, relation)}
    return Releases(*np.array(sorted(distinct)).T[:, :, None])


def outputs_to_try(found: Releases, epsilon: float, *, cut: bool) -> FloatArray:
    """Outputs over the whole range, and those at which a density of the pair has a kink."""
    usual = np.linspace(0.0, 1.0, 101) if cut else np.linspace(-20.0, 21.0, 401)
    critical = [
        value + side / (epsilon * size)
        for value, size in ((found.value, found.size), (found.other_value, found.other_size))
        for side in (-1.0, -1e-9, 0.0, 1e-9, 1.0)
    ]
    outputs = np.concatenate((np.broadcast_to(usual, (found.value.size, usual.size)), *critical), axis=1)
    if cut:
        return np.clip(outputs, 0.0, 1.0)
    return outputs


def largest_loss(found: Releases, epsilon: float, law: Law, *, cut: bool = True) -> float:
    """The largest log-ratio over all outputs, in either direction, over epsilon."""
    outputs = outputs_to_try(found, epsilon, cut=cut)

    def log_density(value: FloatArray, size: FloatArray) -> FloatArray:
        return np.log(size) + law.log_density(epsilon * size * (outputs - value))

    def log_ends(value: FloatArray, size: FloatArray) -> FloatArray:
        reach = np.concatenate((value, 1.0 - value), axis=1)
        return law.log_beyond(epsilon * size * reach)

    losses = [log_density(found.value, found.size) - log_density(found.other_value, found.other_size)]
    if cut:
        losses.append(log_ends(found.value, found.size) - log_ends(found.other_value, found.other_size))
    return max(float(np.abs(loss).max()) for loss in losses) / epsilon


def law_of(parameters: LocalParameters) -> Law:
    side = parameters.shape.above
    return Law(float(side.core), float(side.tail))


def ours(every: list[Table], relation: Neighbours, parameters: LocalParameters) -> Releases:
    epsilon = float(parameters.epsilon)

    def query(table: Table) -> tuple[float, float]:
        asked = local_auc(counts_of(table), parameters)
        assert isinstance(asked.scale, Fraction)
        return float(asked.value), float(1 / (asked.scale * parameters.epsilon))

    return pairs(every, relation, epsilon, query)


def parameters_of(relation: Neighbours, epsilon: Fraction, rows: int, least: int, centre: Fraction) -> LocalParameters:
    public = None if relation == ADD_REMOVE else rows
    return LocalParameters(epsilon=epsilon, neighbours=relation, rows=public, least=least, centre=centre)


HALF, THREE_QUARTERS = Fraction(1, 2), Fraction(3, 4)
SMALL = [(6, 3), (16, 2)]
LARGE = [(8, 3), (24, 2)]


def check_all(relation: Neighbours, rows: int, levels: int, epsilon: Fraction, least: int, centre: Fraction) -> None:
    parameters = parameters_of(relation, epsilon, rows, least, centre)
    found = ours(list(tables(rows, levels)), relation, parameters)
    assert largest_loss(found, float(epsilon), law_of(parameters)) <= 1.0 + 1e-7


def smallest_least(epsilon: Fraction) -> int:
    return math.floor(1 / epsilon) + 1


@pytest.mark.few(2)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize(("rows", "levels"), SMALL)
@pytest.mark.parametrize("epsilon", [Fraction(3, 5), Fraction(2)], ids=str)
def test_no_pair_of_neighbours_loses_more(relation: Neighbours, rows: int, levels: int, epsilon: Fraction) -> None:
    check_all(relation, rows, levels, epsilon, smallest_least(epsilon), HALF)


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize(("rows", "levels"), LARGE)
@pytest.mark.parametrize("epsilon", [Fraction(2, 5), Fraction(3)], ids=str)
def test_no_pair_of_more_rows_loses_more(relation: Neighbours, rows: int, levels: int, epsilon: Fraction) -> None:
    check_all(relation, rows, levels, epsilon, smallest_least(epsilon), HALF)


@pytest.mark.few(2)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("centre", [Fraction(1, 3), THREE_QUARTERS])
def test_no_least_size_loses_more(relation: Neighbours, centre: Fraction) -> None:
    """Sizes that hold up all classes, or some, and a centre on either side."""
    for least in (1, 2, 3):
        check_all(relation, 12, 2, Fraction(3, 2), least, centre)


@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_parameters_in_use_lose_epsilon_and_no_more(relation: Neighbours) -> None:
    """Sixteen rows at two levels, with the parameters that a release would choose."""
    for epsilon in (Fraction(1), Fraction(5, 2)):
        parameters = local_parameters(epsilon, relation, None if relation == ADD_REMOVE else 16)
        assert parameters is not None
        found = ours(list(tables(16, 2)), relation, parameters)
        assert 0.8 <= largest_loss(found, float(epsilon), law_of(parameters)) <= 1.0 + 1e-7


# --- what becomes of it when a part is left out


def test_without_the_core_it_loses_more() -> None:
    """Twenty positives of sixty rows become twenty-one, at epsilon 0.1."""
    parameters = parameters_of(REPLACE, Fraction(1, 10), 60, 20, HALF)
    law = law_of(parameters)
    found = ours(list(two_levels(20, 40)), REPLACE, parameters)
    assert largest_loss(found, 0.1, law) <= 1.0 + 1e-7
    assert largest_loss(found, 0.1, Law(0.0, law.tail)) > 1.2


def test_without_the_tail_it_loses_more() -> None:
    """Ten positives of twenty-two rows become eleven."""
    parameters = parameters_of(REPLACE, Fraction(4), 22, 1, THREE_QUARTERS)
    law = law_of(parameters)
    found = ours(list(two_levels(10, 12)), REPLACE, parameters)
    assert largest_loss(found, 4.0, law) <= 1.0 + 1e-7
    assert largest_loss(found, 4.0, Law(law.core, 0.0)) > 1.4


def test_without_the_cut_it_loses_more() -> None:
    for relation in (REPLACE, ADD_REMOVE):
        parameters = parameters_of(relation, Fraction(1), 24, 3, THREE_QUARTERS)
        found = ours(list(two_levels(6, 18)), relation, parameters)
        assert largest_loss(found, 1.0, law_of(parameters)) <= 1.0 + 1e-7
        assert largest_loss(found, 1.0, law_of(parameters), cut=False) > 2.0


def test_with_a_smaller_least_size_it_loses_more() -> None:
    """n0 = 1 at epsilon 0.6, with the flattest core there is."""
    epsilon = 0.6

    def query(table: Table) -> tuple[float, float]:
        asked = local_auc(counts_of(table), parameters_of(REPLACE, Fraction(4), 24, 1, THREE_QUARTERS))
        assert isinstance(asked.scale, Fraction)
        return float(asked.value), float(1 / (asked.scale * 4))

    found = pairs(list(two_levels(1, 23)), REPLACE, epsilon, query)
    assert largest_loss(found, epsilon, Law(1.0 - 1e-9, 2.0 / (24 * epsilon))) > 1.1


def test_a_far_centre_would_lose_more() -> None:
    """A0 = 1 with n0 above what the condition allows: what is shrunk moves by more than one step."""

    def query(table: Table) -> tuple[float, float]:
        positives, negatives = sum(table[::2]), sum(table[1::2])
        smaller, size = min(positives, negatives), max(min(positives, negatives), 8)
        area = local_auc(counts_of(table), parameters_of(REPLACE, Fraction(100), 24, 1, HALF)).value
        return float(1 + Fraction(smaller, size) * (area - 1)) if smaller else 1.0, float(size)

    found = pairs(list(two_levels(7, 17)), REPLACE, 1.0, query)
    assert largest_loss(found, 1.0, Law(1 / 8, 2 / 24)) > 1.1


# --- parameters


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"least": 2}, "least must be above"),
        ({"least": 9}, "least is too large"),
        ({"centre": Fraction(1)}, "centre too far"),
        ({"centre": Fraction(5, 4)}, "centre must lie"),
        ({"rows": None}, "rows is the number"),
        ({"neighbours": ADD_REMOVE}, "rows is the number"),
    ],
)
def test_parameters_outside_the_proof_are_refused(wrong: dict[str, object], message: str) -> None:
    right = {"epsilon": Fraction(1, 2), "neighbours": REPLACE, "rows": 20, "least": 3, "centre": HALF}
    LocalParameters(**right)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=message):
        LocalParameters(**{**right, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [2, 3, 5, 10, 30, 100, 1000, 10**6])
@pytest.mark.parametrize("epsilon", ["1/1000000", "1/100", "1/10", "1/3", "3/5", "1", "10", "1000000"])
def test_parameters_exist_unless_rows_are_few(rows: int, epsilon: str) -> None:
    """The constructor refuses what the proof does not cover, so that whatever comes back is covered."""
    for relation in (REPLACE, LABEL):
        for guess in (None, 0.01, 0.3, 0.99):
            parameters = local_parameters(Fraction(epsilon), relation, rows, guess)
            assert (parameters is None) <= (rows * Fraction(epsilon) <= 3)
    assert local_parameters(Fraction(epsilon), ADD_REMOVE, None) is not None


def test_parameters_for_other_rows_are_refused() -> None:
    parameters = local_parameters(Fraction(1), REPLACE, 24)
    assert parameters is not None
    with pytest.raises(ParameterError, match="another number of rows"):
        local_auc(counts_of((5, 5, 5, 5)), parameters)


# --- the cut


def test_what_is_drawn_is_cut_where_it_is_drawn() -> None:
    """The noise is told the limits, and no other number leaves the query."""
    asked: list[tuple[int, int]] = []

    def between(*_: object, lowest: int, highest: int, **__: object) -> int:
        asked.append((lowest, highest))
        return highest

    query = local_auc(counts_of((1, 9, 9, 1)), parameters_of(REPLACE, Fraction(1), 20, 2, HALF))
    assert isinstance(query, CutQuery)
    assert query.draw(Noise(pareto_between=between)) == 1
    assert asked == [(0, int(1 / GRID))]
    assert all(0 <= drawn <= 1 for drawn in query.draw_many(200))
    assert set(query.draw_many(200)) & {Fraction(0), Fraction(1)}
