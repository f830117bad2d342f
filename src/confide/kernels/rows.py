"""Exact rank sums and score counts straight from rows, in compiled kernels.

Sorting is nearly the whole cost of an AUC over millions of rows, and a comparison sort is the wrong tool for it. Two
routes replace it; both are exact for every finite score, ties included.

*Few distinct scores*: a hash table counts the positives and negatives of each distinct score.

*Many distinct scores*: a monotone map sends each row to one of some thousands of buckets. The buckets are then in score
order, so only rows that share one have to be compared; a bucket fits in the cache; and since prefix sums say how
many positives and negatives lie below it, buckets are independent and threads share them out.

The kernels are serial and release the interpreter lock; threads run them on slices. (numba's ``parallel=True`` is no
faster here and takes several times as long to compile.) Integers and counts do not depend on the number of threads;
floating-point sums do in their last bits only.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Labels = NDArray[np.uint8]
Scores = NDArray[np.float64]
Counts = NDArray[np.int64]
Keys = NDArray[np.uint64]
Route = Literal["auto", "hash", "partition"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
_Scalar = TypeVar("_Scalar", np.uint8, np.float64)

_ROWS_PER_WORKER = 1 << 17  # with fewer rows a thread costs more than it saves
_TASKS_PER_WORKER = 8  # so that one dear bucket does not leave the other threads idle
_SCAN_BLOCK = 1 << 15  # scores whose minimum and maximum are taken while they are in the cache
_LARGEST_SAMPLE = 1 << 13
_FEW_DISTINCT = 0.25  # share of distinct scores in the sample up to which hashing is tried
_TRIM = 0.01  # share of the sample left outside each end of a trimmed bucket map

# Compiled into the kernels.
_HASH_BITS = 15
_HASH_CAPACITY = 1 << (_HASH_BITS - 1)  # half full: probes stay short
_HASH_WIDTH = 4  # key, negatives, positives, and one word that keeps a slot within one cache line
_INSERTION_ROWS = 40
_DIGIT_BITS = 12
_NO_KEY = np.uint64(0xFFFF_FFFF_FFFF_FFFF)  # the bits of a NaN, so never those of a score
_HASH_FACTOR = np.uint64(0x9E37_79B9_7F4A_7C15)
_HASH_SHIFT = np.uint64(64 - _HASH_BITS)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SIGN_SHIFT = np.uint64(63)
_MAGNITUDE = np.int64(0x7FFF_FFFF_FFFF_FFFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSums:
    """Sums over ranks that give AUC, average precision and DeLong's variance.

    With ``n`` positives and ``m`` negatives, AUC is ``twice_wins / (2 n m)``, average precision ``precision_sum / n``,
    and DeLong's variance of the AUC ``positive_placement_ss / (n - 1) / n + negative_placement_ss / (m - 1) / m``.
    With one class only, every sum is zero.

    Attributes:
        positives: rows with label 1.
        negatives: rows with label 0.
        twice_wins: over pairs of a positive and a negative, 2 if the positive scores higher and 1 if they tie.
        precision_sum: over positives, the precision of calling positive every row with that score or a higher one.
        positive_placement_ss: over positives, squared deviations from the mean of the share of negatives that score
            lower, with half of those that tie.
        negative_placement_ss: over negatives, likewise of the share of positives that score higher.
    """

    positives: int
    negatives: int
    twice_wins: int
    precision_sum: float
    positive_placement_ss: float
    negative_placement_ss: float


class Threads:
    """Some threads for the duration of one call; with one worker, the calling thread.

    They are not kept for the next call: a pool that outlives a call is dead in a forked child.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def map(self, function: Callable[[_Task], _Result], tasks: Iterable[_Task]) -> list[_Result]:
        """Return ``function`` of each task, in the order of the tasks."""
        return list(map(function, tasks) if self._pool is None else self._pool.map(function, tasks))

    def slices(self, size: int) -> list[slice]:
        """Split ``range(size)`` into one slice per worker."""
        edges = [size * worker // self.workers for worker in range(self.workers + 1)]
        return [slice(first, last) for first, last in pairwise(edges)]


class _BucketMap(NamedTuple):
    """A monotone map from scores to buckets in which no bucket holds scores of both signs.

    Linear in the score: ``zero + trunc(clip((score - anchor) * scale, lowest, highest)) - (score < 0)``. Rounding is
    monotone, so the map is, whatever the scores; and the last term parts negative scores from the others.

    By leading bits of the magnitude's bits ``a``: ``t = (clip(a, smallest, largest) - smallest) >> shift`` gives
    ``zero + t``, or ``zero - 1 - t`` for a negative score. Its buckets are as fine near zero as elsewhere.
    """

    linear: bool
    buckets: int
    zero: int
    anchor: float = 0.0
    scale: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0
    smallest: int = 0
    largest: int = 0
    shift: int = 0


class _Partition(NamedTuple):
    """Rows in the order of their buckets: those of bucket ``b`` are ``keys[starts[b]:starts[b + 1]]``, unsorted.

    A key is 63 bits that are in the order of the score among scores of one sign, then the label.
    ``positives_before[b]`` counts the positives in lower buckets; buckets below ``zero`` hold the negative scores.
    """

    keys: Keys
    starts: Counts
    positives_before: Counts
    zero: int


def finite_range(scores: Scores, *, workers: int | None = None) -> tuple[float, float] | None:
    """Return the least and the greatest score, or None if any is NaN or infinite (or there is none)."""
    if scores.size == 0:
        return None
    with Threads(workers or available_workers(scores.size)) as threads:
        ranges = threads.map(lambda part: _block_range(scores[part]), threads.slices(scores.size))
    if not all(math.isfinite(low) and math.isfinite(high) for low, high in ranges):
        return None
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def summarise_rows(labels: Labels, scores: Scores, *, workers: int | None = None, _route: Route = "auto") -> RankSums:
    """Return the rank sums of rows with label 0 or 1 and a finite score.

    The caller has checked both, and that they are of one length. Equal scores tie, and -0.0 equals 0.0.
    ``twice_wins`` is exact. The other sums are added up bucket by bucket in double precision: at ten million rows
    their relative error is some 1e-14.
    """
    labels, scores = _frozen(labels), _frozen(scores)
    with Threads(workers or available_workers(scores.size)) as threads:
        sample = _distinct_sample(scores)
        counts = _hash_if_few(labels, scores, sample, threads, _route)
        if counts is not None:
            return _sum_counts(counts[1], counts[2])
        return _sum_partition(_partition(labels, scores, sample, threads), threads)


def count_rows(
    labels: Labels, scores: Scores, *, workers: int | None = None, _route: Route = "auto"
) -> tuple[Scores, Counts, Counts]:
    """Return the distinct scores in ascending order, with the number of positives and of negatives at each.

    Assumes what `summarise_rows` assumes. A zero score is reported as 0.0, never as -0.0.
    """
    labels, scores = _frozen(labels), _frozen(scores)
    with Threads(workers or available_workers(scores.size)) as threads:
        sample = _distinct_sample(scores)
        counts = _hash_if_few(labels, scores, sample, threads, _route)
        if counts is not None:
            return counts
        return _count_partition(_partition(labels, scores, sample, threads), threads)


def available_workers(rows: int) -> int:
    """Return how many threads are worth starting for this many rows on the processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # absent on macOS and Windows
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(processors, rows // _ROWS_PER_WORKER))


def compiled(function: _Function) -> _Function:
    """Compile a kernel at its first call, and keep the machine code on disk; type checkers see the original."""
    return cast(_Function, njit(cache=True, nogil=True)(function))


def _frozen(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return a contiguous, read-only view: numba compiles a kernel anew for arrays that differ in either."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _block_range(scores: Scores) -> tuple[float, float]:
    """Return minimum and maximum; NaN if there is one."""
    blocks = [scores[first : first + _SCAN_BLOCK] for first in range(0, scores.size, _SCAN_BLOCK)]
    extremes = np.array([(block.min(), block.max()) for block in blocks])
    return float(extremes[:, 0].min()), float(extremes[:, 1].max())


# --- few distinct scores: count them in a hash table ---------------------------------------------------------------


def _distinct_sample(scores: Scores) -> tuple[Scores, int]:
    """Return the sorted distinct scores of a sample of rows and the size of the sample.

    The sample only chooses the route and the buckets: results are the same whatever it holds. Its rows are drawn at
    random because evenly spaced ones would be misled by periodic input.
    """
    size = min(scores.size, max(256, min(_LARGEST_SAMPLE, scores.size // 16)))
    if size < scores.size:
        scores = scores[np.random.default_rng(0).integers(0, scores.size, size)]
    return np.unique(scores + 0.0), size


def _hash_if_few(
    labels: Labels, scores: Scores, sample: tuple[Scores, int], threads: Threads, route: Route
) -> tuple[Scores, Counts, Counts] | None:
    """Return the counts of each distinct score, or None if there are, or seem to be, too many of them."""
    distinct, size = sample
    if route == "partition" or (route == "auto" and distinct.size > max(1.0, _FEW_DISTINCT * size)):
        return None
    tables = threads.map(lambda part: _hash_table(labels[part], scores[part]), threads.slices(scores.size))
    if any(table is None for table in tables):
        return None
    slots = np.concatenate([table for table in tables if table is not None])
    values, where = np.unique(slots[:, 0].view(np.float64), return_inverse=True)
    counts = np.zeros((values.size, 2), np.int64)
    np.add.at(counts, where, slots[:, 1:3].view(np.int64))
    return values, counts[:, 1].copy(), counts[:, 0].copy()


def _hash_table(labels: Labels, scores: Scores) -> Keys | None:
    """Return the used slots of a hash table of these rows, or None if they do not fit."""
    table = np.zeros((1 << _HASH_BITS, _HASH_WIDTH), np.uint64)
    table[:, 0] = _NO_KEY
    if not _fill_hash_table(labels, scores, table.reshape(-1)):
        return None
    used: Keys = table[table[:, 0] != _NO_KEY]
    return used


@compiled
def _fill_hash_table(labels: Labels, scores: Scores, table: Keys) -> bool:
    """Count rows of each label by score in an open-addressing table.

    False once it is half full, or if probes are many, as they are for scores chosen to collide.
    """
    last = np.uint64((1 << _HASH_BITS) - 1)
    used = 0
    probes = (1 << _HASH_BITS) + 4 * scores.size
    for i in range(scores.size):
        key = np.float64(scores[i] + 0.0).view(np.uint64)
        slot = (key * _HASH_FACTOR) >> _HASH_SHIFT
        while table[slot * np.uint64(_HASH_WIDTH)] != key:
            if table[slot * np.uint64(_HASH_WIDTH)] == _NO_KEY:
                if used == _HASH_CAPACITY:
                    return False
                used += 1
                table[slot * np.uint64(_HASH_WIDTH)] = key
                break
            slot = (slot + _ONE) & last
            probes -= 1
            if probes < 0:
                return False
        table[slot * np.uint64(_HASH_WIDTH) + _ONE + (np.uint64(labels[i]) & _ONE)] += _ONE
    return True


def _sum_counts(positives: Counts, negatives: Counts) -> RankSums:
    """Return the rank sums of the counts at ascending distinct scores."""
    n, m = int(positives.sum()), int(negatives.sum())
    if n == 0 or m == 0:
        return _no_sums(n, m)
    below = 2 * np.cumsum(negatives) - negatives
    above = 2 * (n - np.cumsum(positives)) + positives
    true_positives = n - np.cumsum(positives) + positives
    false_positives = m - np.cumsum(negatives) + negatives
    precision = true_positives / np.maximum(true_positives + false_positives, 1)
    twice_wins = _exact_dot(positives, below)
    centre = _Centre(round(twice_wins / n), round(twice_wins / m))
    return _rank_sums(
        n,
        m,
        twice_wins,
        precision_sum=float(np.sum(positives * precision)),
        centre=centre,
        squares_below=float(np.sum(positives * (below - centre.below).astype(np.float64) ** 2)),
        squares_above=float(np.sum(negatives * (above - centre.above).astype(np.float64) ** 2)),
    )


class _Centre(NamedTuple):
    """Points about which squares are summed.

    ``below`` is for twice the negatives below a positive plus those tied, ``above`` for twice the positives above a
    negative plus those tied. Both are integers near the means: deviations from them are exact, also where AUC is so
    near to 1 that those from the mean would be lost in rounding.
    """

    below: int
    above: int


def _rank_sums(
    n: int,
    m: int,
    twice_wins: int,
    *,
    precision_sum: float,
    centre: _Centre,
    squares_below: float,
    squares_above: float,
) -> RankSums:
    """Return the rank sums, with the sums of squares moved from about the centre to about the means."""

    def about_mean(squares: float, total: int, count: int) -> float:
        return max(0.0, float(Fraction(squares) - Fraction(total * total, count)))

    return RankSums(
        positives=n,
        negatives=m,
        twice_wins=twice_wins,
        precision_sum=precision_sum,
        # Summed over either class, below and above count the same pairs: twice_wins.
        positive_placement_ss=about_mean(squares_below, twice_wins - n * centre.below, n) / (4 * m * m),
        negative_placement_ss=about_mean(squares_above, twice_wins - m * centre.above, m) / (4 * n * n),
    )


def _no_sums(positives: int, negatives: int) -> RankSums:
    """Return the rank sums of rows of one class."""
    return RankSums(
        positives=positives,
        negatives=negatives,
        twice_wins=0,
        precision_sum=0.0,
        positive_placement_ss=0.0,
        negative_placement_ss=0.0,
    )


def _exact_dot(left: Counts, right: Counts) -> int:
    """Return the inner product of non-negative counts, in Python integers where 64 bits may not hold it."""
    if int(left.sum()) * int(right.max()) < 1 << 63:
        return int(np.dot(left, right))
    return sum(a * b for a, b in zip(left.tolist(), right.tolist(), strict=True))


# --- many distinct scores: partition the rows into buckets ---------------------------------------------------------


def _partition(labels: Labels, scores: Scores, sample: tuple[Scores, int], threads: Threads) -> _Partition:
    """Return the rows in the order of buckets that the sample suggests."""
    bucket_map = _choose_bucket_map(sample[0], _bucket_count(scores.size))
    parts = threads.slices(scores.size)
    by_label = np.zeros((len(parts), bucket_map.buckets, 2), np.int64)

    def count(worker: int) -> None:
        _count_buckets(labels[parts[worker]], scores[parts[worker]], bucket_map, by_label[worker].reshape(-1))

    threads.map(count, range(len(parts)))
    rows = by_label.sum(axis=2)
    starts = _prefix_sums(rows.sum(axis=0))
    # A worker's rows of a bucket follow those of the workers before it, so that no two write to one place.
    places = starts[:-1] + np.cumsum(rows, axis=0) - rows
    keys = np.empty(scores.size, np.uint64)

    def scatter(worker: int) -> None:
        _scatter_keys(labels[parts[worker]], scores[parts[worker]], bucket_map, places[worker], keys)

    threads.map(scatter, range(len(parts)))
    return _Partition(keys, starts, _prefix_sums(by_label[:, :, 1].sum(axis=0)), bucket_map.zero)


def _bucket_count(rows: int) -> int:
    """Return how many buckets leave some hundreds of rows in each, up to what the first-level cache can follow."""
    return 1 << min(10, max(4, rows.bit_length() - 9))


def _prefix_sums(counts: Counts) -> Counts:
    """Return the sums of the counts before each position, and the total."""
    sums = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=sums[1:])
    return sums


def _choose_bucket_map(distinct: Scores, buckets: int) -> _BucketMap:
    """Return the candidate map that spreads the distinct scores of the sample most evenly.

    The measure is the sum of squared bucket sizes, which is what sorting the buckets costs at worst. Equal scores
    would share a bucket under any map, so they do not count.
    """
    trim = int(_TRIM * distinct.size)
    inner = distinct[trim : distinct.size - trim]
    magnitudes = np.sort(np.abs(distinct[distinct != 0.0]))
    trim = int(_TRIM * magnitudes.size)
    candidates = [
        _linear_map(float(distinct[0]), float(distinct[-1]), buckets),
        _linear_map(float(inner[0]), float(inner[-1]), buckets),
        _leading_bits_map(magnitudes[trim : magnitudes.size - trim], buckets),
    ]
    return min(filter(None, candidates), key=lambda candidate: _spread(distinct, candidate))


def _spread(distinct: Scores, bucket_map: _BucketMap) -> int:
    """Return the sum of squared bucket sizes."""
    by_label = np.zeros(2 * bucket_map.buckets, np.int64)
    _count_buckets(_frozen(np.zeros(distinct.size, np.uint8)), _frozen(distinct), bucket_map, by_label)
    return int(np.dot(by_label, by_label))


def _linear_map(low: float, high: float, buckets: int) -> _BucketMap | None:
    """Return equally wide buckets from ``low`` to ``high``, or None if their width is not a number."""
    inner = buckets - 2  # one bucket more may be needed on each side of zero
    with np.errstate(over="ignore", divide="ignore"):
        scale = float(np.float64(inner) / (np.float64(high) - np.float64(low)))
    if not 0.0 < scale < math.inf:
        return None
    if low >= 0.0:
        anchor, zero = low, 1
    elif high <= 0.0:
        anchor, zero = high, buckets - 1
    else:
        anchor, zero = 0.0, min(buckets - 1, 1 + int(-low * scale))
    return _BucketMap(
        linear=True,
        buckets=buckets,
        zero=zero,
        anchor=anchor,
        scale=scale,
        lowest=float(1 - zero),
        highest=float(buckets - 1 - zero),
    )


def _leading_bits_map(magnitudes: Scores, buckets: int) -> _BucketMap:
    """Return buckets that are equally wide in the bits of the magnitude, ``buckets`` of them for each sign."""
    bits = magnitudes.view(np.int64)
    smallest, largest = (int(bits[0]), int(bits[-1])) if bits.size else (0, 0)
    return _BucketMap(
        linear=False,
        buckets=2 * buckets,
        zero=buckets,
        smallest=smallest,
        largest=largest,
        shift=max(0, (largest - smallest).bit_length() - (buckets.bit_length() - 1)),
    )


@compiled
def _bucket_of(score: float, bucket_map: _BucketMap) -> np.int64:
    """Return the bucket of a score; see `_BucketMap`."""
    if bucket_map.linear:
        x = (score - bucket_map.anchor) * bucket_map.scale
        x = x if x > bucket_map.lowest else bucket_map.lowest
        x = x if x < bucket_map.highest else bucket_map.highest
        return bucket_map.zero + np.int64(x) - np.int64(score < 0.0)
    bits = np.float64(score + 0.0).view(np.int64)  # adding 0.0 turns -0.0 into 0.0
    a = min(max(bits & _MAGNITUDE, np.int64(bucket_map.smallest)), np.int64(bucket_map.largest))
    return bucket_map.zero + (((a - bucket_map.smallest) >> bucket_map.shift) ^ (bits >> 63))


@compiled
def _count_buckets(labels: Labels, scores: Scores, bucket_map: _BucketMap, by_label: Counts) -> None:
    """Add to ``by_label[2 * bucket + label]`` the number of such rows."""
    for i in range(scores.size):
        by_label[np.uint64(2 * _bucket_of(scores[i], bucket_map) + np.int64(labels[i] & 1))] += 1


@compiled
def _scatter_keys(labels: Labels, scores: Scores, bucket_map: _BucketMap, places: Counts, keys: Keys) -> None:
    """Write each row's key to the next place of its bucket."""
    for i in range(scores.size):
        bucket = np.uint64(_bucket_of(scores[i], bucket_map))
        bits = np.float64(scores[i] + 0.0).view(np.uint64)
        ordered = bits ^ (_ZERO - (bits >> _SIGN_SHIFT))  # all bits flipped if negative; the sign's is then 0
        keys[np.uint64(places[bucket])] = (ordered << _ONE) | (np.uint64(labels[i]) & _ONE)
        places[bucket] += 1


# --- sort the keys of one bucket -----------------------------------------------------------------------------------


@compiled
def _sort_bucket(keys: Keys, spare: Keys, digits: Counts) -> bool:
    """Sort keys by score; True if the sorted keys are in ``spare`` (as long as ``keys``).

    Labels are not put in order: within a tie they do not matter, and moving them would be quadratic.
    """
    size = keys.size
    if size <= _INSERTION_ROWS:
        _insertion_sort(keys, size * size)
        return False
    low = keys[0]
    high = keys[0]
    for i in range(1, size):
        low = min(low, keys[i])
        high = max(high, keys[i])
    low >>= _ONE
    width = _bit_length((high >> _ONE) - low)
    if width == 0:
        return False
    # Six bits more than number the keys: keys that are evenly spread then seldom share all of them, and the insertion
    # sort that follows moves next to nothing. With fewer bits, mispredicted branches cost more than a pass.
    leading = min(width, _bit_length(np.uint64(size)) + 6)
    moved = _radix_sort(keys, spare, low, width - leading, width, digits)
    if leading == width:
        return moved
    if moved:
        if _insertion_sort(spare, 4 * size):
            return True
        return not _radix_sort(spare, keys, low, 0, width, digits)
    if _insertion_sort(keys, 4 * size):
        return False
    return _radix_sort(keys, spare, low, 0, width, digits)


@compiled
def _bit_length(value: np.uint64) -> int:
    """Return the number of bits of a number."""
    length = 0
    while value > _ZERO:
        value >>= _ONE
        length += 1
    return length


@compiled
def _insertion_sort(keys: Keys, budget: int) -> bool:
    """Sort keys by score; False, with the keys in some order, once more than ``budget`` moves were made."""
    moves = 0
    for i in range(1, keys.size):
        key = keys[i]
        bound = key | _ONE  # a greater key has a greater score, not just the greater label
        j = i
        while j > 0 and keys[j - 1] > bound:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key
        moves += i - j
        if moves > budget:
            return False
    return True


@compiled
def _radix_sort(keys: Keys, spare: Keys, low: np.uint64, first_bit: int, last_bit: int, digits: Counts) -> bool:
    """Sort keys by bits ``first_bit`` to ``last_bit`` of their score less ``low``; True if they end up in ``spare``."""
    most_bits = min(_DIGIT_BITS, max(6, _bit_length(np.uint64(keys.size)) - 1))  # fewer digits than keys
    passes = (last_bit - first_bit + most_bits - 1) // most_bits
    digit_bits = (last_bit - first_bit + passes - 1) // passes
    mask = np.uint64((1 << digit_bits) - 1)
    shift = np.uint64(first_bit)
    moved = False
    for _ in range(passes):
        source, target = (spare, keys) if moved else (keys, spare)
        digits[: 1 << digit_bits] = 0
        for i in range(keys.size):
            digits[(((source[i] >> _ONE) - low) >> shift) & mask] += 1
        place = 0
        for digit in range(1 << digit_bits):
            count = digits[digit]
            digits[digit] = place
            place += count
        for i in range(keys.size):
            key = source[i]
            digit = (((key >> _ONE) - low) >> shift) & mask
            target[np.uint64(digits[digit])] = key
            digits[digit] += 1
        moved = not moved
        shift += np.uint64(digit_bits)
    return moved


# --- add up, or count, the sorted buckets --------------------------------------------------------------------------


def _bucket_ranges(partition: _Partition, threads: Threads) -> list[tuple[int, int]]:
    """Split the buckets into ranges of about as many rows each, some per worker."""
    tasks = _TASKS_PER_WORKER * threads.workers if threads.workers > 1 else 1
    rows = partition.keys.size
    edges = np.searchsorted(partition.starts, [rows * task // tasks for task in range(1, tasks)]).tolist()
    edges = [0, *edges, partition.starts.size - 1]
    return [(first, last) for first, last in pairwise(edges) if first < last]


def _sum_partition(partition: _Partition, threads: Threads) -> RankSums:
    """Return the rank sums of partitioned rows."""
    n = int(partition.positives_before[-1])
    m = partition.keys.size - n
    if n == 0 or m == 0:
        return _no_sums(n, m)
    negatives_before = partition.starts - partition.positives_before
    in_middle = 0.5 * (negatives_before[:-1] + negatives_before[1:])
    auc = float(np.dot(np.diff(partition.positives_before), in_middle)) / n / m  # as if each bucket were one tie
    centre = _Centre(round(2 * m * auc), round(2 * n * auc))
    ranges = _bucket_ranges(partition, threads)
    sums = np.zeros((len(ranges), 3))

    def add(task: int) -> int:
        return int(_add_buckets(*partition[:3], *ranges[task], centre, sums[task]))

    twice_wins = sum(threads.map(add, range(len(ranges))))
    precision, below, above = sums.sum(axis=0).tolist()
    return _rank_sums(
        n, m, twice_wins, precision_sum=precision, centre=centre, squares_below=below, squares_above=above
    )


@compiled
def _largest_bucket(starts: Counts, first: int, last: int) -> int:
    """Return the number of rows of the largest bucket from ``first`` to before ``last``."""
    largest = 0
    for bucket in range(first, last):
        largest = max(largest, starts[bucket + 1] - starts[bucket])
    return largest


@compiled
def _add_buckets(
    keys: Keys,
    starts: Counts,
    positives_before: Counts,
    first: int,
    last: int,
    centre: _Centre,
    sums: Scores,
) -> np.int64:
    """Return the part of ``twice_wins`` of some buckets' positives, and add to ``sums`` three more sums.

    They are the precision over positives, and the squared deviations from the centre over positives and over
    negatives.
    """
    n = positives_before[-1]
    m = starts[-1] - n
    spare = np.empty(_largest_bucket(starts, first, last), np.uint64)
    digits = np.empty(1 << _DIGIT_BITS, np.int64)
    twice_wins = np.int64(0)
    for bucket in range(first, last):
        size = starts[bucket + 1] - starts[bucket]
        if size == 0:
            continue
        tp = n - positives_before[bucket + 1]
        fp = m - (starts[bucket + 1] - positives_before[bucket + 1])
        if positives_before[bucket + 1] == positives_before[bucket]:
            z = float(2 * tp - centre.above)
            sums[2] += size * z * z
            continue
        rows = keys[starts[bucket] : starts[bucket + 1]]
        if _sort_bucket(rows, spare[:size], digits):
            rows = spare[:size]
        precision = squares_below = squares_above = 0.0
        i = size - 1
        while i >= 0:
            score = rows[i] >> _ONE
            p = np.int64(0)
            start = i
            while i >= 0 and rows[i] >> _ONE == score:
                p += np.int64(rows[i] & _ONE)
                i -= 1
            q = start - i - p
            below = 2 * (m - fp) - q
            above = 2 * tp + p
            twice_wins += p * below
            tp += p
            fp += q
            precision += p * (tp / (tp + fp))
            z = float(below - centre.below)
            squares_below += p * z * z
            z = float(above - centre.above)
            squares_above += q * z * z
        sums[0] += precision
        sums[1] += squares_below
        sums[2] += squares_above
    return twice_wins


def _count_partition(partition: _Partition, threads: Threads) -> tuple[Scores, Counts, Counts]:
    """Return the distinct scores of partitioned rows with their counts."""
    keys, starts, _, zero = partition
    distinct = np.zeros(starts.size - 1, np.int64)
    ranges = _bucket_ranges(partition, threads)
    threads.map(lambda task: _sort_buckets(keys, starts, task[0], task[1], distinct), ranges)
    places = _prefix_sums(distinct)
    scores = np.empty(places[-1], np.uint64)
    positives = np.empty(places[-1], np.int64)
    negatives = np.empty(places[-1], np.int64)

    def count(task: tuple[int, int]) -> None:
        _count_sorted(keys, starts, task[0], task[1], zero, places, scores, positives, negatives)

    threads.map(count, ranges)
    return scores.view(np.float64), positives, negatives


@compiled
def _sort_buckets(keys: Keys, starts: Counts, first: int, last: int, distinct: Counts) -> None:
    """Sort the keys of some buckets in place, and count the distinct scores of each."""
    spare = np.empty(_largest_bucket(starts, first, last), np.uint64)
    digits = np.empty(1 << _DIGIT_BITS, np.int64)
    for bucket in range(first, last):
        rows = keys[starts[bucket] : starts[bucket + 1]]
        if rows.size == 0:
            continue
        if _sort_bucket(rows, spare[: rows.size], digits):
            rows[:] = spare[: rows.size]
        distinct[bucket] = 1
        for i in range(1, rows.size):
            distinct[bucket] += np.int64(rows[i] >> _ONE != rows[i - 1] >> _ONE)


@compiled
def _count_sorted(
    keys: Keys,
    starts: Counts,
    first: int,
    last: int,
    zero: int,
    places: Counts,
    scores: Keys,
    positives: Counts,
    negatives: Counts,
) -> None:
    """Write the bits of each distinct score of some sorted buckets, and its counts, from the bucket's place on."""
    for bucket in range(first, last):
        flip = ~_ZERO if bucket < zero else _ZERO
        place = places[bucket]
        i = starts[bucket]
        while i < starts[bucket + 1]:
            score = keys[i] >> _ONE
            p = np.int64(0)
            start = i
            while i < starts[bucket + 1] and keys[i] >> _ONE == score:
                p += np.int64(keys[i] & _ONE)
                i += 1
            scores[place] = score ^ flip
            positives[place] = p
            negatives[place] = i - start - p
            place += 1
