"""What refutes the published claims: exact losses against drawing, against known bounds, and against each other."""

from __future__ import annotations

import csv
import gzip
import math
import re
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studies.stoddard.attacks.cluster_selection import cluster_scales, sizes_and_sums
from studies.stoddard.attacks.noisy_cut import noisycut_support
from studies.stoddard.attacks.refutations import (
    cluster_loss,
    cluster_splits,
    identified_by_ptt,
    noisycut_bound,
    noisycut_breaks_at,
    noisycut_loss,
    ptt_loss,
    ptt_success,
    round_loss,
    told_by_ptt,
)
from studies.stoddard.attacks.threshold_testing import ptt_probability, ptt_support

from confide.audits.events import loss_below
from confide.errors import ParameterError
from confide.privacy.adversary import success_bound

EPSILONS = (0.01, 0.1, 1.0, 5.0)


def close(hits: int, draws: int, chance: float) -> bool:
    """Whether so many hits are within five standard deviations of what is expected: a false alarm in two million."""
    return abs(hits - draws * chance) <= 5.0 * math.sqrt(draws * chance * (1.0 - chance))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("monotone", [True, False])
def test_threshold_testing_is_private_at_no_epsilon(epsilon: float, monotone: bool) -> None:
    loss = ptt_loss(epsilon, monotone=monotone)
    scale = (1.0 if monotone else 2.0) / epsilon
    assert loss.epsilon == math.inf
    assert loss.refutes
    assert math.exp(loss.log_probability) == pytest.approx((1.0 - math.exp(-1.0 / scale)) / 2.0)


def test_the_impossible_answer_is_drawn_on_one_side_only() -> None:
    draws, rng = 20_000, np.random.default_rng(2)
    with_row, without = (
        sum(ptt_support(scores, 5, 0.5, rng, monotone=True).tolist() == [True, False] for _ in range(draws))
        for scores in ([6, 5], [5, 5])
    )
    assert without == 0
    assert close(with_row, draws, math.exp(ptt_loss(0.5).log_probability))
    assert float(loss_below(with_row, draws, without, draws, error=1e-6)) > 4.0  # and more with more draws


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_each_half_of_the_published_proof_holds_and_their_product_does_not(epsilon: float) -> None:
    """The ones alone are at most e^epsilon times as likely, the zeros alone as likely; both together without limit."""
    with_row, without = (6, 5), (5, 5)

    def ratio(answer: list[bool], which: list[int]) -> float:
        chances = [
            ptt_probability(answer, [scores[k] for k in which], 5, epsilon, monotone=True)
            for scores in (with_row, without)
        ]
        return chances[0] / chances[1] if chances[1] else math.inf

    assert 1.0 < ratio([True], [0]) <= math.exp(epsilon)
    assert ratio([False], [1]) == 1.0
    assert ratio([True, False], [0, 1]) == math.inf


@pytest.mark.statistical
@pytest.mark.parametrize("gap", [-3, 0, 2.5])
def test_the_row_is_read_off_as_often_as_said(gap: float) -> None:
    """Six features with one count; the answer is the row itself. False alarm: one in two million."""
    row, rng, draws = np.array([1, 0, 1, 1, 0, 0], dtype=bool), np.random.default_rng(4), 20_000
    answers = (ptt_support(7 + row, 7 - gap, 0.4, rng, monotone=True) for _ in range(draws))
    hits = sum(bool((answer == row).all()) for answer in answers)
    assert close(hits, draws, identified_by_ptt(gap, 0.4))


def told_by_trying(known: list[int], row: list[bool], threshold: float, epsilon: float) -> tuple[float, float]:
    """What an answer tells of the row, by trying all rows and all places of the threshold."""

    def answer(whose: tuple[bool, ...], bar: float) -> tuple[bool, ...]:
        return tuple(count + has >= bar for count, has in zip(known, whose, strict=True))

    bars = np.arange(min(known), max(known) + 3) - 0.5  # one between any two scores, and one beyond
    rows = list(product((False, True), repeat=len(known)))
    told = features = 0.0
    for seen in {answer(tuple(row), bar) for bar in bars}:
        possible = [whose for whose in rows if any(answer(whose, bar) == seen for bar in bars)]
        same = [j for j in range(len(known)) if len({whose[j] for whose in possible}) == 1]
        if same:
            scores = [count + has for count, has in zip(known, row, strict=True)]
            chance = ptt_probability(seen, scores, threshold, epsilon, monotone=True)
            told += chance
            features += chance * sum(row[j] for j in same)
    return told, features


