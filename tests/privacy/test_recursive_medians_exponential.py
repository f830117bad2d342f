"""Splitting cells by the exponential mechanism: costs by definition, and every loss exactly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from confide.grid import Grid
from confide.privacy.mechanisms.recursive_medians import exponential_medians, split_costs
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import Noise
from tests.noises import FORBIDDEN

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE_ONE, Neighbours.REPLACE_ONE

CELLS = 4
TINY = Grid.uniform(CELLS)


def tables(most: int) -> Iterator[tuple[int, ...]]:
    return (table for table in itertools.product(range(most + 1), repeat=CELLS) if sum(table) <= most)


def with_one_more(table: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return (tuple(rows + (k == cell) for k, rows in enumerate(table)) for cell in range(CELLS))


def moved(table: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for source, target in itertools.permutations(range(CELLS), 2):
        if table[source]:
            yield tuple(rows - (k == source) + (k == target) for k, rows in enumerate(table))


def costs_of(table: tuple[int, ...], left: int, right: int) -> list[int]:
    costs: list[int] = split_costs(np.concatenate(([0], np.cumsum(table))), left, right).tolist()
    return costs


def test_costs_by_definition() -> None:
    for table in tables(3):
        for left, right in itertools.combinations(range(CELLS + 1), 2):
            expected = [abs(sum(table[left:e]) - sum(table[e:right])) for e in range(left + 1, right)]
            assert costs_of(table, left, right) == expected


def test_a_row_changes_every_cost_of_its_node_by_one_and_no_other() -> None:
    for table in tables(3):
        for cell, other in enumerate(with_one_more(table)):
            for left, right in itertools.combinations(range(CELLS + 1), 2):
                changes = np.abs(np.subtract(costs_of(table, left, right), costs_of(other, left, right)))
                assert (changes == (left <= cell < right)).all()


@dataclass
class Every:
    """Choices that take every way in turn, and how probable each was in floats."""

    stretch: float = 1.0
    script: list[int] = field(default_factory=list)
    offered: list[int] = field(default_factory=list)
    log_probability: float = 0.0

    def choose(self, costs: Sequence[int], rate: Fraction) -> int:
        step = len(self.offered)
        self.offered.append(len(costs))
        if step == len(self.script):
            self.script.append(0)
        weights = -self.stretch * float(rate) * np.asarray(costs)
        self.log_probability += float(weights[self.script[step]] - np.logaddexp.reduce(weights))
        return self.script[step]

    def runs(self, release: Callable[[Noise], tuple[float, ...]]) -> Iterator[tuple[tuple[float, ...], float]]:
        while True:
            self.offered, self.log_probability = [], 0.0
            yield release(replace(FORBIDDEN, exponential_choice=self.choose)), math.exp(self.log_probability)
            while self.script and self.script[-1] + 1 == self.offered[len(self.script) - 1]:
                self.script.pop()
            if not self.script:
                return
            self.script[-1] += 1


def distribution(
    table: tuple[int, ...], epsilon: Fraction, neighbours: Neighbours, levels: int = 2, stretch: float = 1.0
) -> dict[tuple[float, ...], float]:
    found: dict[tuple[float, ...], float] = {}
    release = lambda noise: exponential_medians(  # noqa: E731 - one expression
        table, TINY, levels=levels, epsilon=epsilon, neighbours=neighbours, noise=noise
    )
    for thresholds, probability in Every(stretch).runs(release):
        found[thresholds] = found.get(thresholds, 0.0) + probability
    assert math.isclose(sum(found.values()), 1.0)
    return found


def largest_loss(
    neighbours: Callable[[tuple[int, ...]], Iterator[tuple[int, ...]]],
    epsilon: Fraction,
    relation: Neighbours,
    *,
    stretch: float = 1.0,
    levels: int = 2,
) -> float:
    made = cache(lambda table: distribution(table, epsilon, relation, levels, stretch))
    return max(
        abs(math.log(made(table)[output] / made(other)[output]))
        for table in tables(4)
        for other in neighbours(table)
        for output in made(table)
    )


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(4)], ids=str)
@pytest.mark.parametrize("levels", [1, 2])
def test_the_exact_loss_of_exponential_medians(epsilon: Fraction, levels: int) -> None:
    """Every output of every dataset of up to four rows in four cells, against all neighbours."""
    added = largest_loss(with_one_more, epsilon, ADD_REMOVE, levels=levels)
    replaced = largest_loss(moved, epsilon, REPLACE, levels=levels)
    assert 0.3 * epsilon < added <= epsilon
    assert 0.3 * epsilon < replaced <= epsilon


def test_what_the_exact_loss_refuses() -> None:
    """Twice the rate; and, for replaced rows, the epsilon of added ones."""
    assert largest_loss(with_one_more, Fraction(4), ADD_REMOVE, stretch=2.0) > 4.0
    assert largest_loss(moved, Fraction(4), ADD_REMOVE) > 4.0
