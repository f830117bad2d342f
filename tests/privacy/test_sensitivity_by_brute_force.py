"""Every sensitivity in the code, against all datasets of up to nine rows and all their neighbours.

Without ties to nine rows, with ties to eight (11,144 datasets). Values are computed by definition, in
fractions, by `tests.audits.exhaustive`, which shares nothing with the mechanisms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from confide.audits.subject import counted
from confide.errors import ParameterError
from confide.grid import Grid
from confide.privacy.mechanisms.auc_sensitivity import (
    auc_local_sensitivity,
    auc_smooth_bound,
    auc_smooth_bounds,
    exact_auc,
)
from confide.privacy.mechanisms.average_precision_sensitivity import (
    SLACK,
    LocalSensitivity,
    local_sensitivity,
    pessimistic_average_precision,
    published_sensitivity,
    smooth_bound,
    smooth_bounds,
)
from confide.privacy.mechanisms.class_sizes import class_sizes
from confide.privacy.mechanisms.private_counts import cells_above, cells_on, concentrated_counts, private_counts
from confide.privacy.mechanisms.rank_sum import rank_sum
from confide.privacy.mechanisms.squared_error import squared_error
from confide.privacy.mechanisms.strategies import FLAT, Haar, PerPoint, Strategy, Tree
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import ExactReal, as_real, exponential, lower_bound, maximum, upper_bound
from confide.privacy.queries import IntegerQuery
from tests.audits.exhaustive import (
    Ranking,
    Row,
    Sizes,
    auc,
    average_precision,
    concentrated_loss,
    flips,
    insertions,
    largest_rank_sum_loss,
    local_sensitivities,
    loss,
    ranking_counts,
    rankings,
    sizes,
    table_neighbours,
    tables,
    twice_rank_sum,
)

EPSILON = Fraction(7, 5)
BETAS = [Fraction(1, 50), Fraction(1, 10), Fraction(3, 5), Fraction(2)]
SPANS = [(rows, True) for rows in range(1, 9)] + [(9, False)]
METRICS = {"auc": auc, "average_precision": average_precision}

every_relation = pytest.mark.parametrize("neighbours", list(Neighbours))
every_beta = pytest.mark.parametrize("beta", BETAS, ids=str)


@cache
def sensitivities(metric: str, rows: int, neighbours: Neighbours, ties: bool) -> dict[Sizes, Fraction]:
    return local_sensitivities(METRICS[metric], rows, neighbours, ties=ties)


def found(metric: str, neighbours: Neighbours) -> dict[Sizes, Fraction]:
    """The largest change for every pair of class sizes with up to nine rows."""
    return {
        key: change for span in SPANS for key, change in sensitivities(metric, span[0], neighbours, span[1]).items()
    }


def below(first: ExactReal | Fraction, second: ExactReal | Fraction) -> bool:
    """Whether the first number is at most the second, as far as enclosures of 2^-60 tell."""
    return lower_bound(as_real(first)) <= upper_bound(as_real(second))


def same(first: ExactReal | Fraction, second: ExactReal | Fraction) -> bool:
    return below(first, second) and below(second, first)


# --- the enumeration itself


def test_the_enumeration_has_every_dataset_once() -> None:
    for rows, expected in enumerate([1, 2, 7, 24, 82, 280, 956]):
        every = list(rankings(rows))
        assert len(every) == len(set(every)) == expected
        assert all(sum(sizes(ranking)) == rows for ranking in every)


def test_insertions_and_flips_reach_exactly_the_neighbours() -> None:
    """Neighbours found by taking one row out of the written-out rows, for all datasets of four rows."""

    def written(ranking: Ranking) -> list[tuple[int, int]]:
        return [(label, k) for k, group in enumerate(ranking) for label in (0, 1) for _ in range(group[1 - label])]

    def ranked(rows: list[tuple[int, float]]) -> Ranking:
        scores = sorted({score for _, score in rows})
        return tuple((rows.count((1, score)), rows.count((0, score))) for score in scores)

    for ranking in rankings(4):
        rows: list[tuple[int, float]] = [(label, float(score)) for label, score in written(ranking)]
        places = [score / 2 for score in range(-1, 2 * len(ranking) + 1)]
        for label in (0, 1):
            assert set(insertions(ranking, label)) == {ranked([*rows, (label, place)]) for place in places}
        flipped = {ranked([*rows[:k], (1 - rows[k][0], rows[k][1]), *rows[k + 1 :]]) for k in range(4)}
        assert set(flips(ranking)) == flipped


@pytest.mark.parametrize("rows", range(7))
def test_values_by_definition_are_the_codes_values(rows: int) -> None:
    for ranking in rankings(rows):
        counts = ranking_counts(ranking)
        assert exact_auc(counts) == auc(ranking)
        assert rank_sum(counts, EPSILON, Neighbours.REPLACE_ONE).values == (twice_rank_sum(ranking), sizes(ranking)[0])
        error = abs(Fraction(pessimistic_average_precision(counts)) - average_precision(ranking))
        assert error <= SLACK / 64


def test_enumeration_refutes_wrong_sensitivities() -> None:
    """The larger class's size, the positives' alone, a rank sum with too little noise, cells as if rows only came."""
    changes = found("auc", Neighbours.REPLACE_ONE)
    assert any(change > Fraction(1, max(n, m, 1)) for (n, m), change in changes.items())
    assert any(change > Fraction(1, max(n, 1)) for (n, m), change in changes.items())

    def scarce(ranking: Ranking) -> IntegerQuery:
        query = rank_sum(ranking_counts(ranking), EPSILON, Neighbours.REPLACE_ONE)
        return replace(query, scales=(query.scales[0] * Fraction(4, 5), query.scales[1]))

    assert largest_rank_sum_loss(scarce, 6, Neighbours.REPLACE_ONE) > EPSILON
    one, other = (histogram(table, Neighbours.ADD_REMOVE_ONE, 2) for table in (((0, 0.25),), ((1, 0.75),)))
    assert loss(one, other) == 2 * EPSILON
    for strategy, levels in ((Tree(2), 2), (Haar(), 3)):  # noise for one level, though a row is in more
        one, other = (
            histogram(table, Neighbours.ADD_REMOVE_ONE, 4, strategy, levels * EPSILON) for table in ((), ((1, 0.75),))
        )
        assert loss(one, other) == levels * EPSILON


# --- integers


@pytest.mark.few(2)
@pytest.mark.parametrize(("rows", "ties"), [(1, True), (2, True), (4, True), (7, True), (9, False)])
@pytest.mark.parametrize("neighbours", [Neighbours.REPLACE_ONE, Neighbours.LABEL_ONLY])
def test_rank_sum_loses_exactly_epsilon(neighbours: Neighbours, rows: int, ties: bool) -> None:
    asked = cache(lambda ranking: rank_sum(ranking_counts(ranking), EPSILON, neighbours))
    largest = largest_rank_sum_loss(asked, rows, neighbours, ties=ties)
    assert largest <= EPSILON
    assert largest == EPSILON or rows == 1


def test_rank_sum_has_no_bound_under_add_remove_one() -> None:
    with pytest.raises(ParameterError, match="add-remove-one"):
        rank_sum(ranking_counts(((1, 1),)), EPSILON, Neighbours.ADD_REMOVE_ONE)


KINDS: list[Row] = [(label, score) for label in (0, 1) for score in (-0.5, 0.0, 0.25, 0.3, 0.5, 1.0, 2.0)]


def histogram(
    table: tuple[Row, ...], neighbours: Neighbours, cells: int, strategy: Strategy = FLAT, epsilon: Fraction = EPSILON
) -> IntegerQuery:
    return private_counts(cells_on(counted(table), Grid.uniform(cells)), epsilon, neighbours, strategy)


INTEGERS: dict[str, Callable[[tuple[Row, ...], Neighbours], IntegerQuery]] = {
    "class sizes": lambda table, neighbours: class_sizes(counted(table), EPSILON, neighbours),
    "squared error": lambda table, neighbours: squared_error(counted(table), EPSILON, neighbours),
    "confusion": lambda table, neighbours: private_counts(cells_above(counted(table), 0.3), EPSILON, neighbours),
    "2 cells": lambda table, neighbours: histogram(table, neighbours, 2),
    "3 cells": lambda table, neighbours: histogram(table, neighbours, 3),
    "4 cells": lambda table, neighbours: histogram(table, neighbours, 4),
    "tree of 5 cells": lambda table, neighbours: histogram(table, neighbours, 5, Tree(2)),
    "wavelet of 4 cells": lambda table, neighbours: histogram(table, neighbours, 4, Haar()),
    "points of 3 cells": lambda table, neighbours: histogram(table, neighbours, 3, PerPoint()),
}


@pytest.mark.few(9)
@every_relation
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_lose_exactly_epsilon(name: str, neighbours: Neighbours) -> None:
    asked = cache(lambda table: INTEGERS[name](table, neighbours))
    largest = max(
        loss(asked(table), asked(other))
        for rows in range(4 if neighbours == Neighbours.LABEL_ONLY else 3)
        for table in tables(KINDS, rows)
        for other in table_neighbours(table, KINDS, neighbours)
    )
    assert largest == EPSILON


@every_relation
def test_concentrated_counts_lose_at_most_rho_and_hardly_less(neighbours: Neighbours) -> None:
    rho = Fraction(1, 30)

    @cache
    def asked(table: tuple[Row, ...]) -> IntegerQuery:
        return concentrated_counts(cells_on(counted(table), Grid.uniform(3)), rho, neighbours)

    largest = max(
        concentrated_loss(asked(table), asked(other))
        for rows in range(3)
        for table in tables(KINDS, rows)
        for other in table_neighbours(table, KINDS, neighbours)
    )
    assert rho * (1 - Fraction(1, 2**50)) < largest <= rho


def test_neighbours_must_be_asked_alike() -> None:
    one, two = (IntegerQuery(values=(0,), scales=(Fraction(scale),)) for scale in (1, 2))
    with pytest.raises(ParameterError, match="scales"):
        loss(one, two)
    with pytest.raises(ParameterError, match="gaussian"):
        concentrated_loss(one, one)


# --- AUC


@pytest.mark.few(1)
@every_relation
def test_auc_changes_by_at_most_the_local_sensitivity(neighbours: Neighbours) -> None:
    for (positives, negatives), change in found("auc", neighbours).items():
        assert change <= auc_local_sensitivity(positives, negatives)


@pytest.mark.long
def test_the_local_sensitivity_of_auc_is_attained() -> None:
    """Wherever both classes are there: under replace-one always, under the others from two rows of each on."""
    for neighbours in Neighbours:
        for (positives, negatives), change in found("auc", neighbours).items():
            least = 1 if neighbours == Neighbours.REPLACE_ONE else 2
            if min(positives, negatives) >= least:
                assert change == auc_local_sensitivity(positives, negatives), (neighbours, positives, negatives)


@every_beta
def test_the_closed_form_of_aucs_smooth_bound_is_the_maximum(beta: Fraction) -> None:
    for smaller in (*range(13), 40):
        largest = maximum(
            *(auc_local_sensitivity(max(smaller - k, 0), 99) * exponential(-beta * k) for k in range(smaller + 3))
        )
        assert same(auc_smooth_bound(smaller, 99, beta), largest)
        assert same(auc_smooth_bound(99, smaller, beta), largest)


@pytest.mark.few(1)
@every_beta
@every_relation
def test_aucs_smooth_bound_covers_every_dataset_within_reach(neighbours: Neighbours, beta: Fraction) -> None:
    """Also the smooth sensitivity itself: what may happen k steps away, times exp(-beta k)."""
    changes = found("auc", neighbours)
    for (n, m), change in changes.items():
        bound = auc_smooth_bound(n, m, beta)
        assert below(change, bound)
        for (other_n, other_m), other in changes.items():
            steps = distance((n, m), (other_n, other_m), neighbours)
            if steps is not None and steps <= 3:
                assert below(other * exponential(-beta * steps), bound)


@every_beta
@every_relation
def test_aucs_smooth_bound_is_smooth(neighbours: Neighbours, beta: Fraction) -> None:
    for n in range(9):
        for m in range(9):
            here = auc_smooth_bound(n, m, beta)
            for other in one_step(n, m, neighbours):
                assert below(here, exponential(beta) * auc_smooth_bound(*other, beta))


def distance(first: Sizes, second: Sizes, neighbours: Neighbours) -> int | None:
    """The fewest steps between datasets of these sizes; None if there is no way."""
    (n, m), (other_n, other_m) = first, second
    if neighbours == Neighbours.ADD_REMOVE_ONE:
        return abs(n - other_n) + abs(m - other_m)
    return abs(n - other_n) if n + m == other_n + other_m else None


def one_step(n: int, m: int, neighbours: Neighbours) -> list[Sizes]:
    steps = ((1, 0), (-1, 0), (0, 1), (0, -1)) if neighbours == Neighbours.ADD_REMOVE_ONE else ((1, -1), (-1, 1))
    return [(n + dn, m + dm) for dn, dm in steps if n + dn >= 0 and m + dm >= 0]


# --- average precision


def test_the_local_sensitivity_of_average_precision_is_exact_under_replace_one() -> None:
    for (positives, negatives), change in found("average_precision", Neighbours.REPLACE_ONE).items():
        bound = local_sensitivity(positives + negatives, Neighbours.REPLACE_ONE).exact(positives)
        assert below(change, bound)
        if positives >= 2:
            assert same(change, bound), (positives, negatives)


@pytest.mark.few(1)
@every_relation
def test_average_precision_changes_by_at_most_the_local_sensitivity(neighbours: Neighbours) -> None:
    for (positives, negatives), change in found("average_precision", neighbours).items():
        assert below(change, local_sensitivity(positives + negatives, neighbours).exact(positives))


@every_relation
def test_average_precision_changes_by_at_most_the_published_bound(neighbours: Neighbours) -> None:
    for (positives, _), change in found("average_precision", neighbours).items():
        assert below(change, published_sensitivity().exact(positives))


def test_the_published_bound_is_above_ours_for_every_number_of_positives() -> None:
    """The release uses it under add-remove-one too, and enumeration does not reach where it is below 1."""
    positives = np.unique(np.concatenate((np.arange(0.0, 3000.0), np.geomspace(3e3, 1e12, 300).round())))
    published = published_sensitivity().floats(positives)
    assert (published >= local_sensitivity(0, Neighbours.ADD_REMOVE_ONE).floats(positives)).all()
    for rows in (10, 1000, 10**6, 10**12):
        fitting = positives <= rows
        assert (published >= local_sensitivity(rows, Neighbours.REPLACE_ONE).floats(positives))[fitting].all()


def test_the_first_term_alone_would_not_do() -> None:
    n, m = 2, 30
    top, bottom = ((0, 1),) * (m // 2), ((0, 1),) * (m - m // 2)
    largest = max(
        abs(average_precision((*low, (1, 0), *high, (1, 0))) - average_precision(((1, 0), *low, (1, 0), *high)))
        for low, high in ((((0, 1),) * (m - k), ((0, 1),) * k) for k in range(m + 1))
    )
    assert sizes((*bottom, (1, 0), *top, (1, 0))) == (n, m)
    assert largest > Fraction(1, 2)  # (H_2 - 1)/1
    assert same(largest, local_sensitivity(n + m, Neighbours.REPLACE_ONE).exact(n))


LOCALS: dict[str, Callable[[int], LocalSensitivity]] = {
    "replace-one": lambda rows: local_sensitivity(rows, Neighbours.REPLACE_ONE),
    "label-only": lambda rows: local_sensitivity(rows, Neighbours.LABEL_ONLY),
    "add-remove-one": lambda rows: local_sensitivity(rows, Neighbours.ADD_REMOVE_ONE),
    "published": lambda rows: published_sensitivity(),
}


@pytest.mark.parametrize("name", LOCALS)
def test_local_sensitivities_decrease_and_their_floats_are_near(name: str) -> None:
    local = LOCALS[name](40)
    exacts = [local.exact(n) for n in range(41)]
    for more, fewer in zip(exacts[1:], exacts, strict=False):
        assert below(more, fewer)
    floats = local.floats(np.arange(41.0))
    assert floats == pytest.approx([float(lower_bound(each)) for each in exacts], rel=1e-12)


def test_the_published_bound_is_not_cut_near_1() -> None:
    """Whether it is cut is decided in floats."""
    n = np.arange(2.0, 60.0)
    remove = np.maximum(np.log(n + 1) / n, (9 + np.log(n - 1)) / (4 * (n - 1)))
    add = np.maximum(np.log(n + 1) / n, (9 + np.log(n)) / (4 * n))
    assert np.abs(remove + add - 1.0).min() > 1e-3


@every_beta
@pytest.mark.parametrize("name", LOCALS)
def test_the_smooth_bound_of_average_precision_is_the_maximum_and_smooth(name: str, beta: Fraction) -> None:
    local = LOCALS[name](30)
    bounds = [smooth_bound(local, n, beta) for n in range(31)]
    for n, bound in enumerate(bounds):
        assert same(bound, maximum(*(local.exact(n - k) * exponential(-beta * k) for k in range(n + 1))))
        for other in bounds[max(n - 1, 0) : n + 2]:
            assert below(bound, exponential(beta) * other)


@every_beta
@every_relation
def test_the_smooth_bound_of_average_precision_covers_every_dataset_within_reach(
    neighbours: Neighbours, beta: Fraction
) -> None:
    changes = found("average_precision", neighbours)
    for (n, m), change in changes.items():
        bound = smooth_bound(local_sensitivity(n + m, neighbours), n, beta)
        assert below(change, bound)
        for (other_n, other_m), other in changes.items():
            steps = distance((n, m), (other_n, other_m), neighbours)
            if steps is not None and steps <= 3:
                assert below(other * exponential(-beta * steps), bound)


@every_beta
def test_bounds_for_plans_are_the_bounds_of_releases(beta: Fraction) -> None:
    sizes_of = np.arange(31.0)
    for local in (each(30) for each in LOCALS.values()):
        exacts = [float(lower_bound(smooth_bound(local, n, beta))) for n in range(31)]
        assert smooth_bounds(local, sizes_of, float(beta)) == pytest.approx(exacts, rel=1e-9)
    exacts = [float(lower_bound(auc_smooth_bound(n, 30 - n, beta))) for n in range(31)]
    assert auc_smooth_bounds(sizes_of, 30 - sizes_of, float(beta)) == pytest.approx(exacts, rel=1e-12)