@given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.data())
def test_what_is_told_for_certain_against_trying_all_rows(known: list[int], data: st.DataObject) -> None:
    row = data.draw(st.lists(st.booleans(), min_size=len(known), max_size=len(known)))
    told = told_by_ptt(known, row, 1.0, 0.7)
    assert (told.chance, told.features) == pytest.approx(told_by_trying(known, row, 1.0, 0.7), abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=6), st.booleans())
def test_success_against_all_answers(features: list[tuple[int, bool]], monotone: bool) -> None:
    ours = [count for count, _ in features]
    theirs = [count + has for count, has in features]
    pairs = [
        tuple(ptt_probability(answer, scores, 2, 0.8, monotone=monotone) for scores in (ours, theirs))
        for answer in product((False, True), repeat=len(ours))
    ]
    success = ptt_success(ours, theirs, 2, 0.8, monotone=monotone)
    assert success.right == pytest.approx(sum(max(pair) for pair in pairs) / 2.0)
    assert success.certain == pytest.approx(sum(sum(pair) for pair in pairs if min(pair) == 0.0) / 2.0)


def test_messages_are_told_apart_more_often_than_claimed(shared_data: Path) -> None:
    """SMS: at a claimed epsilon of 0.1 even the average message is betrayed more often than that allows anyone's."""
    with gzip.open(shared_data / "sms_spam.csv.gz", "rt", encoding="utf-8") as file:
        messages = [set(re.findall(r"\b\w\w+\b", row["text"].lower())) for row in csv.DictReader(file)]
    words = {word: number for number, word in enumerate(sorted(set().union(*messages)))}
    counts = np.bincount([words[word] for message in messages for word in message], minlength=len(words))
    found = []
    for message in messages[::100]:
        row = np.zeros(len(words), dtype=bool)
        row[[words[word] for word in message]] = True
        found.append(ptt_success(counts - row, counts, 10, 0.1))
    assert np.mean([success.right for success in found]) > success_bound(0.1) + 0.01
    assert np.mean([success.certain for success in found]) > 0.05


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_noisycut_loses_more_with_every_feature_and_never_more_than_its_bound(epsilon: float, monotone: bool) -> None:
    losses = [noisycut_loss(m, epsilon, monotone=monotone).epsilon for m in (1, 2, 3, 5, 8, 40)]
    bounds = [noisycut_bound(m, epsilon, monotone=monotone) for m in (1, 2, 3, 5, 8, 40)]
    assert all(after > before for before, after in pairwise(losses))
    assert all(loss <= bound for loss, bound in zip(losses, bounds, strict=True))
    assert losses[-1] > 10.0 * epsilon


@pytest.mark.parametrize("positives", [1, 3, 20])
def test_with_many_features_not_found_the_loss_is_all_that_there_can_be(positives: int) -> None:
    """The bound of Lyu, Su & Li is reached where counts go both ways; else it is 3/4 epsilon for each feature."""
    both_ways = noisycut_loss(positives, 1, negatives=5_000, monotone=False).epsilon
    assert both_ways == pytest.approx(noisycut_bound(positives, 1, monotone=False), abs=1e-9)
    assert noisycut_loss(positives, 1, negatives=5_000).epsilon == pytest.approx(0.75 * positives, abs=1e-9)


def test_the_smallest_counterexamples_to_noisycut() -> None:
    assert noisycut_breaks_at(1) == 3
    assert noisycut_breaks_at(1, negatives=10) == 2
    assert noisycut_breaks_at(1, monotone=False) == 1
    assert not noisycut_loss(2, 1).refutes
    assert not noisycut_loss(1, 1, negatives=10_000).refutes
    with pytest.raises(ParameterError, match="more negatives"):
        noisycut_breaks_at(1, negatives=0, most=3)
    with pytest.raises(ParameterError, match="not both 0"):
        noisycut_loss(0, 1)


