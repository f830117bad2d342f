"""Scores by definition, and how much one row changes them: every small dataset with all its neighbours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from flint import arb, ctx

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.features import FeatureRows, Integers
from confide.privacy.mechanisms.feature_scores import (
    GAIN_UNITS,
    SCORES,
    limited_scores,
    public_order,
    scored,
    sensitivity_of,
    units_of,
)
from confide.privacy.mechanisms.score_perturbation import perturbed_scores
from confide.privacy.mechanisms.sparse_vector import shares, sparse_vector
from confide.privacy.mechanisms.top_features import HOWS, top_features
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import upper_log
from tests.features import Row, every_row, of_rows
from tests.noises import FORBIDDEN

REPLACE, ADD_REMOVE, LABEL = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ONE, Neighbours.LABEL_ONLY
COUNTS = SCORES[:3]

Table = tuple[Row, ...]


def tables(width: int, rows: int) -> Iterator[Table]:
    yield from combinations_with_replacement(every_row(width), rows)


def neighbours_of(table: Table, width: int, relation: Neighbours) -> Iterator[Table]:
    """All neighbours; under add-remove-one those with a row more, as the relation is symmetric."""
    if relation == ADD_REMOVE:
        yield from (tuple(sorted((*table, row))) for row in every_row(width))
        return
    for k, (features, label) in enumerate(table):
        others = [(features, not label)] if relation == LABEL else every_row(width)
        yield from (tuple(sorted((*table[:k], *table[k + 1 :], row))) for row in others)


@cache
def limited(table: Table, width: int, score: str, most: int | None) -> tuple[int, ...]:
    return tuple(limited_scores(of_rows(list(table), width), score, most).tolist())


def changes(width: int, rows: int, relation: Neighbours, score: str, most: int | None) -> Iterator[list[int]]:
    for table in tables(width, rows):
        ours = limited(table, width, score, most)
        for other in neighbours_of(table, width, relation):
            yield [b - a for a, b in zip(ours, limited(other, width, score, most), strict=True)]


def by_definition(table: Table, feature: int, score: str) -> float:
    n = Counter((features[feature], int(label)) for features, label in table)
    if score == "total-count":
        return n[1, 1] + n[1, 0]
    if score == "difference-count":
        return abs(n[1, 1] - n[1, 0])
    if score == "purity-index":
        return max(abs(n[1, 1] - n[1, 0]), abs(n[0, 1] - n[0, 0]))

    def entropy(numbers: list[int]) -> float:
        return -sum(k / sum(numbers) * math.log(k / sum(numbers)) for k in numbers if k)

    inside = [[n[f, 0], n[f, 1]] for f in (0, 1) if n[f, 0] + n[f, 1]]
    whole = entropy([n[0, 0] + n[1, 0], n[0, 1] + n[1, 1]])
    return len(table) * (whole - sum(sum(part) / len(table) * entropy(part) for part in inside))


# --- scores


@pytest.mark.parametrize("score", SCORES)
def test_scores_by_definition(score: str) -> None:
    units = units_of(score)
    for table in tables(2, 4):
        expected = [round(units * by_definition(table, feature, score)) for feature in (0, 1)]
        assert limited(table, 2, score, None) == tuple(expected)


def test_information_gain_is_mutual_information() -> None:
    from sklearn.metrics import mutual_info_score

    rng = np.random.default_rng(11)
    labels = rng.random(500) < 0.3
    matrix = (rng.random((500, 6)) < 0.2 + 0.5 * labels[:, np.newaxis] * rng.random(6)).astype(int)
    gains = scored(FeatureRows.from_matrix(matrix, labels), "information-gain") / (500 * GAIN_UNITS)
    assert gains == pytest.approx([mutual_info_score(column, labels) for column in matrix.T], abs=1e-8)


@pytest.mark.parametrize("score", SCORES)
def test_no_rows_at_all(score: str) -> None:
    assert scored(of_rows([], 3), score).tolist() == [0, 0, 0]


def exact_gains(rows: FeatureRows) -> list[arb]:
    def phi(count: int) -> arb:
        return arb(count) * arb(max(count, 1)).log()

    having, sizes = rows.counts(), rows.class_sizes()
    every = []
    for ours, theirs in having.T.tolist():
        lacking = sizes[0] - ours, sizes[1] - theirs
        inside = phi(ours) + phi(theirs) + phi(lacking[0]) + phi(lacking[1])
        outside = phi(ours + theirs) + phi(sum(lacking)) + phi(sizes[0]) + phi(sizes[1])
        every.append(phi(len(rows)) + inside - outside)
    return every


def test_the_error_of_floats_is_far_below_what_is_allowed_for() -> None:
    """The proof says: below 1/2 + 2^-27 N log N units; allowed are 2^-20 N log N."""
    rng = np.random.default_rng(5)
    count = 300_000
    lengths = rng.binomial(12, 0.5, count)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    features = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    rows = FeatureRows(starts, features, rng.random(count) < 0.37, 12)
    allowed = 0.5 + count * math.log(count) * 2.0**-27
    with ctx.workprec(200):
        for found, exact in zip(scored(rows, "information-gain").tolist(), exact_gains(rows), strict=True):
            assert abs(float(arb(found) - GAIN_UNITS * exact)) < allowed


# --- what one row changes


@pytest.mark.few(7)
@pytest.mark.parametrize("most", [1, 2, None])
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("score", COUNTS)
def test_counts_change_by_what_is_said_and_no_less(score: str, relation: Neighbours, most: int | None) -> None:
    width, rows = 3, 2
    stated = sensitivity_of(
        score, relation, most_features=most, width=width, rows=None if relation == ADD_REMOVE else rows
    )
    found = list(changes(width, rows, relation, score, most))
    assert max(max(map(abs, change)) for change in found) == stated.one
    assert max(sum(map(abs, change)) for change in found) == stated.all
    assert max(max(change) - min(change) for change in found) <= stated.apart


@pytest.mark.few(5)
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("score", COUNTS)
def test_changes_of_two_scores_are_as_far_apart_as_is_said(score: str, relation: Neighbours, most: int) -> None:
    found = changes(2, 4, relation, score, most)
    stated = sensitivity_of(score, relation, most_features=most, width=2, rows=None if relation == ADD_REMOVE else 4)
    assert max(abs(first - second) for first, second in found) == stated.apart
    together = {("total-count", ADD_REMOVE), *(("purity-index", each) for each in Neighbours)}
    alone = score == "difference-count" and most == 1
    assert (stated.apart == stated.one) is ((score, relation) in together or alone or stated.one == 0)


@pytest.mark.parametrize("relation", [REPLACE, LABEL])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_information_gain_changes_by_what_is_said(relation: Neighbours, rows: int) -> None:
    stated = sensitivity_of("information-gain", relation, most_features=None, width=2, rows=rows)
    found = list(changes(2, rows, relation, "information-gain", None))
    largest = max(max(map(abs, change)) for change in found)
    assert stated.one - 3 <= largest <= stated.one or rows == 1
    assert max(sum(map(abs, change)) for change in found) <= stated.all == 2 * stated.one


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 20])
def test_information_gain_by_all_tables_of_counts(rows: int) -> None:
    """Every 2 x 2 table of the rows in common, with every row added: `N log N - (N-1) log(N-1)` is attained."""
    phi = np.array([0.0, *(k * math.log(k) for k in range(1, rows + 1))])

    def gain(n: Integers) -> FloatArray:
        a, b, c, d = n
        inside, outside = phi[a] + phi[b] + phi[c] + phi[d], phi[a + b] + phi[c + d] + phi[a + c] + phi[b + d]
        gained: FloatArray = phi[rows] + inside - outside
        return gained

    cuts = np.array(list(combinations(range(rows + 2), 3)))
    common = np.diff(cuts, axis=1, prepend=-1, append=rows + 2).T - 1
    gains = np.array([gain(common + np.eye(4, dtype=np.int64)[:, [k]]) for k in range(4)])
    bound = phi[rows] - phi[rows - 1]
    assert (gains.max(axis=0) - gains.min(axis=0)).max() == pytest.approx(bound, abs=1e-12)
    relabelled = np.maximum(np.abs(gains[0] - gains[1]), np.abs(gains[2] - gains[3])).max()
    assert relabelled == pytest.approx(bound, abs=1e-12)
    stated = sensitivity_of("information-gain", REPLACE, most_features=None, width=1, rows=rows).one
    assert GAIN_UNITS * bound + 1 <= stated <= GAIN_UNITS * bound + 3


def test_without_a_public_number_of_rows_information_gain_changes_without_bound() -> None:
    def gained(rows: int) -> int:
        """By the only negative, which alone has the feature."""
        matrix, labels = np.zeros((rows, 1), dtype=int), np.ones(rows, dtype=bool)
        matrix[-1], labels[-1] = 1, False
        return int(scored(FeatureRows.from_matrix(matrix, labels), "information-gain")[0])

    assert gained(10) < gained(100) - 2 * GAIN_UNITS < gained(1000) - 4 * GAIN_UNITS
    with pytest.raises(ParameterError, match="ask for label-only, for replace-one"):
        sensitivity_of("information-gain", ADD_REMOVE, most_features=1, width=2, rows=None)


@pytest.mark.parametrize("score", ["purity-index", "information-gain"])
@pytest.mark.parametrize("relation", [REPLACE, LABEL])
def test_the_papers_bound_on_how_many_scores_change_is_wrong(score: str, relation: Neighbours) -> None:
    """Stoddard and others, footnote 1: with rows of at most s features, 2s scores change under replace-one.

    Rows of one feature each, and five features: turning one label changes more than two scores.
    """
    matrix = np.vstack([np.eye(5, dtype=int)] * 3)[:11]
    labels = np.array([True, False, True, True, False] * 2 + [True])
    turned = labels.copy()
    turned[-1] = False
    ours, theirs = (scored(FeatureRows.from_matrix(matrix, each), score) for each in (labels, turned))
    assert np.count_nonzero(ours != theirs) > 2


def test_neither_is_the_noise_that_follows_from_it() -> None:
    """Rows without features, all positive: one label turned changes each purity index by 2, in all by more than 4."""
    labels = np.ones(4, dtype=bool)
    turned = np.array([True, True, True, False])
    ours, theirs = (
        scored(FeatureRows.from_matrix(np.zeros((4, 5), dtype=int), each), "purity-index") for each in (labels, turned)
    )
    stated = sensitivity_of("purity-index", REPLACE, most_features=1, width=5, rows=4)
    assert np.abs(ours - theirs).sum() == stated.all == 10 > 2 * 1 * stated.one


# --- what mechanisms make of it


def some_rows(width: int = 4) -> FeatureRows:
    rng = np.random.default_rng(2)
    return FeatureRows.from_matrix(rng.integers(0, 2, (30, width)), rng.integers(0, 2, 30).astype(bool))


def test_noise_for_every_score_and_relation() -> None:
    """Six features, rows of at most two: scales of score perturbation at epsilon 1/2."""
    expected = {
        ("total-count", ADD_REMOVE): 4,
        ("total-count", REPLACE): 8,
        ("difference-count", ADD_REMOVE): 4,
        ("difference-count", REPLACE): 8,
        ("difference-count", LABEL): 8,
        ("purity-index", ADD_REMOVE): 12,
        ("purity-index", REPLACE): 24,
        ("purity-index", LABEL): 24,
    }
    for (score, relation), scale in expected.items():
        query = perturbed_scores(some_rows(6), score, Fraction(1, 2), relation, most_features=2)
        assert query.scales == (Fraction(scale),) * 6
        assert query.noisy
    gains = perturbed_scores(some_rows(6), "information-gain", Fraction(1, 2), REPLACE, most_features=2)
    bound = 30 * math.log(30) - 29 * math.log(29)
    assert float(gains.scales[0]) == pytest.approx(2 * 6 * bound * GAIN_UNITS, rel=1e-6)
    assert gains.scales[0] > 2 * 6 * GAIN_UNITS * (30 * math.log(30) - 29 * upper_log(29))


@pytest.mark.parametrize("most", [1, None])
def test_every_mechanism_limits_the_rows(most: int | None) -> None:
    rows = FeatureRows.from_matrix(np.ones((9, 4), dtype=int), np.ones(9, dtype=bool))
    queries = (
        perturbed_scores(rows, "total-count", Fraction(1), ADD_REMOVE, most_features=most),
        sparse_vector(rows, "total-count", Fraction(1), ADD_REMOVE, threshold=1, cutoff=1, most_features=most),
        top_features(rows, "total-count", Fraction(1), ADD_REMOVE, k=1, most_features=most),
    )
    for query in queries:
        assert sum(query.values) == (9 if most else 36)
        assert str(query.values) not in repr(query)
        assert "values" not in repr(query)


def test_threshold_noise() -> None:
    rows = some_rows(9)
    query = sparse_vector(rows, "total-count", Fraction(2), ADD_REMOVE, most_features=None, threshold=5, cutoff=8)
    assert (query.threshold_scale, query.value_scale) == (Fraction(5, 2), 8 * Fraction(5, 8))
    query = sparse_vector(rows, "difference-count", Fraction(2), LABEL, most_features=None, threshold=5, cutoff=4)
    assert (query.threshold_scale, query.value_scale) == (Fraction(5), 2 * 4 * 2 * Fraction(5, 8))
    query = sparse_vector(rows, "purity-index", Fraction(2), LABEL, most_features=None, threshold=5, cutoff=8)
    assert (query.threshold_scale, query.value_scale) == (Fraction(5), 8 * 2 * Fraction(5, 8))
    for weight in range(1, 200):
        first, second = shares(Fraction(1, 3), Fraction(weight))
        assert first + second == Fraction(1, 3)
        assert float(second / first) == pytest.approx(weight ** (2 / 3), rel=1e-3)


def test_rates() -> None:
    rows = some_rows()
    for relation, score, change in (
        (ADD_REMOVE, "total-count", 1),
        (ADD_REMOVE, "difference-count", 2),
        (REPLACE, "total-count", 2),
        (ADD_REMOVE, "purity-index", 1),
        (REPLACE, "purity-index", 2),
        (LABEL, "difference-count", 4),
    ):
        query = top_features(rows, score, Fraction(3), relation, most_features=None, k=2)
        assert query.rate == Fraction(3, 2 * change)


def test_what_is_public_takes_no_noise() -> None:
    """Under label-only the total counts are; of equal ones the first in the public order is taken."""
    matrix = np.array([[1, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 0]])
    rows = FeatureRows.from_matrix(matrix, np.array([True, False, True]))
    given = ("total-count", Fraction(1), LABEL)
    equal = sorted((1, 3), key=public_order(4).tolist().index)
    assert perturbed_scores(rows, *given, most_features=None).draw(FORBIDDEN) == (3, 2, 0, 2)
    assert perturbed_scores(rows, *given, most_features=None).draw_many(2, FORBIDDEN) == [(3, 2, 0, 2)] * 2
    found = sparse_vector(rows, *given, most_features=None, threshold=2, cutoff=2)
    assert found.draw(FORBIDDEN) == tuple([n for n in public_order(4).tolist() if n != 2][:2])
    assert found.draw_many(2, FORBIDDEN) == [found.draw(FORBIDDEN)] * 2
    for how in HOWS:
        query = top_features(rows, *given, most_features=None, k=3, how=how)
        assert query.draw(FORBIDDEN) == (0, *equal)


@pytest.mark.parametrize("width", [1, 2, 5, 1000])
def test_the_public_order_is_an_order_and_mixes(width: int) -> None:
    order = public_order(width).tolist()
    assert sorted(order) == list(range(width))
    if width == 1000:
        assert 400 < np.mean(order[:100]) < 600
        assert len({number // 100 for number in order[:50]}) == 10


def test_only_what_is_public_decides_the_noise() -> None:
    """Two datasets with nothing in common but the number of features."""
    full = FeatureRows.from_matrix(np.ones((50, 4), dtype=int), np.ones(50, dtype=bool))
    empty = of_rows([], 4)
    for score in COUNTS:
        ours, theirs = (
            (
                perturbed_scores(rows, score, Fraction(1), ADD_REMOVE, most_features=2),
                sparse_vector(rows, score, Fraction(1), ADD_REMOVE, most_features=2, threshold=3, cutoff=2),
                top_features(rows, score, Fraction(1), ADD_REMOVE, most_features=2, k=2),
            )
            for rows in (full, empty)
        )
        assert list(map(repr, ours)) == list(map(repr, theirs))
        assert all(one.values != other.values for one, other in zip(ours[:1], theirs[:1], strict=True))
        assert [query.order for query in ours[1:]] == [query.order for query in theirs[1:]]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"score": "purity"}, "Did you mean 'purity-index'"),
        ({"neighbours": "replace"}, "neighbours must be one of"),
        ({"most_features": 0}, "most_features must be a whole number|features per row must be"),
        ({"most_features": 1.5}, "must be a whole number"),
    ],
)
def test_refusals_of_all(changed: dict[str, object], message: str) -> None:
    given = {"score": "total-count", "neighbours": "replace-one", "most_features": 3} | changed
    score, relation, most = given.values()
    rows, one = some_rows(), Fraction(1)
    with pytest.raises(ParameterError, match=message):
        perturbed_scores(rows, score, one, relation, most_features=most)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=message):
        sparse_vector(rows, score, one, relation, most_features=most, threshold=1, cutoff=1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=message):
        top_features(rows, score, one, relation, most_features=most, k=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [0, 5, True, 1.0, "2"])
def test_refusals_of_numbers(k: object) -> None:
    rows, given = some_rows(), ("total-count", Fraction(1), ADD_REMOVE)
    with pytest.raises(ParameterError, match="k must be a whole number from 1 to 4"):
        top_features(rows, *given, most_features=1, k=k)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="cutoff must be a whole number from 1 to 4"):
        sparse_vector(rows, *given, most_features=1, threshold=1, cutoff=k)  # type: ignore[arg-type]


def test_other_refusals() -> None:
    rows, given = some_rows(), ("total-count", Fraction(1), ADD_REMOVE)
    with pytest.raises(ParameterError, match="threshold must be a whole number"):
        sparse_vector(rows, *given, most_features=1, threshold=0.5, cutoff=1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="Did you mean 'peeling'"):
        top_features(rows, *given, most_features=1, k=1, how="peel")  # type: ignore[arg-type]
    tiny = Fraction(1, 2**55)
    with pytest.raises(ParameterError, match="take a larger epsilon"):
        perturbed_scores(rows, "purity-index", tiny, ADD_REMOVE, most_features=1)
    with pytest.raises(ParameterError, match="take a larger epsilon"):
        sparse_vector(rows, "purity-index", tiny, ADD_REMOVE, most_features=1, threshold=1, cutoff=1)
