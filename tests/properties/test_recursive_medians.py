"""Thresholds by recursive medians: sensitivities by enumeration, exact losses, and what the thresholds look like."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from confide.errors import ParameterError
from confide.grid import Grid
from confide.privacy.mechanisms.recursive_medians import (
    MOST_LEVELS,
    exponential_medians,
    inside,
    level_epsilon,
    median,
    median_cauchy,
    smooth_bound,
    smooth_medians,
    split_costs,
)
from confide.privacy.mechanisms.smooth_sensitivity import Calibration
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import ExactReal, exponential, lower_bound, maximum, upper_bound
from confide.privacy.queries import GRID, Noise
from tests.noises import FORBIDDEN, SILENT, Deaf, seeded

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE_ONE, Neighbours.REPLACE_ONE
BETAS = [Fraction(1, 50), Fraction(1, 4), Fraction(7, 10), Fraction(2)]
both_relations = pytest.mark.parametrize("neighbours", [ADD_REMOVE, REPLACE])
every_beta = pytest.mark.parametrize("beta", BETAS, ids=str)

Points = tuple[Fraction, ...]

# --- the median's smooth sensitivity, by definition

# Uneven, so that no two gaps are alike; the ends belong to it, as points may come as near to them as they like.
LATTICE = tuple(Fraction(eighths, 8) for eighths in (0, 1, 4, 5, 8))


def datasets(most: int, lattice: Sequence[Fraction] = LATTICE) -> Iterator[Points]:
    for rows in range(most + 1):
        yield from itertools.combinations_with_replacement(lattice, rows)


def by_definition(points: Points) -> Fraction:
    return statistics.median(points) if points else Fraction(1, 2)


def one_more(points: Points) -> Iterator[Points]:
    return (tuple(sorted((*points, added))) for added in LATTICE)


def one_less(points: Points) -> Iterator[Points]:
    return (points[:k] + points[k + 1 :] for k in range(len(points)))


@cache
def local_sensitivity(points: Points) -> Fraction:
    nearby = itertools.chain(one_more(points), one_less(points))
    return max(abs(by_definition(points) - by_definition(other)) for other in nearby)


def distance(first: Points, second: Points) -> int:
    a, b = Counter(first), Counter(second)
    return (a - b).total() + (b - a).total()


@cache
def at_distances(points: Points) -> dict[int, Fraction]:
    """The greatest local sensitivity of all datasets of up to six points, by how far away they are."""
    found: dict[int, Fraction] = {}
    for other in datasets(6):
        steps = distance(points, other)
        found[steps] = max(found.get(steps, Fraction(0)), local_sensitivity(other))
    return found


def padded(points: Sequence[Fraction | float], left: float = 0.0, right: float = 1.0) -> NDArray[np.float64]:
    return np.array([left, *(float(point) for point in points), right])


def below(first: ExactReal, second: ExactReal) -> bool:
    """Whether the first number is at most the second, as far as enclosures of 2^-60 tell."""
    return lower_bound(first) <= upper_bound(second)


def test_the_median_is_the_median() -> None:
    for points in datasets(5):
        assert median(padded(points)) == by_definition(points)


@every_beta
def test_the_smooth_sensitivity_is_that_of_all_datasets(beta: Fraction) -> None:
    for points in datasets(4):
        formula = smooth_bound(padded(points), beta)
        brute = maximum(*(exponential(-beta * steps) * most for steps, most in at_distances(points).items()))
        assert below(formula, brute)
        assert below(brute, formula)


@every_beta
def test_it_bounds_every_change_and_is_smooth(beta: Fraction) -> None:
    growth = exponential(beta)
    for points in datasets(4):
        bound = smooth_bound(padded(points), beta)
        assert local_sensitivity(points) <= upper_bound(bound)
        for other in one_more(points):
            more = smooth_bound(padded(other), beta)
            assert below(bound, growth * more)
            assert below(more, growth * bound)


def test_a_bound_for_a_greater_beta_is_not_smooth() -> None:
    """The check above can fail."""
    beta = Fraction(1, 4)
    pairs = [(points, other) for points in datasets(3) for other in one_more(points)]
    bounds = {points: smooth_bound(padded(points), beta * Fraction(11, 10)) for pair in pairs for points in pair}
    assert not all(below(bounds[a], exponential(beta) * bounds[b]) for a, b in pairs)


@given(
    scores=st.lists(st.floats(0.0, 1.0, exclude_min=True, exclude_max=True), max_size=40),
    beta=st.fractions(Fraction(1, 1000), 4),
)
@settings(max_examples=60, deadline=None)
def test_pruning_by_floats_loses_no_pair(scores: list[float], beta: Fraction) -> None:
    """All pairs of lemma 2, at any distance from the middle, without floats."""
    points = padded(sorted(scores))
    n = len(scores)
    x = [Fraction(float(point)) for point in points]
    terms = [
        exponential(-beta * (j - i - 1 + max(0, abs(i + j - n - 1) - 1))) * ((x[j] - x[i]) / 2)
        for i, j in itertools.combinations(range(n + 2), 2)
        if x[j] > x[i]
    ]
    brute, formula = maximum(*terms), smooth_bound(points, beta)
    assert below(formula, brute)
    assert below(brute, formula)


def test_points_that_are_nearly_equal_still_count() -> None:
    tiny = 5e-324
    bound = smooth_bound(np.array([0.0, tiny, 2 * tiny, 1.0]), Fraction(1000))
    assert lower_bound(bound) <= Fraction(tiny) / 2 <= upper_bound(bound)


# --- exact losses of the exponential way

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


# --- the published scale

Box = tuple[float, float]


def published_cauchy(epsilon: Fraction, levels: int) -> Calibration:
    """Stoddard, Chen & Machanavajjhala (2014), algorithm 4: the scale has the epsilon of all levels together."""
    return Calibration(family="cauchy", beta=epsilon / levels, multiplier=8 / epsilon)


def probability(
    scores: Sequence[float], boxes: Sequence[Box], calibration: Calibration, left: float = 0.0, right: float = 1.0
) -> float:
    """Of a first threshold in the first box, of that to the left of it in the second, and so on, by quadrature."""
    points = padded([score for score in sorted(scores) if left < score < right], left, right)
    centre = float(median(points))
    scale = float(calibration.multiplier * upper_bound(smooth_bound(points, calibration.beta)))
    low, high = boxes[0]
    if len(boxes) == 1:
        return float(stats.cauchy.cdf(high, centre, scale) - stats.cauchy.cdf(low, centre, scale))
    nodes, weights = np.polynomial.legendre.leggauss(6)
    places = (low + high) / 2 + nodes * (high - low) / 2
    densities = stats.cauchy.pdf(places, centre, scale) * weights * (high - low) / 2
    further = [probability(scores, boxes[1:], calibration, left, float(place)) for place in places]
    return float(densities @ further)


def loss_at(boxes: Sequence[Box], scores: Sequence[float], added: float, calibration: Calibration) -> float:
    before, after = (probability(rows, boxes, calibration) for rows in (scores, [*scores, added]))
    return abs(math.log(after / before))


def test_the_published_scale_breaks_its_promise() -> None:
    """Three levels at epsilon 1: two rows, and a third equal to the second; three thresholds that come down from 1."""
    boxes = ((0.92, 0.97), (0.87, 0.92), (0.82, 0.87))
    loss = loss_at(boxes, [0.35, 0.71], 0.71, published_cauchy(Fraction(1), levels=3))
    assert loss == pytest.approx(1.0455, abs=5e-4)
    corrected = median_cauchy(level_epsilon(Fraction(1), 3, ADD_REMOVE))
    assert loss_at(boxes, [0.35, 0.71], 0.71, corrected) < 0.9


def test_the_published_scale_breaks_its_promise_the_more_the_more_levels() -> None:
    """One median of fourteen, at epsilon 14: it may lose 1."""
    box = ((0.0, 0.0435),)
    assert loss_at(box, [0.13, 0.95], 0.03, published_cauchy(Fraction(14), levels=14)) == pytest.approx(1.578, abs=5e-3)
    assert loss_at(box, [0.13, 0.95], 0.03, median_cauchy(level_epsilon(Fraction(14), 14, ADD_REMOVE))) < 1.0


def test_the_corrected_scale_keeps_its_promise_wherever_one_looks() -> None:
    """One median at epsilon 1: all pairs of up to four points, densities inside the range, and what is outside."""
    calibration = median_cauchy(Fraction(1))
    places = np.linspace(0.001, 0.999, 200)

    def chances(points: Points) -> NDArray[np.float64]:
        ends = padded(points)
        scale = float(calibration.multiplier * upper_bound(smooth_bound(ends, calibration.beta)))
        noisy = stats.cauchy(float(median(ends)), scale)
        return np.append(noisy.pdf(places), noisy.cdf(0.0) + noisy.sf(1.0))

    made = {points: chances(points) for points in datasets(4)}
    losses = [np.abs(np.log(made[a] / made[b])).max() for a in datasets(3) for b in one_more(a)]
    assert 0.8 < max(losses) <= 1.0


# --- what both ways find


def thresholds_of(way: str, scores: ArrayLike, noise: Noise, levels: int = 4) -> tuple[float, ...]:
    if way == "smooth":
        return smooth_medians(scores, levels=levels, epsilon=Fraction(2), neighbours=ADD_REMOVE, noise=noise)
    grid = Grid.uniform(64)
    cells = np.bincount(grid.cells(scores), minlength=64)
    return exponential_medians(cells, grid, levels=levels, epsilon=Fraction(2), neighbours=ADD_REMOVE, noise=noise)


both_ways = pytest.mark.parametrize("way", ["smooth", "exponential"])


@both_ways
@given(
    scores=st.lists(st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.3, 0.5, 1.0]), max_size=60),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=40, deadline=None)
def test_thresholds_ascend_inside(way: str, scores: list[float], seed: int) -> None:
    """Empty, tied and equal scores among them."""
    found = thresholds_of(way, scores, seeded(seed))
    assert all(type(threshold) is float for threshold in found)
    assert all(a < b for a, b in itertools.pairwise((0.0, *found, 1.0)))
    assert len(found) == 15 if way == "smooth" else 1 <= len(found) <= 15


@both_ways
@pytest.mark.parametrize("scores", [[], [0.3], [0.3] * 50, [0.0] * 20 + [1.0] * 20, [0.25, 0.75] * 30], ids=len)
def test_real_noise_on_odd_data(way: str, scores: list[float]) -> None:
    found = thresholds_of(way, scores, Noise())
    assert all(a < b for a, b in itertools.pairwise((0.0, *found, 1.0)))
    assert found


@both_ways
def test_the_order_of_rows_does_not_matter(way: str) -> None:
    rng = np.random.default_rng(3)
    scores = np.round(rng.beta(2, 5, 200), 2)
    assert thresholds_of(way, scores, seeded(1)) == thresholds_of(way, rng.permutation(scores), seeded(1))


@both_ways
def test_without_noise_the_medians_are_found(way: str) -> None:
    scores = (np.arange(64) + 0.5) / 64
    found = thresholds_of(way, scores, SILENT, levels=3)
    assert found == tuple(k / 8 for k in range(1, 8))


def test_without_noise_ties_are_split_above_and_below() -> None:
    """The median is the tie itself; neither side holds it, so each is split at its own median."""
    found = thresholds_of("smooth", [0.125] * 3 + [0.5] * 9 + [0.625] * 3, SILENT, levels=2)
    assert found == (0.125, 0.5, 0.625)


def test_empty_ranges_are_halved() -> None:
    assert thresholds_of("smooth", [], SILENT, levels=3) == tuple(k / 8 for k in range(1, 8))
    assert thresholds_of("smooth", [-1.0, 0.0, 1.0, 7.0], SILENT, levels=1) == (0.5,)


def test_other_ranges() -> None:
    found = smooth_medians([-3.0, 0.0, 3.0, 9.0], levels=2, epsilon=Fraction(1), neighbours=REPLACE, low=-4, high=4)
    assert all(a < b for a, b in itertools.pairwise((-4.0, *found, 4.0)))


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (Fraction(3, 8), 0.375),
        (Fraction(0), 0.5),
        (Fraction(1), 0.5),
        (Fraction(10) ** 400, 0.5),
        (1 - GRID, float(1 - GRID)),
        (1 - Fraction(1, 2**80), 0.5),
    ],
    ids=str,
)
def test_what_is_not_strictly_inside_becomes_the_middle(drawn: Fraction, expected: float) -> None:
    assert inside(drawn, 0.0, 1.0) == expected


def test_a_range_without_a_float_yields_nothing() -> None:
    assert inside(Fraction(0), 1.0, math.nextafter(1.0, 2.0)) is None
    high = 1.0 + 4 * math.ulp(1.0)
    found = smooth_medians([], levels=5, epsilon=Fraction(1), neighbours=ADD_REMOVE, low=1.0, high=high)
    assert found == tuple(1.0 + k * math.ulp(1.0) for k in (1, 2, 3))


# --- what noise drives and what it is told


@both_ways
@pytest.mark.parametrize("level", [1, 5])
def test_draws_depend_on_nothing_but_former_thresholds(way: str, level: int) -> None:
    rng = np.random.default_rng(0)
    heard, found = set(), set()
    for scores in ([], [0.5] * 9, rng.random(100).tolist(), [0.0, 1.0]):
        deaf = Deaf(level=level)
        found.add(thresholds_of(way, scores, deaf.noise()))
        heard.add(tuple(deaf.heard))
    assert len(heard) == len(found) == 1


def test_noise_decides_the_thresholds() -> None:
    scores = np.random.default_rng(0).random(50).tolist()
    for way in ("smooth", "exponential"):
        assert thresholds_of(way, scores, Deaf(level=1).noise()) != thresholds_of(way, scores, Deaf(level=5).noise())


@both_relations
def test_the_rate_and_the_scale_are_those_of_a_level(neighbours: Neighbours) -> None:
    epsilon, share = Fraction(3), Fraction(3, 5) / (2 if neighbours == REPLACE else 1)
    assert level_epsilon(epsilon, 5, neighbours) == share
    deaf = Deaf()
    exponential_medians(
        [3] * 32, Grid.uniform(32), levels=5, epsilon=epsilon, neighbours=neighbours, noise=deaf.noise()
    )
    assert {rate for _, _, rate in deaf.heard} == {share / 2}
    scales: list[Fraction] = []

    def record(value: Fraction, scale: ExactReal, grid: Fraction) -> int:
        scales.append(upper_bound(scale))
        return 0

    noise = replace(FORBIDDEN, cauchy=record)
    smooth_medians([], levels=5, epsilon=epsilon, neighbours=neighbours, noise=noise)
    assert len(scales) == 31
    assert math.isclose(scales[0], 8 / share / 2)  # no point: half the range is the sensitivity


@pytest.mark.parametrize("levels", [0, -1, MOST_LEVELS + 1, True, 2.0])
def test_levels_are_refused(levels: int) -> None:
    with pytest.raises(ParameterError, match="levels must be"):
        smooth_medians([0.5], levels=levels, epsilon=Fraction(1), neighbours=ADD_REMOVE, noise=FORBIDDEN)


def test_label_only_is_told_what_to_do_and_draws_nothing() -> None:
    with pytest.raises(ParameterError, match=r"Grid\.quantiles"):
        smooth_medians([0.5], levels=2, epsilon=Fraction(1), neighbours=Neighbours.LABEL_ONLY, noise=FORBIDDEN)
    with pytest.raises(ParameterError, match=r"Grid\.quantiles"):
        exponential_medians(
            [1, 2], Grid.uniform(2), levels=2, epsilon=Fraction(1), neighbours=Neighbours.LABEL_ONLY, noise=FORBIDDEN
        )


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), 1.0])
def test_epsilon_is_refused(epsilon: Fraction) -> None:
    with pytest.raises(ParameterError, match="epsilon must be"):
        smooth_medians([0.5], levels=2, epsilon=epsilon, neighbours=ADD_REMOVE, noise=FORBIDDEN)


def test_a_whole_epsilon_stays_exact() -> None:
    assert type(level_epsilon(1, 3, ADD_REMOVE)) is Fraction  # type: ignore[arg-type]


@pytest.mark.parametrize("scores", [[0.1, math.nan], [math.inf]])
def test_scores_are_refused_without_being_shown(scores: list[float]) -> None:
    with pytest.raises(ParameterError, match="scores must be finite numbers") as refusal:
        smooth_medians(scores, levels=2, epsilon=Fraction(1), neighbours=ADD_REMOVE, noise=FORBIDDEN)
    assert "nan" not in str(refusal.value)


@pytest.mark.parametrize("cells", [[1, 2], [1.0, 2.0, 3.0], [1, -1, 3], [2**60, 1, 0], [True, False, True]])
def test_cells_are_refused(cells: list[int]) -> None:
    with pytest.raises(ParameterError, match="cells must hold"):
        exponential_medians(
            cells, Grid.uniform(3), levels=2, epsilon=Fraction(1), neighbours=ADD_REMOVE, noise=FORBIDDEN
        )


@pytest.mark.parametrize(("low", "high"), [(1.0, 0.0), (0.0, 0.0), (0.0, math.inf), (-1.7e308, 1.7e308)])
def test_ranges_are_refused(low: float, high: float) -> None:
    with pytest.raises(ParameterError, match="low must be below high"):
        smooth_medians([], levels=2, epsilon=Fraction(1), neighbours=ADD_REMOVE, low=low, high=high, noise=FORBIDDEN)