@pytest.mark.few(1)
@pytest.mark.statistical
@pytest.mark.parametrize("cutoff", [None, 2])
def test_noisycut_is_refuted_by_drawing_too(cutoff: int | None) -> None:
    """Two found of five, a row replaced: both chances, and an epsilon above 1 with an error of one in a million."""
    loss, rng, draws = noisycut_loss(2, 1, negatives=3, monotone=False), np.random.default_rng(6), 20_000
    answer = [False] * 3 + [True] * 2
    hits = [
        sum(noisycut_support(scores, 0, 1, rng, cutoff=cutoff).tolist() == answer for _ in range(draws))
        for scores in ([0] * 3 + [1] * 2, [1] * 3 + [0] * 2)
    ]
    assert close(hits[0], draws, math.exp(loss.log_probability))
    assert close(hits[1], draws, math.exp(loss.log_neighbour))
    assert float(loss_below(hits[0], draws, hits[1], draws, error=1e-6)) > loss.claimed


@pytest.mark.parametrize(("rounds", "r", "count"), [(1, 10, 5), (4, 1, 0), (5, 20, 300)])
def test_a_round_of_clusters_loses_many_times_what_is_claimed(rounds: int, r: int, count: int) -> None:
    loss = cluster_loss(1, rounds=rounds, most_features=r, count=count)
    assert loss.claimed == pytest.approx(1.0 / (2 * rounds))
    assert loss.sizes == pytest.approx(2 * r * loss.claimed)
    assert loss.sums == pytest.approx((2 * count + 1) * loss.claimed)
    assert loss.times == pytest.approx(r + count + 0.5)


def test_the_loss_of_noisy_sizes_is_reached() -> None:
    """Sizes (r, 0) become (0, r): answers beyond both are e^(2 r/scale) times as likely. Five standard deviations."""
    r, draws, rng = 3, 200_000, np.random.default_rng(7)
    scale, _ = cluster_scales(1, rounds=1, most_features=r)
    start = np.array([[5.0, 0.0], [6.0, 0.0]])
    shares = []
    for count in (6, 5):
        sizes, _ = sizes_and_sums(np.array([[count, 0]] * r, dtype=float), start)
        noisy = sizes + rng.laplace(scale=scale, size=(draws, 2))
        shares.append(int(np.count_nonzero((noisy[:, 0] <= 0.0) & (noisy[:, 1] >= r))))
    assert close(shares[0], draws, 0.25)
    assert close(shares[1], draws, 0.25 * math.exp(-cluster_loss(1, most_features=r).sizes))


def test_rows_that_move_no_feature_lose_what_is_claimed() -> None:
    """One more row with r features that stay where they are: only the sums change, by r."""
    counts = np.array([[5] * 4, [0] * 4])
    loss = round_loss(counts, counts + np.array([[1], [0]]), [[6, 0], [90, 0]], epsilon=1, rounds=2, most_features=4)
    assert (loss.sizes, loss.sums, loss.claimed) == (0.0, 0.25, 0.25)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_clusters_tell_apart_what_is_the_same_without_the_row_never(epsilon: float) -> None:
    """One answer that is impossible on one side is enough; about a quarter of all are."""
    with_row, without = cluster_splits(epsilon, trials=400, rng=np.random.default_rng(8))
    assert without == 0
    assert with_row > 50


@pytest.mark.parametrize(
    "ask",
    [
        lambda **terms: ptt_loss(terms["epsilon"]),
        lambda **terms: identified_by_ptt(0, terms["epsilon"]),
        lambda **terms: noisycut_loss(1, terms["epsilon"]),
        lambda **terms: cluster_loss(terms["epsilon"]),
    ],
)
def test_a_claim_that_is_none_is_refused(ask: Callable[..., Any]) -> None:
    with pytest.raises(ParameterError, match="epsilon must be greater than 0"):
        ask(epsilon=0)
