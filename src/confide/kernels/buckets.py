"""Counting of distinct scores: few in a hash table, many in buckets that are sorted inside the cache.

Only rows that share a bucket have to be compared; a bucket fits in the cache; and since prefix sums say how many
positives and negatives lie below it, buckets are independent and threads share them out.
"""

from __future__ import annotations

import math
import mmap
from typing import NamedTuple

import numpy as np

from confide.kernels.threads import Counts, Keys, Labels, Scores, Threads, compiled, frozen

# Compiled into the kernel.
_HASH_BITS = 15
_HASH_CAPACITY = 1 << (_HASH_BITS - 1)  # half full: probes stay short
_HASH_WIDTH = 4  # key, negatives, positives, and one word that keeps a slot within one cache line
_NO_KEY = np.uint64(0xFFFF_FFFF_FFFF_FFFF)  # the bits of a NaN, so never those of a score
_HASH_FACTOR = np.uint64(0x9E37_79B9_7F4A_7C15)
_HASH_SHIFT = np.uint64(64 - _HASH_BITS)
_ONE = np.uint64(1)


def hash_counts(labels: Labels, scores: Scores, threads: Threads) -> tuple[Scores, Counts, Counts] | None:
    """Return the counts of each distinct score, or None if there are too many of them."""
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


# Compiled into the kernels.
INSERTION_ROWS = 40
DIGIT_BITS = 12
_ZERO = np.uint64(0)


@compiled
def sort_bucket(keys: Keys, spare: Keys, digits: Counts) -> bool:
    """Sort keys by score; True if the sorted keys are in ``spare`` (as long as ``keys``).

    Labels are not put in order: within a tie they do not matter, and moving them would be quadratic.
    """
    size = keys.size
    if size <= INSERTION_ROWS:
        _insertion_sort(keys, size * size)
        return False
    low = keys[0]
    high = keys[0]
    for i in range(1, size):
        low = min(low, keys[i])
        high = max(high, keys[i])
    low >>= _ONE
    width = bit_length((high >> _ONE) - low)
    if width == 0:
        return False
    # Six bits more than number the keys: keys that are evenly spread then seldom share all of them, and the insertion
    # sort that follows moves next to nothing. With fewer bits, mispredicted branches cost more than a pass.
    leading = min(width, bit_length(np.uint64(size)) + 6)
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
def bit_length(value: np.uint64) -> int:
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
    most_bits = min(DIGIT_BITS, max(6, bit_length(np.uint64(keys.size)) - 1))  # fewer digits than keys
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


_MANY_ROWS = 1 << 24
_TRIM = 0.01  # share of the sample left outside each end of a trimmed bucket map

# Compiled into the kernels.
_SIGN_SHIFT = np.uint64(63)
_MAGNITUDE = np.int64(0x7FFF_FFFF_FFFF_FFFF)


class BucketMap(NamedTuple):
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


class Partition(NamedTuple):
    """Rows in the order of their buckets: those of bucket ``b`` are ``keys[starts[b]:starts[b + 1]]``, unsorted.

    A key is 63 bits that are in the order of the score among scores of one sign, then the label.
    ``positives_before[b]`` counts the positives in lower buckets; buckets below ``zero`` hold the negative scores.
    """

    keys: Keys
    starts: Counts
    positives_before: Counts
    zero: int

    def __repr__(self) -> str:
        """Show no rows."""
        return object.__repr__(self)


def partition_rows(labels: Labels, scores: Scores, sample: tuple[Scores, int], threads: Threads) -> Partition:
    """Return the rows in the order of buckets that the sample suggests."""
    return partition_parts([(labels[part], scores[part]) for part in threads.slices(scores.size)], sample, threads)


def partition_parts(parts: list[tuple[Labels, Scores]], sample: tuple[Scores, int], threads: Threads) -> Partition:
    """Return the rows of all parts likewise, and empty the list.

    Each part is let go as soon as its rows are in their buckets: parts and buckets together take hardly more memory
    than the parts did.
    """
    bucket_map = choose_bucket_map(sample[0], sum(scores.size for _, scores in parts))
    by_label = np.zeros((len(parts), bucket_map.buckets, 2), np.int64)
    threads.map(lambda i: count_buckets(*parts[i], bucket_map, by_label[i].reshape(-1)), range(len(parts)))
    rows = by_label.sum(axis=2)
    starts = prefix_sums(rows.sum(axis=0))
    # A part's rows of a bucket follow those of the parts before it, so that no two threads write to one place.
    places = starts[:-1] + np.cumsum(rows, axis=0) - rows
    keys = _empty_keys(int(starts[-1]))
    waiting = list(enumerate(parts))[::-1]
    parts.clear()

    def scatter(_: int) -> None:
        place, part = waiting.pop()
        _scatter_keys(*part, bucket_map, places[place], keys)

    threads.map(scatter, range(len(waiting)))
    return Partition(keys, starts, prefix_sums(by_label[:, :, 1].sum(axis=0)), bucket_map.zero)


