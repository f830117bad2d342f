"""Selections have the probabilities that they say, and the same test refuses selections that have others.

The test: Pearson's chi-square over all answers against their probabilities by definition, refused at the rate `ALARM`.
Answers that are expected fewer than 50 times are counted together. Four tests of right selections have no seed
(three of ours, and OpenDP's): a run of this file raises a false alarm with a probability of about 4e-7. The others draw
bits with fixed seeds, and always pass or always fail.
"""

# ruff: noqa: S311 - bits with a seed, so that a failure can be repeated
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from confide.errors import ConfideError, ParameterError
from confide.privacy import queries
from confide.privacy.noise import choice
from confide.privacy.noise.choice import exponential_top, permute_and_flip_top
from confide.privacy.queries import HIGHEST, LOWEST, Noise, ThresholdQuery, TopQuery, unbounded_laplace
from tests.noises import seeded
from tests.selection_odds import (
    Answer,
    Odds,
    exponential_odds,
    in_turn,
    permute_and_flip_odds,
    threshold_odds,
    top_odds,
)

pytestmark = pytest.mark.statistical

ALARM = 1e-7
DRAWS = 2000

Choose = Callable[..., list[int]]
WAYS: dict[str, tuple[Choose, Callable[[list[int], float], list[float]]]] = {
    "peeling": (exponential_top, exponential_odds),
    "permute-and-flip": (permute_and_flip_top, permute_and_flip_odds),
}
CASES: dict[str, tuple[list[int], Fraction, int]] = {
    "one of four": ([0, 3, 1, 2], Fraction(1, 2), 1),
    "two of four": ([2, 0, 1, 4], Fraction(2, 3), 2),
    "classes of equals": ([1, 0, 1, 2, 2], Fraction(1), 2),
    "all of three": ([-5, -7, -6], Fraction(3, 4), 3),
    "all equal": ([4, 4, 4], Fraction(9), 2),
    "no rate": ([0, 10**15, 3], Fraction(0), 2),
    "a small rate": ([0, 10**6, 3 * 10**6], Fraction(1, 10**6), 2),
    "hopeless ones": ([0, 1, 400, 2**61], Fraction(1, 3), 2),
}
every_way = pytest.mark.parametrize("way", WAYS)
every_case = pytest.mark.parametrize("case", CASES)


def refused(answers: Iterable[Answer], expected: Odds) -> bool:
    """Whether answers cannot have these probabilities."""
    observed = Counter(answers)
    total = observed.total()
    if set(observed) - set(expected):
        return True
    likely = [answer for answer in expected if expected[answer] * total >= 50]
    rest = total * (1.0 - sum(expected[answer] for answer in likely))
    hoped = np.array([*(total * expected[answer] for answer in likely), rest])
    found = np.array([observed[answer] for answer in likely])
    found = np.append(found, total - found.sum())
    if rest < 50:
        if found[-1] > stats.poisson.isf(ALARM, max(rest, 1e-12)):
            return True
        hoped, found = hoped[:-1], found[:-1]
    return (
        bool(stats.chi2.sf(((found - hoped) ** 2 / hoped).sum(), hoped.size - 1) < ALARM) if hoped.size > 1 else False
    )


def odds(way: str, case: str) -> Odds:
    costs, rate, k = CASES[case]
    return in_turn([-cost for cost in costs], float(rate), k, WAYS[way][1])


def chosen(
    way: str, case: str, seed: int | None = 1, times: Fraction = Fraction(1), draws: int = DRAWS
) -> list[Answer]:
    costs, rate, k = CASES[case]
    options: dict[str, Any] = {} if seed is None else {"bits": random.Random(seed).getrandbits}
    return [tuple(WAYS[way][0](costs, rate * times, k, **options)) for _ in range(DRAWS)]


@contextmanager
def contributed() -> Iterator[None]:
    """OpenDP's contributed parts, switched off again if they were."""
    from opendp.mod import GLOBAL_FEATURES, disable_features, enable_features

    had = "contrib" in GLOBAL_FEATURES
    enable_features("contrib")
    yield
    if not had:
        disable_features("contrib")


# --- the k cheapest


@pytest.mark.few(5)
@every_case
@every_way
def test_choices_in_turn(way: str, case: str) -> None:
    assert not refused(chosen(way, case), odds(way, case))


@every_way
def test_choices_by_the_systems_bits(way: str) -> None:
    assert not refused(chosen(way, "two of four", seed=None), odds(way, "two of four"))


@every_way
def test_one_choice_is_not_the_other(way: str) -> None:
    other = next(each for each in WAYS if each != way)
    assert refused(chosen(way, "two of four"), odds(other, "two of four"))


