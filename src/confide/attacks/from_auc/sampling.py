"""Labelings drawn uniformly from all that are possible, where there are too many to list.

A labeling is drawn with a weight of `exp(-tilt cost)`, which one pass over the scores makes possible, with the tilt
that puts the mean cost at the highest that the AUC allows, where most labelings are; it is kept if its cost fits, with
probability `exp(-tilt (highest - cost))`. So what is kept is exactly uniform, whatever the tilt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp

from confide.attacks.from_auc.labelings import Labelings, LabelMatrix
from confide.counts import FloatArray
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
