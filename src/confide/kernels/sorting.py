"""Sort the keys of one bucket, inside the cache."""

from __future__ import annotations

import numpy as np

from confide.kernels.threads import Counts, Keys, compiled

# Compiled into the kernels.
INSERTION_ROWS = 40
DIGIT_BITS = 12
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


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