@every_way
@pytest.mark.parametrize("times", [Fraction(3, 4), Fraction(4, 3)])
def test_a_rate_wrong_by_a_quarter_is_refused(way: str, times: Fraction) -> None:
    assert refused(chosen(way, "two of four", seed=2, times=times), odds(way, "two of four"))


def test_one_pass_of_exponential_noise_is_not_permute_and_flip_in_turn() -> None:
    """The k greatest sums of one pass: another distribution, which has no proof here."""
    rng = np.random.default_rng(4)
    costs, rate, k = CASES["two of four"]
    sums = rng.exponential(size=(40 * DRAWS, len(costs))) - float(rate) * np.array(costs)
    once = [tuple(row) for row in np.argsort(-sums, axis=1)[:, :k].tolist()]
    assert refused(once, odds("permute-and-flip", "two of four"))
    sums = rng.gumbel(size=(40 * DRAWS, len(costs))) - float(rate) * np.array(costs)
    once = [tuple(row) for row in np.argsort(-sums, axis=1)[:, :k].tolist()]
    assert not refused(once, odds("peeling", "two of four"))


def test_opendp_flips_as_we_do() -> None:
    """Its noisy maxima for pure epsilon; the scale 3/2 is a float, so it needs no rounding."""
    import opendp.prelude as dp

    with contributed():
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
        choose = dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=2, scale=1.5, negate=True)
    costs = CASES["two of four"][0]
    answers = [tuple(choose(costs)) for _ in range(DRAWS)]
    assert not refused(answers, odds("permute-and-flip", "two of four"))


