"""Bootstrap replicates of AUC and average precision, exact for each resample, without sorting again.

Resampling rows with replacement changes how often each score of a class occurs, not the order of the scores.
So the rows are put in order once, and as neither statistic changes when negatives trade places between two positives,
only this is kept: the distinct scores of positives, and how many negatives lie below each (and above the one before)
or tie with it. A replicate is then a count of draws per place and one pass over the places. Within classes, a resample
has as many rows of each class as the original. Of all rows together, the number of positives is binomial, and given
that number the rows of each class are drawn as before.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.kernels.threads import Counts, Threads, available_workers, compiled

Estimates = NDArray[np.float64]
Owners = NDArray[np.uint32]
Drawn = NDArray[np.int32]
Route = Literal["auto", "rows", "cells"]

_MOST_ROWS = 1 << 24  # of a class, when single rows are drawn
_MOST_COUNTED = 1 << 31  # of a class, when counts are: more would overflow the kernel's integers
_ROWS_PER_CELL = 64  # with more rows to a cell, one binomial draw for it is cheaper than a draw for each row
_CHUNK_CELLS = 1 << 18  # cells drawn at a time by the multinomial route: a few megabytes
_SIZES = (2**32 - 1,)  # stream of the class sizes: no chunk of replicates has this number

# Compiled into the kernels: the constants of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
_GAMMA = np.uint64(0x9E37_79B9_7F4A_7C15)
_MIX_1 = np.uint64(0xBF58_476D_1CE4_E5B9)
_MIX_2 = np.uint64(0x94D0_49BB_1331_11EB)
_SHIFT_30 = np.uint64(30)
_SHIFT_27 = np.uint64(27)
_SHIFT_31 = np.uint64(31)
_SHIFT_32 = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFF_FFFF)


class _Places(NamedTuple):
    """Inputs of a replicate, in ascending order of score.

    ``positives[j]`` is the number of positives at the ``j``-th distinct score of positives. ``negatives[2 * j]`` counts
    the negatives between that score and the one before it, ``negatives[2 * j + 1]`` those that tie with it, and the
    last entry those above all positives.
    """

    positives: Counts
    negatives: Counts

    def __repr__(self) -> str:
        """Show no rows."""
        return object.__repr__(self)


def replicate_auc_ap(
    positives: Counts,
    negatives: Counts,
    replicates: int,
    seed: int,
    *,
    within_classes: bool = True,
    workers: int | None = None,
    _route: Route = "auto",
) -> tuple[Estimates, Estimates]:
    """Return AUC and average precision of resamples drawn with replacement, within each class or from all rows.

    ``positives`` and ``negatives`` count the rows of each class at ascending distinct scores. A resample has as many
    rows as the original, ``within_classes`` of each class. Ties count half in the AUC, and average precision is
    scikit-learn's: the mean over positives of the precision at that positive's score. Both are NaN in resamples of
    one class only. The result depends on the seed and not on the number of threads.

    Rows are drawn by multiplying 32 random bits by the number of rows ``n`` of the class and keeping the high half. The
    row drawn is then among the ``k`` lowest with probability ``ceil(2**32 k / n) / 2**32``: too often by less than
    ``2**-32`` for every ``k``. The mean of a quantity that rises with the rank from 0 to 1 is off by less than that,
    the expected AUC by less than ``2**-31``, and the variance of a row's placement by less than ``2**-30``. The
    probability of a single row is off by a factor of up to ``1 +- n / 2**32``, which stays within 0.4 % because classes
    of ``2**24`` rows or more are refused.

    Where scores are so coarse that the places of `_Places` are far fewer than the rows, their counts are drawn from
    NumPy's multinomial distribution instead, which has no such bias; classes may then have up to ``2**31 - 1`` rows.

    Raises:
        ValueError: if a class is empty or too large.
    """
    places = _places(positives, negatives)
    n, m = int(places.positives.sum()), int(places.negatives.sum())
    cells = np.count_nonzero(places.positives) + np.count_nonzero(places.negatives)
    by_cell = _route == "cells" or (_route == "auto" and _ROWS_PER_CELL * cells < n + m)
    limit = _MOST_COUNTED if by_cell else _MOST_ROWS
    if (max(n, m) if within_classes else n + m) >= limit:
        what = "a class" if within_classes else "the data"
        raise ValueError(
            f"positives and negatives: with {cells} distinct places, {what} must have fewer than {limit} rows to be "
            f"resampled; got {n} positives and {m} negatives. Round the scores to fewer distinct values, or take a "
            "random subset of the rows"
        )
    draw = _draw_cells if by_cell else _draw_rows
    sizes = np.full(replicates, n, np.int64) if within_classes else _binomial_sizes(n, m, replicates, seed)
    return draw(places, sizes, seed, workers or available_workers((n + m) * replicates))


def _binomial_sizes(positives: int, negatives: int, replicates: int, seed: int) -> Counts:
    """Return the number of positives in resamples of all rows, from a stream of its own."""
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=_SIZES))
    rows = positives + negatives
    return generator.binomial(rows, positives / rows, replicates).astype(np.int64)


def _places(positives: Counts, negatives: Counts) -> _Places:
    """Return the counts at the places that matter."""
    at = np.flatnonzero(positives)
    if at.size == 0 or not negatives.any():
        raise ValueError("positives and negatives: a bootstrap needs rows of both classes; one of them is empty")
    up_to = np.cumsum(negatives)
    places = np.empty(2 * at.size + 1, np.int64)
    places[1::2] = negatives[at]
    places[:-1:2] = np.diff(up_to[at], prepend=0) - negatives[at]
    places[-1] = up_to[-1] - up_to[at[-1]]
    return _Places(positives[at], places)


def _draw_rows(places: _Places, sizes: Counts, seed: int, workers: int) -> tuple[Estimates, Estimates]:
    """Return the estimates from draws of single rows; a replicate's stream of random bits is its own.

    ``sizes`` has the number of positives in each resample.
    """
    replicates = sizes.size
    owners = [np.repeat(np.arange(counts.size, dtype=np.uint32), counts) for counts in places]
    states = np.asarray(np.random.SeedSequence(seed).generate_state(replicates, np.uint64), np.uint64)
    auc, ap = np.empty(replicates), np.empty(replicates)

    def replicate(part: slice) -> None:
        _replicate(owners[0], owners[1], places.positives.size, sizes[part], states[part], auc[part], ap[part])

    with Threads(max(1, min(replicates, workers))) as threads:
        threads.map(replicate, threads.slices(replicates))
    return auc, ap


def _draw_cells(places: _Places, sizes: Counts, seed: int, workers: int) -> tuple[Estimates, Estimates]:
    """Return the estimates from multinomial counts; a chunk of replicates has its own generator."""
    replicates, rows = sizes.size, int(places.positives.sum() + places.negatives.sum())
    step = max(1, _CHUNK_CELLS // places.negatives.size)
    parts = [slice(first, min(first + step, replicates)) for first in range(0, replicates, step)]
    seeds = np.random.SeedSequence(seed).spawn(len(parts))
    auc, ap = np.empty(replicates), np.empty(replicates)

    def replicate(chunk: int) -> None:
        part = parts[chunk]
        generator = np.random.default_rng(seeds[chunk])
        ours = _multinomial(generator, places.positives, sizes[part])
        theirs = _multinomial(generator, places.negatives, rows - sizes[part])
        _evaluate(ours, theirs, auc[part], ap[part])

    with Threads(max(1, min(len(parts), workers))) as threads:
        threads.map(replicate, range(len(parts)))
    return auc, ap


def _multinomial(generator: np.random.Generator, counts: Counts, sizes: Counts) -> NDArray[np.int32]:
    """Return a resample of each size."""
    cells = np.flatnonzero(counts)  # the generator spends time on empty cells
    drawn = np.zeros((sizes.size, counts.size), np.int32)
    drawn[:, cells] = generator.multinomial(sizes, counts[cells] / counts.sum())
    return drawn


@compiled
def _replicate(
    positive_owner: Owners,
    negative_owner: Owners,
    groups: int,
    sizes: Counts,
    states: NDArray[np.uint64],
    auc: Estimates,
    ap: Estimates,
) -> None:
    """Write the estimates of one resample, with so many positives, for each state of the random stream."""
    positives = np.empty(groups, np.int32)
    negatives = np.empty(2 * groups + 1, np.int32)
    for r in range(states.size):
        state = resample(states[r], positive_owner, sizes[r], positives)
        resample(state, negative_owner, positive_owner.size + negative_owner.size - sizes[r], negatives)
        auc[r], ap[r] = _auc_ap(positives, negatives)


@compiled
def resample(state: np.uint64, owner: Owners, draws: int, drawn: Drawn) -> np.uint64:
    """Draw rows with replacement, and count them by owner; return the next state of the stream."""
    drawn[:] = 0
    size = np.uint64(owner.size)
    for _ in range(draws // 2):
        state += _GAMMA
        word = _mix(state)
        drawn[owner[((word & _LOW_HALF) * size) >> _SHIFT_32]] += 1
        drawn[owner[((word >> _SHIFT_32) * size) >> _SHIFT_32]] += 1
    if draws % 2 == 1:
        state += _GAMMA
        drawn[owner[((_mix(state) >> _SHIFT_32) * size) >> _SHIFT_32]] += 1
    return state


@compiled
def _mix(state: np.uint64) -> np.uint64:
    """Return splitmix64's output for a state."""
    z = (state ^ (state >> _SHIFT_30)) * _MIX_1
    z = (z ^ (z >> _SHIFT_27)) * _MIX_2
    return z ^ (z >> _SHIFT_31)


@compiled
def _evaluate(positives: Drawn, negatives: Drawn, auc: Estimates, ap: Estimates) -> None:
    """Write the estimates of each resample, a row of counts by place."""
    for r in range(auc.size):
        auc[r], ap[r] = _auc_ap(positives[r], negatives[r])


@compiled
def _auc_ap(positives: Drawn, negatives: Drawn) -> tuple[float, float]:
    """Return AUC and average precision of the counts at each place (see `_Places`)."""
    n = positives.sum()
    m = negatives.sum()
    if n == 0 or m == 0:
        return np.nan, np.nan
    tp = np.int64(0)
    fp = np.int64(negatives[-1])
    twice_wins = np.int64(0)
    precision = 0.0
    for j in range(positives.size - 1, -1, -1):
        p = np.int64(positives[j])
        q = np.int64(negatives[2 * j + 1])
        twice_wins += p * (2 * (m - fp) - q)
        tp += p
        fp += q
        precision += p * (tp / max(tp + fp, np.int64(1)))  # 0 if no row was drawn from here upwards
        fp += np.int64(negatives[2 * j])
    return twice_wins / (2.0 * n * m), precision / n
