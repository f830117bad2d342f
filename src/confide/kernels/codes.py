"""Place and placement of every row, with the counts of each class: one sort that carries row numbers.

Rows go to buckets as in `confide.kernels.rows`. Beside each key its row number moves along, so that what is known of a
score can be written back to its row. Results are exact integers and do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from confide.kernels.buckets import (
    DIGIT_BITS,
    INSERTION_ROWS,
    BucketMap,
    bit_length,
    bucket_of,
    choose_bucket_map,
    count_buckets,
    prefix_sums,
)
from confide.kernels.rows import bucket_ranges, distinct_sample, largest_bucket
from confide.kernels.threads import Counts, Keys, Labels, Scores, Threads, available_workers, compiled, frozen

Codes = NDArray[np.int32]
Numbers = NDArray[np.uint32]

MOST_ROWS = 1 << 30
"""Row numbers, places and twice a number of rows fit 32 bits."""

# Compiled into the kernels.
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SIGN_SHIFT = np.uint64(63)


def code_rows(labels: Labels, scores: Scores, *, workers: int | None = None) -> tuple[Scores, Counts, Counts, Codes]:
    """Return the distinct scores, the positives and negatives at each, and two numbers of every row.

    The first is the place of its score among the distinct ones. The second is DeLong's structural component, times the
    rows of the other class twice: of a positive, twice the negatives below it and once those tied with it; of a
    negative, twice the positives above it and once those tied with it.

    Assumes what `confide.kernels.rows.summarise_rows` assumes, and fewer than ``MOST_ROWS`` rows.
    """
    labels, scores = frozen(labels), frozen(scores)
    with Threads(workers or available_workers(scores.size)) as threads:
        bucket_map = choose_bucket_map(distinct_sample(scores)[0], scores.size)
        parts = threads.slices(scores.size)
        by_label = np.zeros((len(parts), bucket_map.buckets, 2), np.int64)

        def count(worker: int) -> None:
            count_buckets(labels[parts[worker]], scores[parts[worker]], bucket_map, by_label[worker].reshape(-1))

        threads.map(count, range(len(parts)))
        rows = by_label.sum(axis=2)
        starts = prefix_sums(rows.sum(axis=0))
        places = starts[:-1] + np.cumsum(rows, axis=0) - rows
        keys, numbers = np.empty(scores.size, np.uint64), np.empty(scores.size, np.uint32)

        def scatter(worker: int) -> None:
            part = parts[worker]
            _scatter_pairs(labels[part], scores[part], part.start, bucket_map, places[worker], keys, numbers)

        threads.map(scatter, range(len(parts)))
        distinct = np.zeros(starts.size - 1, np.int64)
        ranges = bucket_ranges(starts, threads)
        threads.map(lambda task: _sort_pairs(keys, numbers, starts, task[0], task[1], distinct), ranges)
        firsts = prefix_sums(distinct)
        found, codes = np.empty(firsts[-1], np.uint64), np.empty((scores.size, 2), np.int32)
        before = prefix_sums(by_label[:, :, 1].sum(axis=0))
        positives, negatives = np.empty(firsts[-1], np.int64), np.empty(firsts[-1], np.int64)

        def write(task: tuple[int, int]) -> None:
            _write_codes(
                keys, numbers, starts, before, *task, bucket_map.zero, firsts, found, positives, negatives, codes
            )

        threads.map(write, ranges)
    return found.view(np.float64), positives, negatives, codes


@compiled
def _scatter_pairs(
    labels: Labels, scores: Scores, offset: int, bucket_map: BucketMap, places: Counts, keys: Keys, numbers: Numbers
) -> None:
    """Write each row's key and number to the next place of its bucket."""
    for i in range(scores.size):
        bucket = np.uint64(bucket_of(scores[i], bucket_map))
        bits = np.float64(scores[i] + 0.0).view(np.uint64)
        ordered = bits ^ (_ZERO - (bits >> _SIGN_SHIFT))
        place = np.uint64(places[bucket])
        keys[place] = (ordered << _ONE) | (np.uint64(labels[i]) & _ONE)
        numbers[place] = np.uint32(offset + i)
        places[bucket] += 1


