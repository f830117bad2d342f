"""The noise of medians: the smooth sensitivity by enumeration, and what the published scale and ours lose."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from confide.privacy.mechanisms.recursive_medians import SMALLEST, level_epsilon, median, median_cauchy, smooth_bound
from confide.privacy.mechanisms.smooth_sensitivity import Calibration
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import ExactReal, exact, exponential, lower_bound, maximum, upper_bound
from tests.examples import examples

ADD_REMOVE = Neighbours.ADD_REMOVE_ONE
BETAS = [Fraction(1, 50), Fraction(1, 4), Fraction(7, 10), Fraction(2)]
every_beta = pytest.mark.parametrize("beta", BETAS, ids=str)

ROUNDED_UP = 1 + Fraction(1, 2**9)
"""Factor by which a bound may exceed the smooth sensitivity."""

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


@pytest.mark.few(1)
@every_beta
def test_the_smooth_sensitivity_is_that_of_all_datasets(beta: Fraction) -> None:
    for points in datasets(4):
        formula = smooth_bound(padded(points), beta)
        brute = maximum(*(exponential(-beta * steps) * most for steps, most in at_distances(points).items()))
        assert below(formula, brute * ROUNDED_UP)
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
@examples(60)
def test_whole_numbers_lose_no_pair(scores: list[float], beta: Fraction) -> None:
    """All pairs of lemma 2, at any distance from the middle, without floats."""
    points = padded(sorted(scores))
    n = len(scores)
    x = [Fraction(float(point)) for point in points]
    terms = [
        exponential(-beta * (j - i - 1 + max(0, abs(i + j - n - 1) - 1))) * ((x[j] - x[i]) / 2)
        for i, j in itertools.combinations(range(n + 2), 2)
        if x[j] > x[i]
    ]
    brute, formula = maximum(SMALLEST / 2, *terms), smooth_bound(points, beta)
    assert below(formula, brute * ROUNDED_UP)
    assert below(brute, formula)


@given(
    points=st.lists(st.floats(-(2.0**80), 2.0**80, width=32) | st.floats(-1.0, 1.0), min_size=2, max_size=30),
    removed=st.integers(0, 29),
    beta=st.fractions(Fraction(1, 10**8), 10**6),
)
@examples(100)
def test_it_is_smooth_for_any_floats(points: list[float], removed: int, beta: Fraction) -> None:
    left, *inner, right = sorted(points)
    if left == right:
        return
    ends = padded(inner, left, right)
    fewer = padded([x for k, x in enumerate(inner) if k != removed], left, right)
    bound, other = smooth_bound(ends, beta), smooth_bound(fewer, beta)
    assert below(bound, exponential(beta) * other)
    assert below(other, exponential(beta) * bound)


def test_points_that_are_nearly_equal_still_count() -> None:
    tiny = 2.0**-90
    bound = smooth_bound(np.array([0.0, tiny, 2 * tiny, 1.0]), Fraction(1000))
    assert lower_bound(bound) <= Fraction(tiny) / 2 * ROUNDED_UP
    assert upper_bound(bound) >= Fraction(tiny) / 2


def test_no_bound_is_smaller_than_the_smallest() -> None:
    """So the digits that rounding to the grid needs do not depend on how small the sensitivity of these data is."""
    for ends in ([0.0, 5e-324, 1e-323, 1.0], [0.0, *[0.5] * 10**6, 1.0]):
        assert below(exact(SMALLEST / 2), smooth_bound(np.array(ends), Fraction(10**6)))


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
