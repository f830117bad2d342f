"""What a release spends in its parts is what it promises: shares, calibration and persons' rows, recomputed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from confide.counts import ScoreCounts
from confide.grid import Grid
from confide.privacy.accounting import epsilon_for, rho_for
from confide.privacy.mechanisms.auc_sensitivity import auc_smooth_bounds
from confide.privacy.mechanisms.strategies import strategy_named
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import ExactReal, upper_bound
from confide.privacy.queries import FollowedQuery, Noise
from confide.releases.auc import local_queries, local_terms
from confide.releases.average_precision import precision_queries, precision_terms
from confide.releases.counting import COUNTING_MECHANISMS, FAMILIES, PUBLISHED
from confide.releases.curves import prepare_curves
from confide.releases.grids import Automatic, GridSource, PrivateQuantiles, RecursiveMedians, grid_source
from confide.releases.release import Release
from confide.releases.smooth_sensitivity import calibrate, sizes_query
from confide.releases.terms import Terms
from tests.noises import Deaf

COUNTS = ScoreCounts.from_arrays([0, 1] * 50, range(100))
EPSILONS = ("1/10", "1", "3")


def exact(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("guess", [None, 0.3])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_student_t_and_class_sizes_share_one_epsilon(neighbours: Neighbours, epsilon: str, guess: float | None) -> None:
    terms = Terms.checked(epsilon=epsilon, neighbours=neighbours, prevalence_guess=guess)
    noise = calibrate("student-t", terms, auc_smooth_bounds, 100 if terms.rows_are_public else None)
    sizes = sizes_query(COUNTS, terms)
    with mpmath.workdps(60):
        d = noise.degrees_of_freedom
        of_value = (d + 1) / (2 * mpmath.sqrt(d)) / exact(noise.multiplier) + d * exact(noise.beta)
        spent = of_value + 1 / exact(sizes.scales[0])  # one row changes one size by one
        assert spent <= exact(terms.epsilon)
        assert spent > exact(terms.epsilon) * (1 - mpmath.mpf(10) ** -12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_published_mechanisms_and_class_sizes_share_one_epsilon(epsilon: str) -> None:
    terms = Terms.checked(epsilon=epsilon, delta="1e-6")
    sizes = 1 / sizes_query(COUNTS, terms).scales[0]
    cauchy = calibrate("published-cauchy", terms, auc_smooth_bounds, 100)
    assert 6 / cauchy.multiplier + sizes == terms.epsilon
    assert 6 * cauchy.beta + sizes == terms.epsilon
    laplace = calibrate("published-laplace", terms, auc_smooth_bounds, 100)
    assert 2 / laplace.multiplier + sizes == terms.epsilon
    assert laplace.delta == terms.delta


@pytest.mark.parametrize("rows", [1, 2, 5, 20])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_steps_from_row_to_row_make_what_a_person_is_promised(epsilon: str, rows: int) -> None:
    """k steps of (e, d) are (k e, d (1 + exp(e) + ... + exp((k-1) e))), which is at most k exp((k-1) e) d."""
    terms = Terms.checked(epsilon=epsilon, delta="1e-6", unit="person", rows_per_person=rows)
    promised = terms.guarantee(needs_delta=True)
    assert rows * terms.epsilon == promised.epsilon == Fraction(epsilon)
    with mpmath.workdps(60):
        one, delta = exact(terms.epsilon), exact(terms.delta)
        coarse = rows * mpmath.exp((rows - 1) * one) * delta
        assert mpmath.fsum(mpmath.exp(step * one) * delta for step in range(rows)) <= exact(promised.delta)
        assert coarse <= exact(promised.delta) * (1 + mpmath.mpf(10) ** -12)
        assert coarse >= exact(promised.delta) * (1 - mpmath.mpf(10) ** -12)


@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
@pytest.mark.parametrize("epsilon", ["1/1000", "1/3", "1", "7"])
def test_a_concentrated_budget_never_exceeds_what_was_asked(epsilon: str, delta: str) -> None:
    """To the last of sixty digits, so that a root rounded the wrong way shows."""
    rho = rho_for(Fraction(epsilon), Fraction(delta))
    with mpmath.workdps(80):
        loss = exact(rho) + 2 * mpmath.sqrt(exact(rho) * mpmath.log(1 / exact(Fraction(delta))))
        assert loss <= exact(Fraction(epsilon))
        assert loss <= exact(epsilon_for(rho, Fraction(delta)))


# --- curves: a grid may be found first, and what is left of epsilon is spent on counts


@dataclass
class Heard:
    """What a release of curves drew: integers, choices of edges, and the scales of noisy medians."""

    deaf: Deaf = field(default_factory=Deaf)
    medians: list[mpmath.mpf] = field(default_factory=list)

    def noise(self) -> Noise:
        def cauchy(value: Fraction, scale: ExactReal, grid: Fraction) -> int:
            self.medians.append(exact(upper_bound(scale)))
            return round(Fraction(1, 3) / grid)

        return replace(self.deaf.noise(), cauchy=cauchy)

    @property
    def choices(self) -> list[Fraction]:
        return [heard[2] for heard in self.deaf.heard if heard[0] == "choice"]  # type: ignore[misc]

    @property
    def integers(self) -> list[tuple[str, int, Fraction]]:
        return [heard for heard in self.deaf.heard if heard[0] != "choice"]  # type: ignore[misc]


def drawn(counts: ScoreCounts, **asked: Any) -> tuple[Heard, Release]:
    heard = Heard()
    (release,) = prepare_curves(counts, noise=heard.noise(), **asked).draw()
    return heard, release


def at(*scores: float) -> ScoreCounts:
    return ScoreCounts.from_arrays([0, 1] * (len(scores) // 2), scores)


# No score is inside (0, 1), and the bound S of the median is LENGTH/2 whatever beta; or four are at 1/2, all of
# which must go before nothing lies between the ends, and S is exp(-4 beta) LENGTH/2 for beta up to log 2.
LENGTH = 1 + mpmath.mpf(1) / 1024  # what the bound takes for a length of 1: the upper end of its class
OUTSIDE, MIDDLE = at(0.0, 1.0, 1.0, 1.0), at(0.5, 0.5, 0.5, 0.5)


def median_loss(**asked: Any) -> mpmath.mpf:
    """What one median loses to one row: Cauchy noise of scale `m S`, with S smooth by beta, has `1/m + beta`."""
    scales = [drawn(counts, **asked)[0].medians[0] for counts in (OUTSIDE, MIDDLE)]
    multiplier = 2 * scales[0] / LENGTH
    beta = -mpmath.log(scales[1] / scales[0]) / 4
    return 1 / multiplier + beta


def grid_loss(source: GridSource, heard: Heard, neighbours: Neighbours, **asked: Any) -> mpmath.mpf:
    """The most that finding the grid loses: each level's nodes hold the row once, and a replaced row twice.

    A coarse table with Gaussian noise loses rho, everything else epsilon.
    """
    changed = 2 if neighbours == Neighbours.REPLACE_ONE else 1
    if neighbours == Neighbours.LABEL_ONLY or isinstance(source, Grid):
        assert not heard.choices
        assert not heard.medians
        return mpmath.mpf(0)
    if isinstance(source, Automatic):
        family, _, scale = heard.integers[0]
        return exact(changed / scale if family == "laplace" else Fraction(changed) / (2 * scale**2))
    if isinstance(source, PrivateQuantiles):
        (rate,) = set(heard.choices)
        return changed * source.levels * 2 * exact(rate)  # a weight and the sum of weights, each by exp(rate)
    assert isinstance(source, RecursiveMedians)
    return changed * source.levels * median_loss(neighbours=neighbours, **asked)


def counts_loss(release: Release, heard: Heard, neighbours: Neighbours) -> mpmath.mpf:
    """The most that the integers of a strategy lose: epsilon of Laplace noise, rho of Gaussian noise."""
    cells = len(release.options["grid"]) - 1
    changed = (2 if neighbours == Neighbours.REPLACE_ONE else 1) * strategy_named(release.options["strategy"]).levels(
        cells
    )
    family, _, scale = heard.integers[-1]
    return exact(changed / scale if family == "laplace" else changed / (2 * scale**2))


def ways_to_count() -> Iterator[tuple[str, str]]:
    for mechanism in COUNTING_MECHANISMS:
        for strategy in ("auto", "tree:4", "haar") if mechanism in FAMILIES else ("auto",):
            yield mechanism, strategy


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("grid", [Grid.uniform(7), "auto", "quantiles:8", "medians:3"], ids=str)
@pytest.mark.parametrize(("mechanism", "strategy"), list(ways_to_count()))
def test_a_grid_and_the_counts_on_it_share_one_epsilon(
    mechanism: str, strategy: str, grid: Any, neighbours: Neighbours
) -> None:
    """To the last digit: nothing is spent twice, and nothing is left but what the papers leave."""
    epsilon, delta = Fraction(3, 4), Fraction(1, 10**6)
    asked = {"epsilon": epsilon, "delta": delta, "mechanism": mechanism, "strategy": strategy, "grid": grid}
    heard, release = drawn(COUNTS, neighbours=neighbours, threshold=0.3, **asked)
    with mpmath.workdps(40):
        of_grid = grid_loss(grid_source(grid), heard, neighbours, **asked)
        of_counts = counts_loss(release, heard, neighbours)
        throughout = mechanism == "gaussian" and (grid == "auto" or not of_grid)
        if throughout:
            assert of_grid == 0 or abs(of_counts / of_grid - 19) < mpmath.mpf(10) ** -12
            of_grid, of_counts = mpmath.mpf(0), of_grid + of_counts
        near = mpmath.mpf(10) ** (-10 if grid == "medians:3" else -12)  # bounds of medians round logarithms to 2^-40
        if mechanism == "gaussian":
            assert release.guarantee.rho is not None
            together = of_counts + of_grid**2 / 2
            assert together * (1 - near) <= exact(release.guarantee.rho) <= together * (1 + near)
            of_counts += 2 * mpmath.sqrt(of_counts * mpmath.log(1 / exact(delta)))
        assert of_grid + of_counts <= exact(release.guarantee.epsilon) * (1 + near)
        share = PUBLISHED[mechanism].share(len(release.options["grid"]) - 1) if mechanism in PUBLISHED else Fraction(1)
        left = exact(epsilon) - of_grid
        assert of_counts >= left * exact(share) * (1 - near)
        assert of_counts <= left * exact(share) * (1 + near)
        assert release.guarantee.delta == (delta if mechanism == "gaussian" else 0)
        assert (release.guarantee.rho is None) == (mechanism != "gaussian")


@pytest.mark.parametrize("source", ["auto", "quantiles:8", "medians:3"])
def test_a_grid_costs_what_is_said(source: str) -> None:
    """A twentieth for a coarse table, a fifth for quantiles; nothing of public scores."""
    share_of_private = Fraction(1, 20) if source == "auto" else Fraction(1, 5)
    expected = (share_of_private, share_of_private, Fraction(0))
    for neighbours, share in zip(Neighbours, expected, strict=True):
        asked: dict[str, Any] = {"epsilon": 2, "mechanism": "laplace", "grid": source}
        heard, _ = drawn(COUNTS, neighbours=neighbours, **asked)
        with mpmath.workdps(40):
            found = grid_loss(grid_source(source), heard, neighbours, **asked)
            assert abs(found - 2 * exact(Fraction(share))) < mpmath.mpf(10) ** -10


@pytest.mark.parametrize("mechanism", ["laplace", "recursive-medians"])
@pytest.mark.parametrize("grid", [Grid.uniform(8), "quantiles:4", "medians:2"], ids=str)
def test_a_person_with_three_rows_gets_three_times_the_noise_on_curves(grid: Any, mechanism: str) -> None:
    asked: dict[str, Any] = {"epsilon": 1, "mechanism": mechanism, "grid": grid}
    one, _ = drawn(COUNTS, **asked)
    three, release = drawn(COUNTS, unit="person", rows_per_person=3, **asked)
    assert [(kind, many, 3 * scale) for kind, many, scale in one.integers] == three.integers
    assert [rate / 3 for rate in one.choices] == three.choices
    assert release.guarantee.epsilon == 1


def test_recomputing_finds_what_is_spent_twice() -> None:
    """Counts with all of epsilon beside a grid that had its fifth."""
    asked: dict[str, Any] = {"epsilon": 1, "mechanism": "laplace", "strategy": "flat"}
    neighbours = Neighbours.REPLACE_ONE
    with_grid, _ = drawn(COUNTS, neighbours=neighbours, grid="quantiles:8", **asked)
    alone, release = drawn(COUNTS, neighbours=neighbours, grid=Grid.uniform(8), **asked)
    spent = grid_loss(grid_source("quantiles:8"), with_grid, neighbours) + counts_loss(release, alone, neighbours)
    assert spent == pytest.approx(1.2)


def test_a_person_with_several_rows_gets_gaussian_noise_for_a_divided_delta() -> None:
    """Three rows make a person: epsilon/3, and delta divided by `3 exp(2 epsilon / 3)`."""
    counts = ScoreCounts.from_arrays([0, 1] * 50, np.linspace(0.0, 1.0, 100))
    deaf = Deaf()
    prepare_curves(
        counts, epsilon=3, delta="1e-6", mechanism="gaussian", grid="uniform:4", strategy="flat", unit="person",
        rows_per_person=3, noise=deaf.noise(),
    ).draw()  # fmt: skip
    ((_, _, scale),) = deaf.heard
    delta = 1e-6 / (3.0 * math.exp(2.0))
    logarithm = math.log(1.0 / delta)
    rho = (math.sqrt(logarithm + 1.0) - math.sqrt(logarithm)) ** 2
    assert float(scale) == pytest.approx(math.sqrt(2.0 / (2.0 * rho)), rel=1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(2)], ids=str)
def test_a_local_scale_and_the_class_sizes_share_one_epsilon(neighbours: Neighbours, epsilon: Fraction) -> None:
    """What follows an AUC costs nothing more; see the proof of class sizes that follow it."""
    terms = Terms.checked(epsilon=epsilon, neighbours=neighbours)
    rows = 200 if terms.rows_are_public else None
    counts = ScoreCounts.from_arrays([0, 1] * 100, range(200))
    area, precision = local_terms(terms, rows), precision_terms(terms, rows)
    assert area is not None
    for parameters, queries in ((area, local_queries), (precision, precision_queries)):
        value, sizes = queries(counts, terms, rows)
        assert set(sizes.scales) == {1 / (epsilon - parameters.epsilon)}
        shown = value.first if isinstance(value, FollowedQuery) else value
        assert shown.shape == parameters.shape
    assert local_queries(counts, terms, rows)[0].first.scale == 1 / (area.epsilon * 100)