@pytest.mark.parametrize("case", ["two of four", "classes of equals"])
def test_coins_make_up_for_coarse_weights(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With three binary places the coin decides often, and the choice is still exact."""
    monkeypatch.setattr(choice, "PLACES", 3)
    monkeypatch.setattr(choice, "_ENOUGH", 2)
    assert not refused(chosen("peeling", case), odds("peeling", case))


def test_without_the_coins_coarse_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "PLACES", 3)
    monkeypatch.setattr(choice, "_ENOUGH", 2)
    monkeypatch.setattr(choice, "_coin", lambda *given: True)
    assert refused(chosen("peeling", "two of four"), odds("peeling", "two of four"))


@pytest.mark.parametrize("case", ["two of four", "hopeless ones"])
def test_doubtful_coins_are_flipped_to_the_end(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If floats are not trusted at all, every coin but the cheapest candidate's is flipped exactly."""
    flipped: list[bool] = []
    exactly = choice._coin

    def coin(*given: Any) -> bool:
        flipped.append(exactly(*given))
        return flipped[-1]

    monkeypatch.setattr(choice, "_DOUBT", 2.0**33)
    monkeypatch.setattr(choice, "_coin", coin)
    assert not refused(chosen("permute-and-flip", case), odds("permute-and-flip", case))
    assert len(flipped) > DRAWS
    assert len(set(flipped)) == 2


@every_way
def test_far_apart_costs_leave_no_choice(way: str) -> None:
    """Weights fall by e^200 and more from one to the next, and are weighed anew each time."""
    costs = [1000, 0, 200, 10**12, 400]
    for seed in range(20):
        bits = random.Random(seed).getrandbits
        assert WAYS[way][0](costs, Fraction(1), 5, bits=bits) == [1, 2, 4, 0, 3]


@every_way
def test_many_candidates(way: str) -> None:
    """Five hundred of fifty thousand, of a few hundred different costs, all different; cheap ones far oftener."""
    rng = np.random.default_rng(3)
    costs = -rng.geometric(0.01, 50_000)
    found = WAYS[way][0](costs, Fraction(1, 50), 60, bits=random.Random(5).getrandbits)
    assert len(set(found)) == 60
    assert costs[found].mean() < costs.mean() - 100


@every_way
def test_lists_and_arrays_choose_alike(way: str) -> None:
    costs = [5, 0, 3, 3]
    for seed in range(30):
        listed, packed = (
            WAYS[way][0](given, Fraction(1, 7), 3, bits=random.Random(seed).getrandbits)
            for given in (costs, np.array(costs))
        )
        assert listed == packed
        assert all(type(index) is int for index in listed)


@every_way
@pytest.mark.parametrize(
    ("costs", "rate", "k", "message"),
    [
        ([], Fraction(1), 1, "k must be a whole number from 1"),
        ([1, 2], Fraction(1), 3, "k must be a whole number from 1"),
        ([1, 2], Fraction(1), 0, "k must be a whole number from 1"),
        ([1, 2], Fraction(1), True, "k must be a whole number from 1"),
        ([1, 2], Fraction(-1), 1, "rate must not be negative"),
        ([1, 2], 0.5, 1, "rate must be an exact number"),
        ([0.5], Fraction(1), 1, "costs must be a sequence of integers"),
        ([2**62], Fraction(1), 1, "costs must lie within"),
    ],
)
def test_refusals(way: str, costs: Sequence[int], rate: Fraction, k: int, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        WAYS[way][0](costs, rate, k)


@every_way
def test_bits_that_are_all_ones_end_in_an_error(way: str) -> None:
    with pytest.raises(ConfideError, match="the same bit for ever"):
        WAYS[way][0]([0, 0, 0], Fraction(1), 1, bits=lambda count: (1 << count) - 1)


# --- queries


THRESHOLD = ThresholdQuery(
    values=(3, 5, 2, 4),
    order=(2, 0, 3, 1),
    threshold=4,
    cutoff=2,
    threshold_scale=Fraction(3, 2),
    value_scale=Fraction(5, 2),
)
TOP = TopQuery(values=(3, 5, 2, 4), order=(2, 0, 3, 1), k=2, rate=Fraction(2, 3), how="peeling")


def test_thresholds() -> None:
    assert sum(threshold_odds(THRESHOLD).values()) == pytest.approx(1.0)
    assert not refused(THRESHOLD.draw_many(4 * DRAWS, seeded(8)), threshold_odds(THRESHOLD))


def test_thresholds_by_the_systems_noise() -> None:
    assert not refused(THRESHOLD.draw_many(DRAWS), threshold_odds(THRESHOLD))


def test_thresholds_one_by_one_and_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "BLOCK", 3)
    noise = seeded(9)
    assert not refused((THRESHOLD.draw(noise) for _ in range(4 * DRAWS)), threshold_odds(THRESHOLD))


@pytest.mark.parametrize(
    "broken",
    [
        replace(THRESHOLD, value_scale=Fraction(2)),
        replace(THRESHOLD, threshold_scale=Fraction(1)),
        replace(THRESHOLD, threshold=3),
        replace(THRESHOLD, order=(0, 1, 2, 3)),
    ],
)
def test_other_thresholds_are_refused(broken: ThresholdQuery) -> None:
    assert refused(broken.draw_many(4 * DRAWS, seeded(10)), threshold_odds(THRESHOLD))


def test_a_threshold_of_its_own_for_each_is_refused() -> None:
    noise, wide = seeded(11), replace(THRESHOLD, threshold_scale=Fraction(1, 1000))
    values = [wide.values[number] for number in wide.order]
    found = []
    for _ in range(4 * DRAWS):
        noisy, bars = noise.discrete_laplace(values, Fraction(5, 2)), noise.discrete_laplace([4] * 4, Fraction(3, 2))
        reached = [n for n, value, bar in zip(wide.order, noisy, bars, strict=True) if value >= bar]
        found.append(tuple(reached[:2]))
    assert refused(found, threshold_odds(THRESHOLD))


@pytest.mark.parametrize("how", ["peeling", "permute-and-flip"])
def test_top_queries(how: Any) -> None:
    query = replace(TOP, how=how)
    assert not refused(query.draw_many(DRAWS, seeded(12)), top_odds(query))
    assert refused(replace(query, rate=Fraction(1)).draw_many(DRAWS, seeded(13)), top_odds(query))


def test_noise_is_drawn_no_further_than_the_cutoff(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def silent(values: Sequence[int], scale: Fraction) -> list[int]:
        drawn.append(len(values))
        return list(values)

    monkeypatch.setattr(queries, "BLOCK", 10)
    query = replace(THRESHOLD, values=(9,) * 100, order=tuple(range(100)), cutoff=12)
    assert query.draw(Noise(discrete_laplace=silent)) == tuple(range(12))
    assert drawn == [1, 10, 10]


def test_noise_goes_on_behind_the_ends_of_64_bits() -> None:
    """At an end the right half of the distribution is added, however often it takes to draw from it."""

    def given(*numbers: int) -> Noise:
        left = iter(numbers)
        return Noise(discrete_laplace=lambda values, scale: [value + next(left) for value in values])

    one = Fraction(1)
    assert unbounded_laplace(2, one, given(5, -7)) == [5, -7]
    assert unbounded_laplace(2, one, given(HIGHEST, 3, -2, -1, 6)) == [HIGHEST + 6, 3]
    assert unbounded_laplace(1, one, given(LOWEST, -4, 0)) == [LOWEST]
    assert unbounded_laplace(1, one, given(LOWEST, HIGHEST, 2)) == [LOWEST - HIGHEST - 2]
    assert unbounded_laplace(1, one, given(LOWEST + 1)) == [LOWEST + 1]


def test_opendp_cuts_off_at_these_ends() -> None:
    """Half of the sums of noise and a value at an end lie beyond it: none of sixty with a probability of 2^-60."""
    import opendp.prelude as dp

    with contributed():
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        add = dp.m.make_laplace(*space, scale=2.0**50)
    assert max(add([HIGHEST] * 60)) == HIGHEST
    assert min(add([LOWEST] * 60)) == LOWEST
