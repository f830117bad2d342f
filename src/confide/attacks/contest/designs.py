"""Submissions whose score tells many labels at once.

Three kinds. A *ranking* puts the rows of a block, rows whose labels are known already and all others (tied in one lump)
on a few levels of score; what AUC or average precision would be under each labeling of the block follows from the
number of positives alone. *Stakes* give the rows of a block powers of two to win or lose, for numbers that add up over
rows. A *weighing* is for answers that only count: Lindström's detecting matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from confide.attacks.disclosure import LAST_PLACES
from confide.attacks.numbers import TABLE_METRICS
from confide.counts import FloatArray

IntArray = NDArray[np.int64]

_DEEPEST = 34.0  # log-odds of the lowest score; the loss of a score below 1e-15 is cut
_CLEAR = 1.05  # a step of the stakes over the width of the window


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Ranking:
    """Levels of score, 0 the lowest: one for each row of the block, one for each known row, one for the lump."""

    block: IntArray
    known: IntArray
    lump: int

    @property
    def levels(self) -> int:
        """Return how many distinct scores there are room for."""
        return 1 + int(max(self.block.max(initial=0), self.known.max(initial=0), self.lump))

    @property
    def scores(self) -> FloatArray:
        """Return the score of each level."""
        return np.asarray((np.arange(self.levels) + 1.0) / (self.levels + 1.0))

    def submission(self, rows: int, block: IntArray, known: IntArray) -> FloatArray:
        """Return the scores to submit for these rows of the block and these known rows."""
        scores = self.scores
        submitted = np.full(rows, scores[self.lump])
        submitted[block] = scores[self.block]
        submitted[known] = scores[self.known]
        return submitted


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Candidates:
    """Labelings of a block, each with a number of positives among all rows; one line for each."""

    labels: NDArray[np.int8]
    positives: IntArray

    @classmethod
    def every(cls, size: int, positives: IntArray) -> Candidates:
        """Return all labelings with all of these numbers of positives."""
        labels = all_labelings(size)
        return cls(labels=np.repeat(labels, positives.size, axis=0), positives=np.tile(positives, labels.shape[0]))

    def __len__(self) -> int:
        return self.positives.size

    def only(self, chosen: NDArray[np.bool_]) -> Candidates:
        """Return the chosen candidates."""
        return Candidates(labels=self.labels[chosen], positives=self.positives[chosen])

    @property
    def names(self) -> IntArray:
        """Return a number for each labeling of the block."""
        return np.asarray(self.labels.astype(np.int64) @ (1 << np.arange(self.labels.shape[1], dtype=np.int64)))


@lru_cache(maxsize=32)
def all_labelings(size: int) -> NDArray[np.int8]:
    """Return every labeling of a number of rows, one line for each.

    >>> all_labelings(2).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    bits = (np.arange(1 << size)[:, None] >> np.arange(size)[None, :]) & 1
    labels = bits.astype(np.int8)
    labels.flags.writeable = False
    return labels


