"""Ids of a template as an index: built once, it finds the place of every id of a file.

Texts are bytes one behind the other, with the place where each begins (Arrow's layout). They are read in words of
eight bytes, all texts at once. The hash table holds the template's ids alone, and its multipliers are random. So ids
of a file cannot lengthen its probes, whoever chose them.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

_WORD = 8
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(_WORD + 1)], dtype=np.uint64)
_HALF = np.uint64(32)
_FREE = -1
_SPARSE = 4
"""Slots of the hash table for each id, at least."""


class IdIndex:
    """Places of distinct ids. Building one takes far longer than a file of scores does, so keep it.

    >>> import pyarrow
    >>> IdIndex(["a", "b"]).places(pyarrow.array(["b", "?", "a"])).tolist()
    [1, -1, 0]
    """

    def __init__(self, ids: Sequence[str]) -> None:
        import pyarrow as pa

        self.ids = tuple(ids)
        self.array = pa.array(self.ids, type=pa.large_string())
        self._texts = _Texts.of(self.array)
        self._words = int(-(-self._texts.lengths.max(initial=0) // _WORD))
        while True:
            self._factors = [np.uint64(secrets.randbits(64) | 1) for _ in range(self._words + 2)]
            self._hashes = self._hash(self._texts)
            if np.unique(self._hashes).size == len(self.ids):
                break
        bits = max(4, (_SPARSE * len(self.ids)).bit_length())
        self._shift, self._last = np.uint64(64 - bits), (1 << bits) - 1
        self._slots = self._filled()

    def __len__(self) -> int:
        return len(self.ids)

    def places(self, ids: Any) -> Integers:
        """Return the place of each id of a PyArrow array of text; -1 for an id that is not known, or missing.

        The array may be encoded by a dictionary, whose texts are then looked up once each.
        """
        import pyarrow as pa

        if pa.types.is_dictionary(ids.type):
            known = np.append(self.places(ids.dictionary), -1)
            found: Integers = known[ids.indices.fill_null(known.size - 1).to_numpy(zero_copy_only=False)]
            return found
        texts = ids.cast(pa.large_string()).fill_null("")
        if texts.equals(self.array):
            return np.arange(len(self), dtype=np.int64)
        return self._look_up(_Texts.of(texts))

    def _hash(self, texts: _Texts) -> Words:
        """Return 64 bits for each text; those of a text that is longer than all ids are of no use."""
        hashes = texts.lengths.astype(np.uint64) * self._factors[0]
        for place in range(self._words):
            hashes += texts.word(place) * self._factors[place + 1]
            hashes ^= hashes >> _HALF
        hashes *= self._factors[-1]
        hashes ^= hashes >> _HALF
        return hashes

    def _filled(self) -> NDArray[np.int32]:
        """Return the hash table: the place of an id in each slot that is taken, else -1."""
        slots = np.full(self._last + 1, _FREE, dtype=np.int32)
        left = np.arange(len(self), dtype=np.int32)
        at = (self._hashes >> self._shift).astype(np.int64)
        while left.size:
            free = slots[at] == _FREE
            slots[at[free]] = left[free]  # of several ids one gets the slot
            rest = slots[at] != left
            left, at = left[rest], (at[rest] + 1) & self._last
        return slots

    def _look_up(self, texts: _Texts) -> Integers:
        hashes = self._hash(texts)
        found = np.full(hashes.size, -1, dtype=np.int64)
        left = np.arange(hashes.size)
        at = (hashes >> self._shift).astype(np.int64)
        while left.size:
            candidates = self._slots[at]
            taken = candidates != _FREE
            same = taken & (self._hashes[candidates] == hashes[left]) if len(self) else taken
            found[left[same]] = candidates[same]
            rest = taken & ~same
            left, at = left[rest], (at[rest] + 1) & self._last
        return self._compared(texts, found)

    def _compared(self, texts: _Texts, found: Integers) -> Integers:
        """Compare texts with the ids at their places, as different texts may have one hash."""
        rows = np.flatnonzero(found >= 0)
        mine, theirs = self._texts.at(found[rows]), texts.at(rows)
        same = mine.lengths == theirs.lengths
        for place in range(self._words):
            same &= mine.word(place) == theirs.word(place)
        found[rows[~same]] = -1
        return found


@dataclass(frozen=True)
class _Texts:
    """Texts: `eights` has the eight bytes from every place on, `begins` and `lengths` belong to the texts."""

    eights: Words
    begins: Integers
    lengths: Integers

    @classmethod
    def of(cls, texts: Any) -> _Texts:
        """Return the texts of a PyArrow array of large strings."""
        _, starts, data = texts.buffers()
        places = np.frombuffer(starts, dtype=np.int64, count=len(texts) + 1, offset=8 * texts.offset)
        size = 0 if data is None else int(places[-1])
        padded = np.zeros(size + _WORD, dtype=np.uint8)
        if size:
            padded[:size] = np.frombuffer(data, dtype=np.uint8, count=size)
        eights: Words = np.ndarray((size + 1,), np.uint64, padded, strides=(1,))  # each begins a byte after the last
        return cls(eights, places[:-1], np.diff(places))

    def at(self, rows: NDArray[np.intp]) -> _Texts:
        """Return some of the texts."""
        return _Texts(self.eights, self.begins[rows], self.lengths[rows])

    def word(self, place: int) -> Words:
        """Return eight bytes of each text, filled with zeros behind its end."""
        left = np.clip(self.lengths - _WORD * place, 0, _WORD)
        begins = np.minimum(self.begins + _WORD * place, self.eights.size - 1)
        words: Words = self.eights[begins] & _MASKS[left]
        return words
