"""Attacks that end with all labels of a contest's rows, against real oracles."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from confide.attacks.contest.oracle import Oracle
from confide.attacks.disclosure import Publication
from confide.attacks.from_auc.labeling_count import ranking_attack, tree_attack
from confide.attacks.from_auc.labelings import Labelings, LabelMatrix
from confide.counts import FloatArray
from confide.errors import ParameterError
from tests.attacks.brute import auc_by_pairs

EXACT = Publication.parse("auc:exact")


@pytest.fixture(scope="module")
def whitehills() -> LabelMatrix:
    """The 468,686 labelings of 106 rows."""
    return Labelings.untied(106, "1387/1440").listed()


@pytest.mark.long
@pytest.mark.parametrize("index", [0, 234_343, 300_000])
def test_all_106_labels_within_71_queries(whitehills: LabelMatrix, index: int) -> None:
    labels = whitehills[index]
    oracle = Oracle.of_labels(labels, EXACT)
    found = tree_attack(oracle)
    assert found.complete
    assert found.possible == 468_686
    assert found.queries == oracle.asked <= 71
    np.testing.assert_array_equal(found.labels, labels)


def test_rankings_need_far_fewer(whitehills: LabelMatrix) -> None:
    rng = np.random.default_rng(0)
    order = rng.permutation(106)
    labels = np.empty(106, dtype=np.uint8)
    labels[order] = whitehills[123_456]  # rows come in any order
    scores = np.empty(106)
    scores[order] = np.arange(106)
    found = ranking_attack(Oracle.of_labels(labels, EXACT), scores, generator=rng)
    assert found.complete
    assert found.queries <= 6
    np.testing.assert_array_equal(found.labels, labels)


@pytest.mark.parametrize("attack", [tree_attack, ranking_attack])
@pytest.mark.parametrize("seed", range(4))
def test_every_label_of_a_small_contest(attack: object, seed: int) -> None:
    """With ties in the first submission, answers to six digits, and an oracle that is a function."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate(([0, 1], rng.integers(0, 2, 12))).astype(np.uint8)
    scores = rng.integers(0, 8, 14) / 8.0

    def answer(submitted: FloatArray) -> Fraction:
        return round(auc_by_pairs(labels.tolist(), submitted.tolist()), 6)

    assert callable(attack)
    oracle = Oracle(answer, rows=14, published=Publication.parse("auc:digits=6"))
    found = attack(oracle, scores)
    assert found.complete
    np.testing.assert_array_equal(found.labels, labels)


@pytest.mark.parametrize("attack", [tree_attack, partial(ranking_attack, generator=np.random.default_rng(0))])
def test_a_limit_ends_it_with_what_is_left(attack: object) -> None:
    labels = np.array([0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1], dtype=np.uint8)
    assert callable(attack)
    found = attack(Oracle.of_labels(labels, EXACT, limit=2))
    assert not found.complete
    assert found.queries == 2 or (attack is tree_attack and found.queries == 1)
    assert 1 < found.left <= found.possible
    assert found.to_dict()["complete"] is False


def test_coarse_answers_hide_labels_from_pairs_of_queries() -> None:
    """Rounded to 1, the answer does not move with any row: the tree tries each in vain, and says what is left."""
    labels = np.array([0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1], dtype=np.uint8)
    found = tree_attack(Oracle.of_labels(labels, Publication.parse("auc:digits=0")), positives=6)
    assert found.left == found.possible > 1
    assert found.queries == 2 * 12 + 1


def test_noise_and_other_numbers_are_refused() -> None:
    labels = [0, 1, 0, 1, 1, 0]
    with pytest.raises(ParameterError, match="adds noise"):
        tree_attack(Oracle.of_labels(labels, Publication.parse("auc:epsilon=1")))
    with pytest.raises(ParameterError, match="auc"):
        ranking_attack(Oracle.of_labels(labels, Publication.parse("accuracy")))


def test_an_oracle_that_contradicts_itself() -> None:
    answers = iter([Fraction(3, 4), Fraction(1, 100), Fraction(1, 100)])
    oracle = Oracle(lambda scores: next(answers), rows=8, published=EXACT)
    with pytest.raises(ParameterError, match="no labeling fits all answers"):
        ranking_attack(oracle, generator=np.random.default_rng(0))
