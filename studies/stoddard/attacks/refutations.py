"""Neighbours and answers that refute what was claimed, with the privacy that is really lost.

Differential privacy at epsilon says that no answer is more than `e^epsilon` times as likely on a dataset as on its
neighbour. Here are two neighbours and an answer for each target, and the answer's exact probabilities. Unless said
otherwise neighbours are as in the paper: one has a row that the other has not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray
from confide.errors import ParameterError
from studies.stoddard.attacks.cluster_selection import (
    checked_centers,
    checked_counts,
    cluster_scales,
    cluster_support,
    sizes_and_sums,
)
from studies.stoddard.attacks.laplace import between, checked_claim, checked_scores, checked_support, checked_threshold
from studies.stoddard.attacks.noisy_cut import THRESHOLD_SHARE, noisycut_log_probability
from studies.stoddard.attacks.threshold_testing import ptt_probability, ptt_scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The log of an answer's probability on a dataset and on its neighbour, beside the epsilon that was claimed."""

    claimed: float
    log_probability: float
    log_neighbour: float

    @property
    def epsilon(self) -> float:
        """The least epsilon that this answer allows: infinite if only one of the two can give it."""
        return self.log_probability - self.log_neighbour

    @property
    def refutes(self) -> bool:
        """Whether more is lost than was claimed, rounding allowed for."""
        return self.epsilon > self.claimed * (1.0 + 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """What one run tells of a row for certain: the chance that it tells anything, and how many features on average."""

    chance: float
    features: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """The chances of the best guess between two datasets that a fair coin chose from: to be right, to be certain."""

    right: float
    certain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundLoss:
    """What one round of private k-means loses in its noisy sizes and sums, each claimed to lose as much."""

    claimed: float
    sizes: float
    sums: float

    @property
    def times(self) -> float:
        """The whole round's loss over what was claimed for it."""
        return (self.sizes + self.sums) / (2.0 * self.claimed)


def ptt_loss(epsilon: object, *, count: int = 5, threshold: float | None = None, monotone: bool = True) -> Loss:
    """Two features with equal counts, of which an added row has the first: the answer "first, not second".

    Without the row both counts lie on one side of any threshold, so this answer is impossible: no epsilon holds. Total
    counts are `monotone`, the corollary's case; without it the noise is that of theorem 2.

    >>> found = ptt_loss(0.1)
    >>> found.epsilon, round(math.exp(found.log_probability), 4), found.refutes
    (inf, 0.0476, True)
    """
    at = float(count) if threshold is None else threshold
    with_row, without = (
        ptt_probability([True, False], scores, at, epsilon, monotone=monotone)
        for scores in ((count + 1, count), (count, count))
    )
    return Loss(claimed=checked_claim(epsilon, 1.0), log_probability=_log(with_row), log_neighbour=_log(without))


def identified_by_ptt(gap: float, epsilon: object, *, monotone: bool = True) -> float:
    """The chance that an answer shows which of some features, equally frequent among the other rows, a row has.

    `gap` is their count among the other rows less the threshold. The row's own features have a count of one more: if
    the noisy threshold falls between, the answer is the row. The row has some of these features and not all, so that
    it is seen to be so.

    >>> [round(identified_by_ptt(gap, 1), 3) for gap in (0, 1, 5)]
    [0.316, 0.116, 0.002]
    """
    scale = ptt_scale(epsilon, monotone=monotone)
    return between(checked_threshold(gap) / scale, (gap + 1.0) / scale)


def told_by_ptt(known: ArrayLike, row: ArrayLike, threshold: float, epsilon: object, *, monotone: bool = True) -> Leak:
    """What one answer tells, for certain, about which features a row has, to somebody who knows all other rows.

    `known` are the total counts of the other rows and `row` says which features the row has. Wherever the noisy
    threshold falls, features with the count just below it are selected if and only if the row has them. It is seen
    that it fell there if the row has some and not all of them.

    >>> told = told_by_ptt([5, 5, 5, 80], [1, 1, 0, 1], 5, 1)
    >>> round(told.chance, 6), round(told.features, 6)
    (0.31606, 0.632121)
    """
    counts = checked_scores(known)
    has = checked_support(row, counts.size)
    middle = checked_threshold(threshold)
    scale = ptt_scale(epsilon, monotone=monotone)
    levels, which = np.unique(counts, return_inverse=True)
    ours, all_features = np.bincount(which[has], minlength=levels.size), np.bincount(which)
    seen = [
        (between((level - middle) / scale, (level + 1.0 - middle) / scale), int(mine))
        for level, mine, everyone in zip(levels.tolist(), ours, all_features, strict=True)
        if 0 < mine < everyone
    ]
    return Leak(chance=sum(p for p, _ in seen), features=sum(p * mine for p, mine in seen))


def ptt_success(
    scores: ArrayLike, neighbour: ArrayLike, threshold: float, epsilon: object, *, monotone: bool = True
) -> Success:
    """How often the best insider tells two datasets apart by one answer of threshold testing, exactly.

    Each dataset has at most one answer more than distinct scores. The best guess is the dataset under which the answer
    is likelier, so it is right with the chance `1/2 + 1/4 sum |difference of chances|`.

    >>> found = ptt_success([5, 5, 5, 6], [6, 5, 5, 6], 5, "0.1")
    >>> round(found.right, 6), round(found.certain, 6)
    (0.523791, 0.047581)
    """
    middle, scale = checked_threshold(threshold), ptt_scale(epsilon, monotone=monotone)
    ours, theirs = (_answers(checked_scores(each), middle, scale) for each in (scores, neighbour))
    pairs = [(ours.get(answer, 0.0), theirs.get(answer, 0.0)) for answer in ours.keys() | theirs.keys()]
    return Success(
        right=0.5 + math.fsum(abs(p - q) for p, q in pairs) / 4.0,
        certain=math.fsum(p + q for p, q in pairs if min(p, q) == 0.0) / 2.0,
    )


def _answers(scores: FloatArray, threshold: float, scale: float) -> dict[bytes, float]:
    """Every answer that threshold testing can give, and its chance."""
    cuts = [-math.inf, *np.unique(scores).tolist(), math.inf]
    return {
        np.packbits(scores >= cut).tobytes(): between((before - threshold) / scale, (cut - threshold) / scale)
        for before, cut in pairwise(cuts)
    }


def noisycut_loss(
    positives: int, epsilon: object, *, negatives: int | None = None, monotone: bool = True, threshold: float = 0.0
) -> Loss:
    """Features whose count a row raises are found, and others are not: the answer that noisycut makes too likely.

    So many `positives` have the count 1 with the row and 0 without, and are found; `negatives` (as many, if nothing
    is said) are not. The latter's count is 0 in both datasets, which is `monotone`; else it is 0 with the row and 1
    with another row in its place, so the neighbours have replaced a row (difference counts can also do this when a
    row is added). Features that are not found come first, so a cut-off of `positives` changes nothing.

    >>> [round(noisycut_loss(m, 1).epsilon, 3) for m in (1, 2, 3, 10)]
    [0.464, 0.977, 1.507, 5.313]
    """
    others = positives if negatives is None else negatives
    if positives < 0 or others < 0 or positives + others < 1:
        raise ParameterError("positives and negatives must be whole numbers from 0 on, and not both 0")
    answer = np.repeat([False, True], [others, positives])
    ours, theirs = (
        noisycut_log_probability(answer, np.repeat(scores, [others, positives]), threshold, epsilon)
        for scores in ((0, 1), (0, 0) if monotone else (1, 0))
    )
    return Loss(claimed=checked_claim(epsilon, 1.0), log_probability=ours, log_neighbour=theirs)


def noisycut_bound(positives: int, epsilon: object, *, monotone: bool = True) -> float:
    """The most that noisycut loses when so many features are found (Lyu, Su & Li 2017): `(1 + 6 c)/4 epsilon`.

    For counts that all change in one direction it is `(1 + 3 c)/4 epsilon`.

    >>> noisycut_bound(2, 1), noisycut_bound(2, 1, monotone=False)
    (1.75, 3.25)
    """
    each = (1.0 - THRESHOLD_SHARE) * (1.0 if monotone else 2.0)
    return (THRESHOLD_SHARE + each * positives) * checked_claim(epsilon, 1.0)


def noisycut_breaks_at(
    epsilon: object, *, negatives: int | None = None, monotone: bool = True, most: int = 1000
) -> int:
    """The smallest number of features found at which noisycut loses more than its epsilon, by `noisycut_loss`.

    >>> noisycut_breaks_at(1), noisycut_breaks_at(1, negatives=10), noisycut_breaks_at(1, monotone=False)
    (3, 2, 1)
    """
    for positives in range(1, most + 1):
        if noisycut_loss(positives, epsilon, negatives=negatives, monotone=monotone).refutes:
            return positives
    raise ParameterError("the claim is not broken by so few features; give more negatives, or a larger number of most")


def round_loss(
    counts: ArrayLike, neighbour: ArrayLike, centers: ArrayLike, *, epsilon: object, rounds: int, most_features: int
) -> RoundLoss:
    """What the first round of cluster selection loses between two neighbours: each difference over its noise's scale.

    That is the largest log-ratio of probabilities of what the round draws, and is reached: by all sizes and sums
    beyond those of one dataset, away from the other's.
    """
    start = checked_centers(centers, len(np.asarray(centers)))
    scales = cluster_scales(epsilon, rounds=rounds, most_features=most_features)
    ours, theirs = (sizes_and_sums(checked_counts(each), start) for each in (counts, neighbour))
    lost = [float(np.abs(x - y).sum() / scale) for x, y, scale in zip(ours, theirs, scales, strict=True)]
    return RoundLoss(claimed=1.0 / scales[0], sizes=lost[0], sums=lost[1])


def cluster_loss(epsilon: object, *, rounds: int = 1, most_features: int = 10, count: int = 5) -> RoundLoss:
    """One row carries all of its features from one cluster into another.

    So many positives have each of `most_features` features; the added row has them all. With centers on either count,
    every feature changes its cluster: sizes differ by 2 r, not 1, and sums by `r (2 count + 1)`, not r.

    >>> cluster_loss(1)
    RoundLoss(claimed=0.5, sizes=10.0, sums=5.5)
    """
    counts, more = (np.array([[k] * most_features, [0] * most_features]) for k in (count, count + 1))
    start = [[count, 0], [count + 1, 0]]
    return round_loss(counts, more, start, epsilon=epsilon, rounds=rounds, most_features=most_features)


def cluster_splits(
    epsilon: object, *, trials: int, rng: np.random.Generator, count: int = 5, rounds: int = 1
) -> tuple[int, int]:
    """How often clusters tell two features apart, of which one row has the first: with that row, and without it.

    Without it their counts are the same and so, whatever the noise, is their cluster: the second number is 0. Once
    the first is not, cluster selection is private at no epsilon. It is the counterexample of threshold testing again.
    """

    def splits(first: int) -> int:
        counts, start = [[first, count], [0, 0]], [[count, 0], [count + 1, 0]]
        answers = (
            cluster_support(
                counts,
                rows=2 * count,
                epsilon=epsilon,
                rounds=rounds,
                centers=2,
                most_features=1,
                score="total-count",
                threshold=count + 0.5,
                rng=rng,
                start=start,
            )
            for _ in range(trials)
        )
        return sum(bool(answer[0] != answer[1]) for answer in answers)

    return splits(count + 1), splits(count)


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0.0 else -math.inf
