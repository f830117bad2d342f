"""What a naive Bayes model loses in all, by brute force: every number that gets noise, for all pairs of small data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from confide.features import FeatureRows
from confide.learning.estimators import PrivateNaiveBayes
from confide.learning.linear_model import LinearModel
from confide.learning.naive_bayes import FEWEST_CELLS, Recipe, prepare_naive_bayes
from confide.privacy.mechanisms.row_limits import KINDS, RowLimit
from confide.privacy.queries import Noise
from tests.noises import RELATIONS, Deaf

Row = tuple[int, int, bool]
Data = tuple[Row, ...]

UNIVERSE: tuple[Row, ...] = tuple(product((0, 1), (0, 1), (False, True)))
EPSILON = Fraction(3, 4)
MANY_CELLS = 250  # a tenth of which gives a cell for every row, from 4 to 16


@dataclass
class Ear(Deaf):
    """Deaf noise that keeps what it was to hide, with the scale at which it was to hide it."""

    hidden: list[tuple[int, Fraction]] = field(default_factory=list)

    def noise(self) -> Noise:
        deaf = super().noise()

        def draw(values: Sequence[int], scale: Fraction) -> list[int]:
            self.hidden += [(value, scale) for value in values]
            return deaf.discrete_laplace(values, scale)

        return replace(deaf, discrete_laplace=draw)


@dataclass(frozen=True)
class Asked:
    """A request, for datasets of two features."""

    relation: str
    persons: int = 1
    kind: str = "spread"
    calibration: Fraction = Fraction(1, 10)
    epsilon: Fraction = EPSILON

    def of(self, data: Data) -> tuple[LinearModel, Ear]:
        """The model that noise without data would make, and what was heard meanwhile."""
        matrix = np.array([row[:2] for row in data], dtype=np.int64).reshape(-1, 2)
        labels = np.array([row[2] for row in data], dtype=np.bool_)
        ear = Ear()
        prepared = prepare_naive_bayes(
            FeatureRows.from_matrix(matrix, labels),
            epsilon=self.epsilon,
            recipe=Recipe(limit=RowLimit(kind=self.kind, worth=1), calibration=self.calibration),
            neighbours=self.relation,
            unit="person",
            rows_per_person=self.persons,
            noise=ear.noise(),
        )
        assert prepared.guarantee.epsilon == self.epsilon
        return prepared.draw()[0], ear


def small(most: int) -> Iterator[Data]:
    for size in range(most + 1):
        yield from combinations_with_replacement(UNIVERSE, size)


def pairs(relation: str, most: int = 2) -> Iterator[tuple[Data, Data]]:
    """All neighbours; under add-remove-one those with a row more."""
    for data in small(most):
        if relation == "add-remove-one":
            yield from ((data, (*data, row)) for row in UNIVERSE)
            continue
        for place, (one, other, label) in enumerate(data):
            rest = data[:place] + data[place + 1 :]
            changed = UNIVERSE if relation == "replace-one" else ((one, other, not label),)
            yield from ((data, (*rest, row)) for row in changed)


def lost(ours: Ear, theirs: Ear) -> Fraction:
    """The largest log-ratio of the probabilities of all that is drawn: of integers, Laplace's is reached."""
    together = zip(ours.hidden, theirs.hidden, strict=True)
    return sum((abs(Fraction(here - there)) / scale for (here, scale), (there, _) in together), Fraction(0))


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("persons", [1, 3])
@pytest.mark.parametrize("relation", RELATIONS)
def test_all_that_is_drawn_costs_epsilon_and_no_more(relation: str, persons: int, kind: str) -> None:
    """A person with so many rows is so many steps from row to row; the dearest pair costs exactly what is promised."""
    asked = cache(Asked(relation, persons, kind).of)
    highest = Fraction(0)
    for data, other in pairs(relation):
        (ours, here), (theirs, there) = asked(tuple(sorted(data))), asked(tuple(sorted(other)))
        assert here.heard == there.heard
        assert ours == theirs
        assert {heard[0] for heard in here.heard} == {"laplace"}
        highest = max(highest, persons * lost(here, there))
    assert highest == EPSILON


def test_without_calibration_the_counts_cost_all_of_it() -> None:
    asked = Asked("add-remove-one", calibration=Fraction(0)).of
    here, there = (asked(data)[1] for data in ((), ((1, 1, True),)))
    assert len(here.heard) < len(Asked("add-remove-one").of(())[1].heard)
    assert lost(here, there) == EPSILON


@pytest.mark.parametrize("persons", [1, 3])
def test_the_number_of_cells_does_not_tell_the_number_of_rows(persons: int) -> None:
    """Where noise is small there are more cells; how many follows from the noisy class sizes, never from the rows."""
    asked = Asked("add-remove-one", persons, epsilon=Fraction(MANY_CELLS * persons)).of
    rows: Data = (UNIVERSE * 3)[:20]
    models, ears = zip(*(asked(rows[:size]) for size in (0, 4, 5, 6, 12, 20)), strict=True)
    assert all(ear.heard == ears[0].heard for ear in ears)
    assert all(model == models[0] for model in models)
    cells = ears[0].heard[-1][1]
    assert isinstance(cells, int)
    assert cells > 2 * FEWEST_CELLS  # for each class


def heard_by_the_estimator(persons: int) -> tuple[PrivateNaiveBayes, list[tuple[object, ...]]]:
    deaf = Deaf()

    class Heard(PrivateNaiveBayes):
        _noise = deaf.noise()

    model = Heard(EPSILON, unit="person", rows_per_person=persons).fit(np.eye(6, dtype=int), [0, 1] * 3)
    return model, deaf.heard


def test_the_estimator_hides_all_rows_of_a_person() -> None:
    """Three rows of a person take three times the noise, and what is assumed of persons is said."""
    one, single = heard_by_the_estimator(1)
    three, several = heard_by_the_estimator(3)
    assert several == [(kind, count, 3 * scale) for kind, count, scale in single]  # type: ignore[operator]
    assert one.guarantee_.epsilon == three.guarantee_.epsilon == EPSILON
    assert "that nobody has more than one row" in one.guarantee_.public
    assert "that nobody has more than 3 rows" in three.guarantee_.public
