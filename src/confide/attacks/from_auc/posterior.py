"""Posterior probability of each label given a published AUC: the share of possible labelings with a positive row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb, log10

import numpy as np
from numpy.typing import NDArray

from confide.attacks.from_auc.labelings import Labelings
from confide.attacks.from_auc.sampling import can_be, sample_labelings
from confide.counts import FloatArray, read_only
from confide.errors import ParameterError

MOST_WORK = 4 * 10**8
"""States to go through for exact shares: some seconds."""

_SAMPLE = 2_000
_MOST_EXACT_ROWS = 1_000  # weights are shares of all 2^rows labelings, which floats hold up to here


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Posterior:
    """For each row, by ascending score, the probability that it is positive, all possible labelings being as likely.

    `certain` marks labels that are the same in every possible labeling. Where labelings were drawn
    (`drawn` of them) instead of gone through, and scores tie, a label is marked too if no labeling with
    the other was found: `certain` then holds what cannot be excluded. `log10_labelings` says how many labelings are
    possible, where that was found on the way.
    """

    probability: FloatArray
    certain: NDArray[np.bool_]
    drawn: int | None = None
    log10_labelings: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "probability", read_only(self.probability))
        object.__setattr__(self, "certain", read_only(self.certain))

    @property
    def exact(self) -> bool:
        """Tell whether every possible labeling was taken into account."""
        return self.drawn is None

    @property
    def sureness(self) -> FloatArray:
        """Return the probability of the likelier label of each row."""
        likelier: FloatArray = np.maximum(self.probability, 1.0 - self.probability)
        return likelier

    def known(self, level: float = 0.9) -> int:
        """Return how many labels are not certain, but known with more than this probability."""
        return int(np.sum((self.sureness > level) & ~self.certain))


def label_posterior(
    labelings: Labelings, *, generator: np.random.Generator | None = None, work: int = MOST_WORK, sample: int = _SAMPLE
) -> Posterior:
    """Return the posterior of every label: exact within `work` states, else from labelings drawn uniformly.

    >>> label_posterior(Labelings.untied(4, "3/4")).probability  # Whitehill's first example: one labeling
    array([0., 1., 0., 1.])
    """
    side, turned = labelings.cheap_side_up()
    spans = side.spans()
    if not spans:
        raise ParameterError("no labeling has that AUC; check the AUC and the number of rows")
    if side.rows <= _MOST_EXACT_ROWS and states(side) <= work:
        found = _exact(side)
    else:
        found = _drawn(side, sample, generator or np.random.default_rng())
    if not turned:
        return found
    return replace(found, probability=found.probability[::-1], certain=found.certain[::-1])


def _drawn(labelings: Labelings, sample: int, generator: np.random.Generator) -> Posterior:
    """Shares among labelings that were drawn; rows with equal scores have equal shares."""
    mean = sample_labelings(labelings, sample, generator).mean(axis=0)
    share = np.repeat(np.add.reduceat(mean, _starts(labelings)) / labelings.groups, labelings.groups)
    certain = (share == 0.0) | (share == 1.0)
    starts = _starts(labelings)
    for group in np.flatnonzero(certain[starts]):
        first, label = int(starts[group]), int(share[starts[group]] == 0.0)
        varies = (
            can_be(labelings, int(group), label, generator)
            if labelings.tied
            else _possible(labelings, first, label=label)
        )
        certain[first : first + labelings.groups[group]] = not varies
    return Posterior(probability=share, certain=certain, drawn=sample)


def _possible(labelings: Labelings, row: int, *, label: int) -> bool:
    """Tell whether some labeling of untied rows gives a row a label: with j positives below it, costs fill a range."""
    above = labelings.rows - row - 1
    for positives, (low, high) in labelings.spans().items():
        j = np.arange(max(positives - label - above, 0), min(row, positives - label) + 1)
        ours = positives - label - j  # positives above the row
        least = (1 - label) * j + (above - ours) * (j + label)
        most = least + j * (row - j) + (above - ours) * ours
        if ((least <= high) & (most >= low)).any():
            return True
    return False


def states(labelings: Labelings) -> int:
    """Return how many states the exact posterior goes through."""
    side, _ = labelings.cheap_side_up()
    spans = side.spans()
    most = max((high for _, high in spans.values()), default=0)
    return sum(side.groups) * (max(spans, default=0) + 1) * (most + 1)


def _starts(labelings: Labelings) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(labelings.groups)[:-1])).astype(np.int64)


def _exact(labelings: Labelings) -> Posterior:
    """Forward and backward over the groups; of the backward tables some are kept and the others made again."""
    from confide.kernels.labelings import step_on, weights_between

    groups, unit = labelings.groups, labelings.unit
    walk = _Walk(labelings)
    earlier = np.zeros(walk.shape)
    earlier[0, 0] = 1.0
    probability, certain = [], []
    for i, size in enumerate(groups):
        ways, (fewest, most) = walk.ways(i), walk.below(i)
        weights = weights_between(earlier, walk.behind(i), ways, unit, fewest, most)
        share = float(weights @ np.arange(size + 1) / size / weights.sum())
        fixed = not weights[1:].any() or not weights[:-1].any()
        probability += [share] * size
        certain += [fixed] * size
        if i + 1 < len(groups):
            earlier = step_on(earlier, ways, unit, fewest, most)
    number = log10(float(weights.sum())) + labelings.rows * log10(2.0)
    return Posterior(probability=np.array(probability), certain=np.array(certain), log10_labelings=number)


class _Walk:
    """Weights of endings behind each group, from the last group to the first and back again."""

    def __init__(self, labelings: Labelings) -> None:
        self.labelings = labelings
        self.spans = labelings.spans()
        self.shape = (max(self.spans) + 1, max(high for _, high in self.spans.values()) + 1)
        self.passed = np.concatenate(([0], np.cumsum(labelings.groups)))
        count = len(labelings.groups)
        self.stride = max(int(np.sqrt(count)), 1)
        self.kept: dict[int, FloatArray] = {count: self._last()}
        table = self.kept[count]
        for i in range(count - 1, 0, -1):
            table = self._before(i, table)
            if i % self.stride == 0:
                self.kept[i] = table
        self.segment: dict[int, FloatArray] = {}

    def ways(self, i: int) -> FloatArray:
        size = self.labelings.groups[i]
        return np.array([comb(size, own) / 2.0**size for own in range(size + 1)])

    def below(self, i: int) -> tuple[int, int]:
        """Return the least and the largest possible number of positives below group i."""
        left = self.labelings.rows - int(self.passed[i])
        return max(min(self.spans) - left, 0), min(int(self.passed[i]), max(self.spans))

    def behind(self, i: int) -> FloatArray:
        """Return the table behind group i; asked for in ascending order."""
        wanted = i + 1
        if wanted in self.kept:
            return self.kept[wanted]
        if wanted not in self.segment:
            end = min(key for key in self.kept if key > wanted)
            table, self.segment = self.kept[end], {}
            for j in range(end - 1, wanted - 1, -1):
                table = self._before(j, table)
                self.segment[j] = table
        return self.segment[wanted]

    def _last(self) -> FloatArray:
        table = np.zeros(self.shape)
        for positives, (low, high) in self.spans.items():
            table[positives, low : high + 1] = 1.0
        return table

    def _before(self, i: int, table: FloatArray) -> FloatArray:
        from confide.kernels.labelings import step_back

        return step_back(table, self.ways(i), self.labelings.unit, *self.below(i))
