"""Few distinct scores: count the positives and negatives of each in a hash table."""

from __future__ import annotations

import numpy as np

from confide.kernels.threads import Counts, Keys, Labels, Scores, Threads, compiled

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
