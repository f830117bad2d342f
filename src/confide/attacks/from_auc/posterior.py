"""Posterior probability of each label given a published AUC: by counting labelings, or by drawing them.

A labeling is drawn with a weight of `exp(-tilt cost)`, which one pass over the scores makes possible, with the tilt
that puts the mean cost at the highest that the AUC allows, where most labelings are; it is kept if its cost fits, with
probability `exp(-tilt (highest - cost))`. So what is kept is exactly uniform, whatever the tilt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb, log10
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp

from confide.attacks.from_auc.labelings import Labelings, LabelMatrix
from confide.counts import FloatArray, read_only
from confide.errors import ParameterError

Numbers: TypeAlias = NDArray[np.int64]

_FIRST_ROUND = 1 << 14
_LARGEST_ROUND = 1 << 21
_BATCH_CELLS = 1 << 16
_PIECES, _LARGE = 4, 1 << 14
_PARTS_TRIED, _TURNS = 64, 4
_STEEPEST = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Labelings with one number of positives: their costs, the tilt, and the weight of proposals."""

    positives: int
    low: int
    high: int
    tilt: float
    log_weight: float


def sample_labelings(
    labelings: Labelings, size: int, generator: np.random.Generator, *, attempts: int = 50_000_000
) -> LabelMatrix:
    """Draw labelings, each equally likely, with replacement; a row of 0 and 1 each, for ascending scores.

    >>> some = sample_labelings(Labelings.untied(200, "0.9123"), 5, np.random.default_rng(0))
    >>> some.shape
    (5, 200)
    """
    if size < 1:
        raise ParameterError(f"size must be at least 1; got {size}")
    side, turned = labelings.cheap_side_up()
    numbers = _drawn_numbers(side, size, generator, attempts)
    drawn = _spread(side.groups, numbers, generator)
    return drawn[:, ::-1] if turned else drawn


def can_be(labelings: Labelings, group: int, label: int, generator: np.random.Generator) -> bool:
    """Tell whether a labeling was found, among many drawn for that, in which a row of a group has a label.

    Costs may be turned round with the scores: give the labelings as `cheap_side_up` has them. False says that none was
    found, not that there is none.
    """
    sizes, starts, log_ways = _ways(labelings.groups)
    other = starts[group] + (0 if label else sizes[group])  # the group's number that leaves no room for the label
    forced = np.where(np.arange(log_ways.size) == other, -np.inf, log_ways)
    parts = sorted(_parts(labelings), key=lambda part: -part.log_weight)[:_PARTS_TRIED]
    for part in parts:
        for _ in range(_TURNS):
            if len(_kept_of(labelings, part, _FIRST_ROUND, generator, (sizes, starts, forced))):
                return True
    return False


def _drawn_numbers(labelings: Labelings, size: int, generator: np.random.Generator, attempts: int) -> Numbers:
    """Positives of each group of as many labelings as wanted, proposed in rounds that grow with their rarity."""
    from confide.kernels.threads import Threads, available_workers

    parts = _parts(labelings)
    if not parts:
        raise ParameterError("no labeling has that AUC; check the AUC and the number of rows")
    logs = np.array([part.log_weight for part in parts])
    chances = np.exp(logs - logsumexp(logs))
    kept: list[Numbers] = []
    found = tried = 0
    proposals = _FIRST_ROUND
    with Threads(available_workers(_LARGEST_ROUND)) as threads:
        while found < size:
            if tried >= attempts:
                raise ParameterError(
                    "labelings with this AUC are too rare to draw; give the AUC with fewer digits, or fewer rows"
                )
            shares = generator.multinomial(proposals, chances)
            tasks = [
                (part, int(share), own)
                for part, whole, one in zip(parts, shares, generator.spawn(len(parts)), strict=True)
                for share, own in zip(_pieces(int(whole)), one.spawn(_PIECES), strict=True)
                if share
            ]
            kept += threads.map(lambda task: _kept_of(labelings, *task), tasks)
            tried += proposals
            found = sum(part.shape[0] for part in kept)
            wanted = int(1.2 * (size - found) * tried / max(found, 1))
            proposals = min(max(wanted, _FIRST_ROUND), _LARGEST_ROUND)
    every = np.concatenate(kept)
    return every[generator.permutation(every.shape[0])[:size]]


