"""The sufficient statistic: immutable, private in text, and a commutative monoid under addition."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import ScoreCounts
from confide.errors import ConfideError, OneClassError, ParameterError, ScoreError, WeightError
from tests.strategies import RowTable, any_scores, row_tables, score_counts

ARRAYS = ("scores", "positives", "negatives")
COUNTS = ScoreCounts.from_arrays([0, 1, 1, 0], [0.1, 0.8, 0.4, 0.4])


@given(score_counts(any_scores), score_counts(any_scores), score_counts(any_scores))
def test_addition_is_associative_and_commutative(a: ScoreCounts, b: ScoreCounts, c: ScoreCounts) -> None:
    # Weights are multiples of a quarter, so sums are exact.
    assert a + b == b + a
    assert (a + b) + c == a + (b + c) == ScoreCounts.total([a, b, c]) == sum([a, b, c])


@given(score_counts(any_scores))
def test_nothing_added_changes_nothing(counts: ScoreCounts) -> None:
    assert counts + ScoreCounts.empty() == ScoreCounts.empty() + counts == counts
    assert ScoreCounts.total([]) == ScoreCounts.empty()
    assert ScoreCounts.total([counts]) == counts


@given(score_counts(), score_counts())
def test_addition_adds_at_every_score(a: ScoreCounts, b: ScoreCounts) -> None:
    both = a + b
    for score in {*a.scores, *b.scores}:
        for name in ("positives", "negatives"):
            parts = [getattr(part, name)[part.scores == score].sum() for part in (a, b)]
            assert getattr(both, name)[both.scores == score].item() == sum(parts)
    assert set(both.scores) == {*a.scores, *b.scores}
    assert both.weighted == (a.weighted or b.weighted)


@given(rows=row_tables(any_scores))
def test_counts_are_those_of_the_rows(rows: RowTable) -> None:
    counts = rows.weighted_counts()
    assert (np.diff(counts.scores) > 0).all()
    for score, ours, theirs in zip(counts.scores, counts.positives, counts.negatives, strict=True):
        here = rows.scores == score
        assert ours == rows.weights[here & (rows.labels == 1)].sum()
        assert theirs == rows.weights[here & (rows.labels == 0)].sum()
    assert counts.total_positives + counts.total_negatives == rows.weights.sum()
    assert isinstance(counts.total_positives, int)


@given(rows=row_tables(any_scores))
def test_minus_zero_is_zero(rows: RowTable) -> None:
    scores = rows.counts().scores
    assert not np.signbit(scores[scores == 0]).any()


@pytest.mark.parametrize("array", ARRAYS)
def test_arrays_cannot_be_written(array: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(COUNTS, array)[0] = 7


@pytest.mark.parametrize("array", ARRAYS)
def test_fields_cannot_be_replaced(array: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(COUNTS, array, np.zeros(3))


def own_arrays() -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    return {"scores": np.array([1.0, 2.0]), "positives": np.array([3.0, 4.0]), "negatives": np.array([5.0, 6.0])}


@pytest.mark.parametrize("array", ARRAYS)
def test_the_callers_arrays_are_not_shared(array: str) -> None:
    given_arrays = own_arrays()
    counts = ScoreCounts(**given_arrays)
    given_arrays[array][0] = -9.0
    assert counts == ScoreCounts(**own_arrays())
    assert given_arrays[array].flags.writeable


@pytest.mark.parametrize("array", ARRAYS)
def test_a_read_only_view_of_the_callers_array_is_not_shared(array: str) -> None:
    given_arrays = own_arrays()
    views = {name: values.view() for name, values in given_arrays.items()}
    for view in views.values():
        view.flags.writeable = False
    counts = ScoreCounts(**views)
    given_arrays[array][0] = -9.0
    assert counts == ScoreCounts(**own_arrays())


def test_rows_are_not_shared() -> None:
    labels, scores, weights = np.array([0, 1, 1]), np.array([0.5, 0.25, 0.75]), np.array([2.0, 1.0, 1.0])
    counts = ScoreCounts.from_arrays(labels, scores, weights)
    before = copy.deepcopy(counts)
    scores[:] = weights[:] = 9.0
    assert counts == before


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda counts: pickle.loads(pickle.dumps(counts))])  # noqa: S301
def test_copies_are_equal_and_as_immutable(copied: object) -> None:
    twin = copied(COUNTS)  # type: ignore[operator]
    assert twin == COUNTS
    for array in ARRAYS:
        assert not getattr(twin, array).flags.writeable


def test_text_shows_nothing_private() -> None:
    counts = ScoreCounts.from_arrays([0, 1, 1], [0.314, 0.159, 0.265], [358, 979, 323])
    for text in (repr(counts), str(counts), f"{counts}", repr([counts]), repr({"counts": counts})):
        assert not any(digits in text for digits in ("314", "159", "265", "358", "979", "323", "3"))
    assert repr(counts) == "ScoreCounts(<private>, weighted=False)"


def test_equality_is_by_content() -> None:
    assert COUNTS + ScoreCounts.empty() == COUNTS
    assert COUNTS != COUNTS + COUNTS
    assert COUNTS != "counts"
    with pytest.raises(TypeError, match="unhashable"):
        hash(COUNTS)


@pytest.mark.parametrize("other", [None, 1, "counts", [COUNTS], np.zeros(3)])
def test_only_counts_can_be_added(other: object) -> None:
    with pytest.raises(TypeError):
        COUNTS + other


BROKEN: list[tuple[list[float], list[float], list[float], type[ConfideError]]] = [
    ([2.0, 1.0], [1, 1], [0, 1], ParameterError),
    ([1.0, 1.0], [1, 1], [0, 1], ParameterError),
    ([0.0, -0.0], [1, 1], [0, 1], ParameterError),
    ([1.0], [1, 1], [0, 1], ParameterError),
    ([np.nan], [1], [1], ScoreError),
    ([np.inf], [1], [1], ScoreError),
    ([1.0], [np.nan], [1.0], WeightError),
    ([1.0], [np.inf], [1.0], WeightError),
    ([1.0], [-1], [2], WeightError),
    ([1.0], [0], [0], WeightError),
]


@pytest.mark.parametrize(("scores", "positives", "negatives", "error"), BROKEN)
def test_the_constructor_keeps_its_invariants(
    scores: list[float], positives: list[float], negatives: list[float], error: type[ConfideError]
) -> None:
    with pytest.raises(error):
        ScoreCounts(np.array(scores), np.array(positives), np.array(negatives))


@given(score_counts())
def test_both_classes_or_an_error(counts: ScoreCounts) -> None:
    if counts.positives.any() and counts.negatives.any():
        assert counts.both_classes() == (counts.total_positives, counts.total_negatives)
        assert counts.prevalence == counts.total_positives / (counts.total_positives + counts.total_negatives)
    else:
        with pytest.raises(OneClassError, match="one class"):
            counts.both_classes()


@given(score_counts(st.sampled_from([-0.5, 0.0, 0.5, 1.0, 1.5])))
def test_probabilities_lie_between_zero_and_one(counts: ScoreCounts) -> None:
    assert counts.probabilities == bool(((counts.scores >= 0) & (counts.scores <= 1)).all())


@given(score_counts(any_scores), st.integers(1, 14))
def test_coarser_counts_are_neighbours_put_together(counts: ScoreCounts, cells: int) -> None:
    coarse = counts.coarsen(cells)
    assert len(coarse) <= cells or len(coarse) == len(counts) <= cells
    assert (coarse.total_positives, coarse.total_negatives) == (counts.total_positives, counts.total_negatives)
    # Each cell is a run of scores: running totals of the coarse counts are among those of the fine ones.
    for name in ("positives", "negatives"):
        fine = np.cumsum(getattr(counts, name))
        assert np.isin(np.cumsum(getattr(coarse, name)), fine).all()
    if len(coarse):
        assert counts.scores[0] <= coarse.scores[0] <= coarse.scores[-1] <= counts.scores[-1]