def _empty_keys(rows: int) -> Keys:
    """Return room for keys; of many, room that takes up memory only as buckets fill.

    NumPy asks for pages of two megabytes, on which a bucket's first key would take up as much as all of its others.
    """
    if rows < _MANY_ROWS:
        return np.empty(rows, np.uint64)
    return np.frombuffer(mmap.mmap(-1, rows * np.uint64().nbytes), np.uint64)


def _bucket_count(rows: int) -> int:
    """Return how many buckets leave some hundreds of rows in each, up to what the first-level cache can follow."""
    return 1 << min(10, max(4, rows.bit_length() - 9))


def prefix_sums(counts: Counts) -> Counts:
    """Return the sums of the counts before each position, and the total."""
    sums = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=sums[1:])
    return sums


def choose_bucket_map(distinct: Scores, rows: int) -> BucketMap:
    """Return the candidate map that spreads the distinct scores of a sample of the rows most evenly.

    The measure is the sum of squared bucket sizes, which is what sorting the buckets costs at worst. Equal scores
    would share a bucket under any map, so they do not count.
    """
    buckets = _bucket_count(rows)
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


def _spread(distinct: Scores, bucket_map: BucketMap) -> int:
    """Return the sum of squared bucket sizes."""
    by_label = np.zeros(2 * bucket_map.buckets, np.int64)
    count_buckets(frozen(np.zeros(distinct.size, np.uint8)), frozen(distinct), bucket_map, by_label)
    return int(np.dot(by_label, by_label))


def _linear_map(low: float, high: float, buckets: int) -> BucketMap | None:
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
    return BucketMap(
        linear=True,
        buckets=buckets,
        zero=zero,
        anchor=anchor,
        scale=scale,
        lowest=float(1 - zero),
        highest=float(buckets - 1 - zero),
    )


def _leading_bits_map(magnitudes: Scores, buckets: int) -> BucketMap:
    """Return buckets that are equally wide in the bits of the magnitude, ``buckets`` of them for each sign."""
    bits = magnitudes.view(np.int64)
    smallest, largest = (int(bits[0]), int(bits[-1])) if bits.size else (0, 0)
    return BucketMap(
        linear=False,
        buckets=2 * buckets,
        zero=buckets,
        smallest=smallest,
        largest=largest,
        shift=max(0, (largest - smallest).bit_length() - (buckets.bit_length() - 1)),
    )


@compiled
def bucket_of(score: float, bucket_map: BucketMap) -> np.int64:
    """Return the bucket of a score; see `BucketMap`."""
    if bucket_map.linear:
        x = (score - bucket_map.anchor) * bucket_map.scale
        x = x if x > bucket_map.lowest else bucket_map.lowest
        x = x if x < bucket_map.highest else bucket_map.highest
        return bucket_map.zero + np.int64(x) - np.int64(score < 0.0)
    bits = np.float64(score + 0.0).view(np.int64)  # adding 0.0 turns -0.0 into 0.0
    a = min(max(bits & _MAGNITUDE, np.int64(bucket_map.smallest)), np.int64(bucket_map.largest))
    return bucket_map.zero + (((a - bucket_map.smallest) >> bucket_map.shift) ^ (bits >> 63))


@compiled
def count_buckets(labels: Labels, scores: Scores, bucket_map: BucketMap, by_label: Counts) -> None:
    """Add to ``by_label[2 * bucket + label]`` the number of such rows."""
    for i in range(scores.size):
        by_label[np.uint64(2 * bucket_of(scores[i], bucket_map) + np.int64(labels[i] & 1))] += 1


@compiled
def _scatter_keys(labels: Labels, scores: Scores, bucket_map: BucketMap, places: Counts, keys: Keys) -> None:
    """Write each row's key to the next place of its bucket."""
    for i in range(scores.size):
        bucket = np.uint64(bucket_of(scores[i], bucket_map))
        bits = np.float64(scores[i] + 0.0).view(np.uint64)
        ordered = bits ^ (_ZERO - (bits >> _SIGN_SHIFT))  # all bits flipped if negative; the sign's is then 0
        keys[np.uint64(places[bucket])] = (ordered << _ONE) | (np.uint64(labels[i]) & _ONE)
        places[bucket] += 1
