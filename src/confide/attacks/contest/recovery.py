"""Recover a contest's hidden labels from its answers, with as few submissions as possible.

Two submissions for each label (`label_by_two_queries`) are far from the least: an answer that shows one of very many
numbers can tell many labels at once, if the submission is made for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from confide.attacks.contest.designs import (
    Candidates,
    Confusion,
    IntArray,
    Ranking,
    auc_ranking,
    confusion,
    precision_ranking,
    predict,
    read_stakes,
    shuffled,
    stakes,
    weighing,
    weighing_orders,
)
from confide.attacks.contest.ladder import orthogonal_signs, pulls
from confide.attacks.contest.oracle import UNKNOWN, Oracle, Recovered
from confide.attacks.disclosure import LAST_PLACES, LOSSES, Window
from confide.counts import FloatArray
from confide.errors import ParameterError

LARGEST_BLOCK = {"auc": 12, "average_precision": 11}
LARGEST_STAKES = 40

_MOST_CANDIDATES = 1 << 15
_ARRANGEMENTS = 6  # of one block, before it is left alone
_TRIES = 3
_CLEAR_ENOUGH = 0.01
_FEWEST_STAKES = 3  # with less, counting rows tells more
_RISKY = 0.3  # of candidates confused: a second ranking may well not tell them apart either
_HOPELESS = 0.5  # no ranking of a single row is told apart
_FLOATS = 2.0 * float(LAST_PLACES)  # the width of a window around a float
_EXTREME = 1e-12  # a score that is nearly 0, where 0 itself would cost too much


@dataclass(slots=True, repr=False)
class _Attack:
    """State of an attack: what is known, and how many submissions may still be made."""

    oracle: Oracle
    left: float
    rng: np.random.Generator
    labels: NDArray[np.int8]
    certain: NDArray[np.bool_]
    order: IntArray
    spent: NDArray[np.bool_]  # rows that a block was used on
    positives: IntArray  # the numbers of positives that agree with every answer
    width: float  # of a window: as published, then as last seen
    asked: int = 0
    contradicted: bool = False  # no labeling explains the answers

    @property
    def metric(self) -> str:
        return self.oracle.published.metric

    @property
    def pending(self) -> IntArray:
        """Rows that no block was spent on, in the order in which they are taken."""
        return self.order[~self.spent[self.order]]

    @property
    def known(self) -> IntArray:
        return np.flatnonzero(self.certain)

    def ask(self, scores: FloatArray) -> float:
        self.left -= 1
        self.asked += 1
        return float(self.oracle.ask(scores))

    def look(self, scores: FloatArray) -> Window:
        self.left -= 1
        self.asked += 1
        window = self.oracle.window(self.oracle.ask(scores))
        if window is None:
            raise ParameterError("answers have noise and no window; they cannot be decoded, only correlated")
        self.width = float(window.upper - window.lower)
        return window

    def learn(self, rows: IntArray, labels: NDArray[np.int8], certain: NDArray[np.bool_] | bool) -> None:
        self.labels[rows] = labels
        self.certain[rows] = certain
        self.spent[rows] = True


def recover_labels(
    oracle: Oracle, *, budget: int | None = None, rng: np.random.Generator | int | None = None
) -> Recovered:
    """Attack an oracle with at most `budget` submissions, its own limit observed; nothing else about it is used.

    Answers of AUC and average precision are decoded block by block, those of log loss and Brier score by stakes that
    are powers of two, and accuracy by a detecting matrix. Answers with noise, or rounded so far that a label does not
    show, are correlated with as many orthogonal two-level submissions as the budget allows (all rows are then guessed
    from the same answers), without a budget as many as the least power of two above the rows.

    >>> from confide.attacks.disclosure import Publication
    >>> hidden = np.arange(200) % 3 == 0
    >>> found = recover_labels(Oracle.of_labels(hidden, Publication.parse("log_loss:digits=6")), rng=1)
    >>> bool((found.labels == hidden).all()), bool(found.certain.all()), found.queries
    (True, True, 12)
    """
    if budget is not None and budget < 0:
        raise ParameterError(f"budget must not be negative; got {budget}. Leave it out for no bound")
    attack = _begin(oracle, budget, np.random.default_rng(rng))
    if oracle.published.private:
        method = _correlate(attack)
    else:
        method = _METHODS[attack.metric](attack)
        if attack.contradicted:
            method += " (no labeling explains the answers: they are not what the oracle says they are)"
        if attack.left and (attack.labels == UNKNOWN).any():
            method = f"{method}, then {_correlate(attack)}"
    return Recovered(
        labels=attack.labels,
        certain=attack.certain,
        queries=attack.asked,
        published=oracle.published,
        method=method,
        positives=int(attack.positives[0]) if attack.positives.size == 1 else None,
    )


def _begin(oracle: Oracle, budget: int | None, rng: np.random.Generator) -> _Attack:
    rows = oracle.rows
    left = min(math.inf if allowed is None else allowed for allowed in (budget, oracle.left))
    return _Attack(
        oracle=oracle,
        left=left,
        rng=rng,
        labels=np.full(rows, UNKNOWN, dtype=np.int8),
        certain=np.zeros(rows, dtype=np.bool_),
        order=rng.permutation(rows),
        positives=np.arange(rows + 1),
        width=0.0 if oracle.published.digits is None else 10.0**-oracle.published.digits,
        spent=np.zeros(rows, dtype=np.bool_),
    )


def _blocks(attack: _Attack) -> str:
    """Decode block after block of rankings; rows that stayed open are tried again once more is known."""
    if attack.metric == "auc":
        attack.positives = attack.positives[1:-1]
    elif attack.left >= 1:
        window = attack.look(np.full(attack.oracle.rows, 0.5))  # all tied: the share of positives
        shares = attack.positives / attack.oracle.rows
        attack.positives = attack.positives[window.holds(shares) & (attack.positives > 0)]
    certain = -1
    while attack.left >= 1 and attack.positives.size and certain < attack.certain.sum() < attack.oracle.rows:
        certain = int(attack.certain.sum())
        attack.spent = attack.certain.copy()
        _pass(attack)
    return "blocks"


def _pass(attack: _Attack) -> None:
    size = 3
    while attack.left >= 1 and attack.pending.size and attack.positives.size:
        size, ranking, confused = _best_block(attack, size)
        if confused.share > _HOPELESS and size == 1:
            break
        _decode(attack, attack.pending[:size], ranking)


def _best_block(attack: _Attack, around: int) -> tuple[int, Ranking, Confusion]:
    """Return the size and the ranking of the next block with the most labels for each submission.

    Sizes near the last one are tried.
    """
    room = int(np.log2(_MOST_CANDIDATES / attack.positives.size))
    largest = max(1, min(around + 1, attack.pending.size, LARGEST_BLOCK[attack.metric], room))
    blocks: list[tuple[int, Ranking, Confusion]] = []
    for size in range(largest, 0, -1):
        candidates = Candidates.every(size, attack.positives)
        blocks.append((size, *_best_ranking(attack, size, candidates, _proposals(attack, size))))
        if blocks[-1][2].share <= _RISKY and _labels_for_each(blocks[-1]) >= size - 1:
            break  # a smaller block cannot do better
    safe = [block for block in blocks if block[2].share <= _RISKY]
    return max(safe, key=_labels_for_each) if safe else blocks[-1]


def _labels_for_each(block: tuple[int, Ranking, Confusion]) -> float:
    return block[2].labels_for_each(block[0])


def _proposals(attack: _Attack, size: int) -> Iterator[Ranking]:
    known = attack.labels[attack.known]
    if attack.metric == "auc":
        middle = int(attack.positives[attack.positives.size // 2])
        spacing = 1 + int(attack.width * middle * (attack.oracle.rows - middle))
        yield auc_ranking(size, known, spacing)
    else:
        yield from (precision_ranking(size, known, attack.rng) for _ in range(_TRIES))


def _best_ranking(
    attack: _Attack, size: int, candidates: Candidates, proposals: Iterable[Ranking]
) -> tuple[Ranking, Confusion]:
    """Return the ranking that tells most candidates apart, and how far it does not."""
    tried: list[tuple[Ranking, Confusion]] = []
    for ranking in proposals:
        values = _predicted(attack, ranking, candidates, size)
        tried.append((ranking, confusion(values, candidates, attack.width)))
        if tried[-1][1].share <= _CLEAR_ENOUGH:
            break
    return min(tried, key=lambda pair: pair[1].share)


def _predicted(attack: _Attack, ranking: Ranking, candidates: Candidates, size: int) -> FloatArray:
    known = attack.labels[attack.known]
    return predict(attack.metric, ranking, candidates, known, attack.oracle.rows - known.size - size)


def _decode(attack: _Attack, block: IntArray, ranking: Ranking) -> None:
    """Ask until one labeling of the block is left, or the arrangements or submissions are used up."""
    size, rows = block.size, attack.oracle.rows
    candidates = Candidates.every(size, attack.positives)
    for _ in range(_ARRANGEMENTS):
        window = attack.look(ranking.submission(rows, block, attack.known))
        values = _predicted(attack, ranking, candidates, size)
        held = window.holds(values)
        if not held.any():
            attack.learn(block, _nearest(values, candidates, window), False)
            attack.certain[:] = False
            attack.positives = attack.positives[:0]
            attack.contradicted = True
            return
        candidates = candidates.only(held)
        if attack.left < 1 or (candidates.labels == candidates.labels[0]).all():
            break
        others = [*_proposals(attack, size), *(shuffled(ranking, attack.rng) for _ in range(_TRIES))]
        ranking = _best_ranking(attack, size, candidates, others)[0]
    agreed = (candidates.labels == candidates.labels[0]).all(axis=0)
    attack.positives = np.unique(candidates.positives)
    attack.learn(block, candidates.labels[0], agreed)


def _nearest(values: FloatArray, candidates: Candidates, window: Window) -> NDArray[np.int8]:
    middle = float(window.lower + window.upper) / 2.0
    off = np.where(np.isnan(values), np.inf, np.abs(values - middle))
    return np.asarray(candidates.labels[int(np.argmin(off))])


def _by_stakes(attack: _Attack) -> str:
    """Read a block of labels from each answer as a binary number."""
    rows = attack.oracle.rows
    while attack.left >= 1 and attack.pending.size:
        staked = stakes(attack.metric, rows, max(attack.width, _FLOATS), min(attack.pending.size, LARGEST_STAKES))
        if staked.scores.size < _FEWEST_STAKES and attack.metric == "brier" and attack.pending.size > _FEWEST_STAKES:
            return _by_weighing(attack)
        if not staked.scores.size:
            break
        block = attack.pending[: staked.scores.size]
        scores = np.full(rows, 0.5)
        scores[block] = staked.scores
        window = attack.look(scores)
        total = float(window.lower + window.upper) / 2.0 * rows - staked.base
        labels = read_stakes(staked.lost, total)
        off = abs(float(labels @ staked.lost) - total)
        reach = float(window.upper - window.lower) / 2.0 * rows * (1.0 + 1e-6)
        attack.learn(block, labels, off <= reach < staked.lost[0] / 2.0)
    return "stakes"


def _by_weighing(attack: _Attack) -> str:
    """Count the positives in many overlapping sets of rows."""
    rows = attack.oracle.rows
    if attack.left < 2 or attack.width * rows > 1.0:
        return "weighing"
    every, base = _right(attack, np.zeros(rows))
    if not every:
        return "weighing"
    attack.positives = np.array([rows - base])
    for order in weighing_orders(attack.pending.size, int(min(attack.left, rows))):
        if not _weigh(attack, order):
            break
    return "weighing"


def _weigh(attack: _Attack, order: int) -> bool:
    """Find the labels of the next rows; False, and nothing found, if an answer does not tell a single count."""
    design = weighing(order)
    block = attack.pending[: design.owners.size]
    sums = []
    for line in design.matrix[:, : block.size]:
        scores = np.zeros(attack.oracle.rows)
        scores[block[line == 1]] = 1.0
        counted, right = _right(attack, scores)
        if not counted:
            return False
        # A false alarm for each negative on the scale, one miss less for each positive.
        sums.append((right - attack.oracle.rows + int(attack.positives[0]) + int(line.sum())) // 2)
    attack.learn(block, design.read(np.array(sums))[: block.size], True)
    return True


def _right(attack: _Attack, scores: FloatArray) -> tuple[bool, int]:
    """Return the number of rows on the right side of one half, and whether it is the only one that fits."""
    window = attack.look(scores)
    rows = attack.oracle.rows
    lower, upper = (1 - window.upper, 1 - window.lower) if attack.metric == "brier" else (window.lower, window.upper)
    slack = Fraction(1, 1000)  # floats of a count are not quite one
    least, most = math.ceil(lower * rows - slack), math.floor(upper * rows + slack)
    return least == most, round((lower + upper) / 2 * rows)


def _correlate(attack: _Attack) -> str:
    """Guess every row that is left from how its level goes with the answers, over orthogonal two-level submissions."""
    rows = np.flatnonzero(attack.labels == UNKNOWN)
    order = 1 << int(rows.size).bit_length()
    several = attack.oracle.published.private and attack.left < math.inf  # without noise nothing new comes of repeating
    signs = orthogonal_signs(rows.size, int(attack.left if several else min(attack.left, order)), attack.rng)
    low = _EXTREME if attack.metric == "log_loss" else 0.0
    scores = np.where(attack.labels == 1, 1.0 - low, low)
    answers = np.empty(len(signs))
    for i, line in enumerate(signs):
        scores[rows] = np.where(line > 0, 1.0 - low, low)
        answers[i] = attack.ask(scores)
    if not len(signs):
        return "nothing"
    better = -1.0 if attack.metric in LOSSES else 1.0
    centre = 0.5 if rows.size == attack.oracle.rows and attack.metric in ("auc", "accuracy", "brier") else None
    attack.learn(rows, (better * pulls(signs, answers, centre) > 0.0).astype(np.int8), False)
    return "correlation"


_METHODS: dict[str, Callable[[_Attack], str]] = {
    "auc": _blocks,
    "average_precision": _blocks,
    "log_loss": _by_stakes,
    "brier": _by_stakes,
    "accuracy": _by_weighing,
}