@compiled
def _sort_pairs(keys: Keys, numbers: Numbers, starts: Counts, first: int, last: int, distinct: Counts) -> None:
    """Sort the keys of some buckets in place, their row numbers along, and count the distinct scores of each."""
    largest = largest_bucket(starts, first, last)
    spare, spare_numbers = np.empty(largest, np.uint64), np.empty(largest, np.uint32)
    digits = np.empty(1 << DIGIT_BITS, np.int64)
    for bucket in range(first, last):
        rows = keys[starts[bucket] : starts[bucket + 1]]
        size = rows.size
        if size == 0:
            continue
        row_numbers = numbers[starts[bucket] : starts[bucket + 1]]
        if _sort_bucket_pairs(rows, row_numbers, spare[:size], spare_numbers[:size], digits):
            rows[:] = spare[:size]
            row_numbers[:] = spare_numbers[:size]
        distinct[bucket] = 1
        for i in range(1, size):
            distinct[bucket] += np.int64(rows[i] >> _ONE != rows[i - 1] >> _ONE)


@compiled
def _sort_bucket_pairs(keys: Keys, numbers: Numbers, spare: Keys, spare_numbers: Numbers, digits: Counts) -> bool:
    """Sort as `confide.kernels.buckets.sort_bucket` does, with row numbers; True if the result is in ``spare``."""
    size = keys.size
    if size <= INSERTION_ROWS:
        _insertion_sort_pairs(keys, numbers, size * size)
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
    leading = min(width, bit_length(np.uint64(size)) + 6)
    moved = _radix_sort_pairs(keys, numbers, spare, spare_numbers, low, width - leading, width, digits)
    if leading == width:
        return moved
    if moved:
        if _insertion_sort_pairs(spare, spare_numbers, 4 * size):
            return True
        return not _radix_sort_pairs(spare, spare_numbers, keys, numbers, low, 0, width, digits)
    if _insertion_sort_pairs(keys, numbers, 4 * size):
        return False
    return _radix_sort_pairs(keys, numbers, spare, spare_numbers, low, 0, width, digits)


@compiled
def _insertion_sort_pairs(keys: Keys, numbers: Numbers, budget: int) -> bool:
    """Sort by score; False, with the pairs in some order, once more than ``budget`` moves were made."""
    moves = 0
    for i in range(1, keys.size):
        key = keys[i]
        bound = key | _ONE
        if keys[i - 1] <= bound:
            continue
        number = numbers[i]
        j = i
        while j > 0 and keys[j - 1] > bound:
            keys[j] = keys[j - 1]
            numbers[j] = numbers[j - 1]
            j -= 1
        keys[j] = key
        numbers[j] = number
        moves += i - j
        if moves > budget:
            return False
    return True


@compiled
def _radix_sort_pairs(
    keys: Keys,
    numbers: Numbers,
    spare: Keys,
    spare_numbers: Numbers,
    low: np.uint64,
    first_bit: int,
    last_bit: int,
    digits: Counts,
) -> bool:
    """Sort by bits ``first_bit`` to ``last_bit`` of the score less ``low``; True if the result is in ``spare``."""
    most_bits = min(DIGIT_BITS, max(6, bit_length(np.uint64(keys.size)) - 1))
    passes = (last_bit - first_bit + most_bits - 1) // most_bits
    digit_bits = (last_bit - first_bit + passes - 1) // passes
    mask = np.uint64((1 << digit_bits) - 1)
    shift = np.uint64(first_bit)
    moved = False
    for _ in range(passes):
        source, target = (spare, keys) if moved else (keys, spare)
        source_numbers, target_numbers = (spare_numbers, numbers) if moved else (numbers, spare_numbers)
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
            where = np.uint64(digits[digit])
            target[where] = key
            target_numbers[where] = source_numbers[i]
            digits[digit] += 1
        moved = not moved
        shift += np.uint64(digit_bits)
    return moved


@compiled
def _write_codes(
    keys: Keys,
    numbers: Numbers,
    starts: Counts,
    before: Counts,
    first: int,
    last: int,
    zero: int,
    firsts: Counts,
    scores: Keys,
    positives: Counts,
    negatives: Counts,
    codes: Codes,
) -> None:
    """Write the distinct scores of some sorted buckets with their counts, and the two numbers of each row."""
    n = before[-1]
    for bucket in range(first, last):
        flip = ~_ZERO if bucket < zero else _ZERO
        place = firsts[bucket]
        i = starts[bucket]
        tp = before[bucket]
        while i < starts[bucket + 1]:
            score = keys[i] >> _ONE
            p = np.int64(0)
            start = i
            while i < starts[bucket + 1] and keys[i] >> _ONE == score:
                p += np.int64(keys[i] & _ONE)
                i += 1
            below = 2 * (start - tp) + (i - start - p)
            above = 2 * (n - tp - p) + p
            for j in range(start, i):
                number = numbers[j]
                codes[number, 0] = place
                codes[number, 1] = below if keys[j] & _ONE else above
            tp += p
            scores[place] = score ^ flip
            positives[place] = p
            negatives[place] = i - start - p
            place += 1