def _pieces(proposals: int) -> list[int]:
    """Proposals in pieces for several threads; few stay together, as each piece prepares its own table."""
    if proposals < _LARGE:
        return [proposals] + [0] * (_PIECES - 1)
    return [proposals * (i + 1) // _PIECES - proposals * i // _PIECES for i in range(_PIECES)]


def _kept_of(
    labelings: Labelings,
    part: _Part,
    proposals: int,
    generator: np.random.Generator,
    ways: tuple[Numbers, Numbers, FloatArray] | None = None,
) -> Numbers:
    """Propose labelings with one number of positives, and keep those whose cost fits."""
    from confide.kernels.labelings import draw_tilted, tilted_chances

    sizes, starts, log_ways = ways or _ways(labelings.groups)
    chances = tilted_chances(sizes, log_ways, starts, labelings.unit, part.positives, part.tilt)[0]
    batch = max(_BATCH_CELLS // (sizes.size + 1), 1)
    uniforms = np.empty((batch, sizes.size + 1))  # filled again and again, which is cheaper than new memory
    out = np.empty((batch, sizes.size), dtype=np.int64)
    bounds = (part.low, part.high, part.tilt)
    found = []
    for first in range(0, proposals, batch):
        generator.random(out=uniforms)
        wanted = uniforms[: proposals - first]
        kept = draw_tilted(sizes, starts, chances, labelings.unit, *bounds, wanted, out)
        found.append(out[:kept].copy())
    return np.concatenate(found)


def _ways(groups: tuple[int, ...]) -> tuple[Numbers, Numbers, FloatArray]:
    sizes = np.array(groups, dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes + 1)[:-1])).astype(np.int64)
    log_ways = np.concatenate([gammaln(g + 1) - gammaln(a + 1) - gammaln(g - a + 1) for g, a in _choices(groups)])
    return sizes, starts, log_ways


def _choices(groups: tuple[int, ...]) -> list[tuple[int, FloatArray]]:
    return [(size, np.arange(size + 1, dtype=np.float64)) for size in groups]


def _parts(labelings: Labelings) -> list[_Part]:
    """Return every number of positives with its tilt; proposals weigh as much as labelings do near the highest cost."""
    from confide.kernels.labelings import tilted_chances

    sizes, starts, log_ways = _ways(labelings.groups)
    found = []
    for positives, (low, high) in labelings.spans().items():
        negatives = labelings.rows - positives
        tilt = _tilt(positives, negatives, high / labelings.unit) / labelings.unit
        if labelings.tied:
            log_sum = tilted_chances(sizes, log_ways, starts, labelings.unit, positives, tilt)[1]
        else:
            log_sum = _log_sum(positives, negatives, tilt)
        found.append(_Part(positives=positives, low=low, high=high, tilt=tilt, log_weight=log_sum + tilt * high))
    return found


def _log_sum(positives: int, negatives: int, tilt: float) -> float:
    """Return the logarithm of the Gaussian binomial at q = exp(-tilt), tilt at least 0."""
    i = np.arange(1, positives + 1)
    if tilt < 1e-12:
        return float(np.sum(np.log(negatives + i) - np.log(i)))
    return float(np.sum(np.log(-np.expm1(-tilt * (negatives + i))) - np.log(-np.expm1(-tilt * i))))


def _mean_cost(positives: int, negatives: int, tilt: float) -> float:
    """Return the mean cost of untied labelings under a tilt: minus the derivative of `_log_sum`."""
    i = np.arange(1, positives + 1, dtype=np.float64)

    def falling(parts: FloatArray) -> float:
        return float(np.sum(parts * np.exp(-tilt * parts) / -np.expm1(-tilt * parts)))

    return falling(i) - falling(negatives + i)


def _tilt(positives: int, negatives: int, cost: float) -> float:
    """Return the tilt that gives untied labelings a mean cost; near enough for tied ones, where any would be right."""
    flattest = 1e-6
    if cost >= _mean_cost(positives, negatives, flattest):
        return 0.0
    if cost <= _mean_cost(positives, negatives, _STEEPEST):
        return _STEEPEST
    return float(brentq(lambda tilt: _mean_cost(positives, negatives, tilt) - cost, flattest, _STEEPEST, xtol=1e-10))


def _spread(
    groups: tuple[int, ...],
    numbers: Numbers,
    generator: np.random.Generator,
) -> LabelMatrix:
    """Labels of single rows: within a group every choice of its positives is equally likely."""
    if max(groups) == 1:
        return numbers.astype(np.uint8)
    columns = []
    for i, size in enumerate(groups):
        order = generator.random((numbers.shape[0], size)).argsort(axis=1)
        columns.append((order < numbers[:, i : i + 1]).astype(np.uint8))
    return np.concatenate(columns, axis=1)


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