def predict(metric: str, ranking: Ranking, candidates: Candidates, known: NDArray[np.int8], lumped: int) -> FloatArray:
    """Return the number that each candidate gives for a ranking.

    It is NaN where the lump cannot have the required number of positives. `known` are the labels of the known rows,
    `lumped` the number of rows in the lump.
    """
    levels = ranking.levels
    positives = candidates.labels @ np.eye(levels)[ranking.block]
    negatives = np.bincount(ranking.block, minlength=levels) - positives
    positives += np.bincount(ranking.known, weights=known, minlength=levels)
    negatives += np.bincount(ranking.known, weights=1 - known, minlength=levels)
    in_lump = candidates.positives - int(known.sum()) - candidates.labels.sum(axis=1)
    positives[:, ranking.lump] += in_lump
    negatives[:, ranking.lump] += lumped - in_lump
    values = TABLE_METRICS[metric](ranking.scores, positives, negatives)
    return np.where((in_lump >= 0) & (in_lump <= lumped), values, np.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """Measure of how badly a submission tells candidates apart.

    `share` of the candidates have a candidate with other labels in their window; `bits` stay open on average.
    """

    share: float
    bits: float

    def labels_for_each(self, size: int) -> float:
        """Labels that a block gives for each submission, if further ones tell as much as the first."""
        more = 1.0 + self.bits / max(size - self.bits, 0.1)
        return size / (1.0 + self.share * more)


def confusion(values: FloatArray, candidates: Candidates, width: float) -> Confusion:
    """Return how far windows of this width hold more than one labeling of the block."""
    there = ~np.isnan(values)
    order = np.argsort(values[there], kind="stable")
    value, name = values[there][order], candidates.names[there][order]
    if value.size < 2:
        return Confusion(share=0.0, bits=0.0)
    reach = width + float(LAST_PLACES)
    ends = np.flatnonzero(np.append(name[1:] != name[:-1], True))
    run = np.searchsorted(ends, np.arange(name.size))
    padded = np.concatenate(([-np.inf], value, [np.inf]))
    starts = np.concatenate(([0], ends[:-1] + 1))
    confused = (value - padded[starts[run]] <= reach) | (padded[ends[run] + 2] - value <= reach)
    held = np.searchsorted(value, value + reach, "right") - np.searchsorted(value, value - reach, "left")
    numbers = value.size / max(np.unique(name).size, 1)
    return Confusion(share=float(confused.mean()), bits=float(np.log2(np.maximum(held / numbers, 1.0)).mean()))


def auc_ranking(size: int, known: NDArray[np.int8], spacing: int) -> Ranking:
    """Rank a block above everything else, with known rows between its rows, so that labels weigh 0, 1, 2, 4, ...
    spacings.

    A label's weight in the number of correctly ordered pairs is the number of rows below it, block and known rows
    alike, less a number that depends on the number of positives in the block. Labelings with equally many positives
    have sums that differ by a spacing. Other numbers of positives are separated by the known rows between block and
    lump, all that are left over, and half the lump. With too few known rows the largest weights are cut.
    """
    gaps = spacing * np.concatenate(([1], 2 ** np.arange(max(size - 2, 0))))[: max(size - 1, 0)] - 1
    ends = np.minimum(np.cumsum(gaps), known.size)
    level = np.ones(known.size, dtype=np.int64)
    start = 0
    for i, end in enumerate(ends):
        level[start:end] = 3 + 2 * i
        start = int(end)
    return Ranking(block=2 + 2 * np.arange(size), known=level, lump=0)


def shuffled(ranking: Ranking, rng: np.random.Generator) -> Ranking:
    """Reorder the block's rows. By chance, move the lump and the known rows next to it to the other end."""
    block = rng.permutation(ranking.block)
    if rng.random() < 0.5:
        return Ranking(block=block, known=ranking.known, lump=ranking.lump)
    top = ranking.levels
    return Ranking(block=block, known=np.where(ranking.known == 1, top, ranking.known), lump=top + 1)


def precision_ranking(size: int, known: NDArray[np.int8], rng: np.random.Generator) -> Ranking:
    """Rank a block on top, with known positives below each of its rows, more of them further down.

    Known negatives are placed at random. A negative row lowers the precision of every positive below it. So it weighs
    more, the higher it is and the more positives follow.
    """
    level = np.zeros(known.size, dtype=np.int64)
    helpful = rng.permutation(np.flatnonzero(known == 1))
    shares = np.sort(rng.random(size))[::-1] ** 2
    cuts = np.floor(helpful.size * np.cumsum(shares) / max(shares.sum(), 1e-9)).astype(np.int64)
    between = np.searchsorted(cuts, np.arange(helpful.size), side="right")
    level[helpful] = 2 * np.minimum(between, size - 1) + 1
    others = np.flatnonzero(known == 0)
    some = others[rng.random(others.size) < rng.random() * 0.5]
    level[some] = 2 * rng.integers(0, size, some.size) + 1
    return Ranking(block=2 + 2 * rng.permutation(size), known=level, lump=0)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Stakes:
    """Scores for a block, in ascending order of what is at stake, when all other rows have the score one half.

    `lost` is what a positive label adds to the sum over rows, `base` the sum if the whole block is negative.
    """

    scores: FloatArray
    lost: FloatArray
    base: float


def stakes(metric: str, rows: int, width: float, most: int) -> Stakes:
    """Return stakes, each twice the next: as many as a window of this width on the mean over rows can tell apart."""
    highest = _DEEPEST if metric == "log_loss" else 1.0
    least = _CLEAR * width * rows
    size = min(most, 0 if least > highest else 1 + int(np.log2(highest / least)))
    wanted = highest * 0.5 ** np.arange(size)[::-1]
    if metric == "log_loss":
        scores = 1.0 / (1.0 + np.exp(wanted))
        positive, negative, other = -np.log(scores), -np.log1p(-scores), np.log(2.0)
    else:
        scores = (1.0 - wanted) / 2.0
        positive, negative, other = (1.0 - scores) ** 2, scores**2, 0.25
    return Stakes(scores=scores, lost=positive - negative, base=float(negative.sum() + (rows - size) * other))


def read_stakes(lost: FloatArray, total: float) -> NDArray[np.int8]:
    """Return the labels whose stakes add up to a total most nearly.

    Each stake is more than the sum of those before it.
    """
    labels = np.zeros(lost.size, dtype=np.int8)
    below = np.cumsum(lost) - lost
    for i in range(lost.size - 1, -1, -1):
        if total > (lost[i] + below[i]) / 2.0:
            labels[i] = 1
            total -= lost[i]
    return labels


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Weighing:
    """Lindström's detecting matrix of order k: `2^k - 1` weighings find which of `k 2^(k-1)` coins are false.

    Coins belong to non-empty subsets `a` of k elements, `|a|` coins to each; weighings are non-empty subsets `x`. Coin
    j of `a` is on the scale if `x ∩ a` is one of the first `2^j` subsets of `a` with an odd number of elements.
    Summing results over `x ⊆ a`, odd subsets less even ones, cancels every coin whose subset does not hold all of `a`;
    from the largest subsets down, what is left is the binary number that the labels of the coins of `a` make.

    B. Lindström, On a combinatorial problem in number theory, Canadian Mathematical Bulletin 8 (1965), 477-490.
    """

    matrix: NDArray[np.int8]
    owners: IntArray

    def read(self, sums: IntArray) -> NDArray[np.int8]:
        """Return the labels of the coins, from the number of false ones in each weighing."""
        labels = np.zeros(self.owners.size, dtype=np.int8)
        left = np.asarray(sums, dtype=np.int64).copy()
        subsets = sorted(set(self.owners.tolist()), key=lambda a: -a.bit_count())
        for a in subsets:
            coins = np.flatnonzero(self.owners == a)
            inside = np.array(_subsets(a))
            odd = np.array([1 if x.bit_count() % 2 else -1 for x in inside.tolist()])
            digits = int((odd * left[inside - 1]).sum())
            labels[coins] = (digits >> np.arange(coins.size)) & 1
            left -= self.matrix[:, coins].astype(np.int64) @ labels[coins]
        return labels


@lru_cache(maxsize=16)
def weighing(order: int) -> Weighing:
    """Return the detecting matrix of an order.

    >>> weighing(2).matrix.tolist()
    [[1, 0, 0, 1], [0, 1, 1, 1], [1, 1, 0, 0]]
    """
    every = np.arange(1, 1 << order)
    columns, owners = [], []
    for a in every.tolist():
        odd = [x for x in _subsets(a) if x.bit_count() % 2]
        for j in range(a.bit_count()):
            columns.append(np.isin(every & a, odd[: 1 << j]))
            owners.append(a)
    matrix = np.array(columns).T.astype(np.int8)
    matrix.flags.writeable = False
    return Weighing(matrix, np.array(owners))


def weighing_orders(coins: int, weighings: int) -> tuple[int, ...]:
    """Orders of matrices that find the most of so many coins within so many weighings, the fewest weighings first."""
    orders = [k for k in range(1, 12) if (1 << k) - 1 <= weighings]
    best: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    for used in range(1, weighings + 1):
        options = [best[-1]]
        for k in orders:
            if (1 << k) - 1 <= used:
                found, before = best[used - ((1 << k) - 1)]
                options.append((min(found + k * (1 << (k - 1)), coins), (k, *before)))
        best.append(max(options, key=lambda option: option[0]))
        if best[-1][0] == coins:
            break
    return best[-1][1]


def _subsets(of: int) -> list[int]:
    """Return the non-empty subsets of a set written as bits, in descending order."""
    found, subset = [], of
    while subset:
        found.append(subset)
        subset = (subset - 1) & of
    return found
