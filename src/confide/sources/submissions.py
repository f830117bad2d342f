"""Submitted files of scores, read into the order of a template; and scores in memory written as one.

Texts are bytes one behind the other, with the place where each begins (Arrow's layout). They are read in words of
eight bytes, all texts at once. The hash table holds the template's ids alone, and its multipliers are random. So ids
of a file cannot lengthen its probes, whoever chose them.

Only the two columns that are needed are decoded, in one thread. The size of the file and the number of its rows and
columns are checked first. A decoder may still need much time and memory for a small file: those of strangers are read
by `score_process`.
"""

from __future__ import annotations

import csv
import io
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import ParameterError, ScoreError, SubmissionError, SubmissionProblem, UnreadableError, UsageError
from confide.sources.frames import frame_columns, is_frame
from confide.sources.submission_rows import (
    AlignedScores,
    ProblemCode,
    ScoreLimits,
    align,
    csv_rows,
    own_parquet_rows,
    parquet_rows,
)

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

    >>> IdIndex(["a", "b"]).places(["b", "?", "a"]).tolist()
    [1, -1, 0]
    """

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = tuple(ids)
        self._texts = _Texts.of(self.ids)
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
        """Return the place of each id of a sequence or a PyArrow array of text; -1 for one not known, or missing.

        The array may be encoded by a dictionary, whose texts are then looked up once each.
        """
        if isinstance(ids, Sequence):
            texts = _Texts.of(ids)
        else:
            import pyarrow as pa

            if pa.types.is_dictionary(ids.type):
                known = np.append(self.places(ids.dictionary), -1)
                found: Integers = known[ids.indices.fill_null(known.size - 1).to_numpy(zero_copy_only=False)]
                return found
            texts = _Texts.of_arrow(ids.cast(pa.large_string()).fill_null(""))
        return np.arange(len(self), dtype=np.int64) if texts.same(self._texts) else self._look_up(texts)

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
    def of(cls, texts: Sequence[str]) -> _Texts:
        """Return texts of Python."""
        written = [text.encode("utf-8", "surrogatepass") for text in texts]
        lengths = np.fromiter(map(len, written), dtype=np.int64, count=len(written))
        return cls._of_bytes(b"".join(written), np.concatenate([[0], np.cumsum(lengths)]))

    @classmethod
    def of_arrow(cls, texts: Any) -> _Texts:
        """Return the texts of a PyArrow array of large strings."""
        _, starts, data = texts.buffers()
        places = np.frombuffer(starts, dtype=np.int64, count=len(texts) + 1, offset=8 * texts.offset)
        return cls._of_bytes(b"" if data is None else data, places)

    @classmethod
    def _of_bytes(cls, data: Any, places: Integers) -> _Texts:
        size = int(places[-1])
        padded = np.zeros(size + _WORD, dtype=np.uint8)
        if size:
            padded[:size] = np.frombuffer(data, dtype=np.uint8, count=size)
        eights: Words = np.ndarray((size + 1,), np.uint64, padded, strides=(1,))  # each begins a byte after the last
        return cls(eights, places[:-1], np.diff(places))

    def same(self, other: _Texts) -> bool:
        """Return whether these are the same texts in the same order; False where they begin elsewhere in memory."""
        return (
            np.array_equal(self.begins, other.begins)
            and np.array_equal(self.lengths, other.lengths)
            and np.array_equal(self.eights[::_WORD], other.eights[::_WORD])
        )

    def at(self, rows: NDArray[np.intp]) -> _Texts:
        """Return some of the texts."""
        return _Texts(self.eights, self.begins[rows], self.lengths[rows])

    def word(self, place: int) -> Words:
        """Return eight bytes of each text, filled with zeros behind its end."""
        left = np.clip(self.lengths - _WORD * place, 0, _WORD)
        begins = np.minimum(self.begins + _WORD * place, self.eights.size - 1)
        words: Words = self.eights[begins] & _MASKS[left]
        return words


Kind = Literal["csv", "parquet"]

_GZIP = b"\x1f\x8b"

__all__ = ["IdIndex", "Kind", "ProblemCode", "ScoreLimits", "kind_of", "read_score_file", "read_scores"]


def read_scores(
    path: Path,
    kind: Kind,
    index: IdIndex,
    *,
    id_column: str = "id",
    score_column: str = "score",
    probabilities: bool = False,
    limits: ScoreLimits | None = None,
) -> FloatArray:
    """Return the scores of a file in the order of a template's ids.

    Other columns are ignored, and rows may be in any order. Ids are compared as text; whole numbers in Parquet are
    written as text. With `probabilities`, scores must lie in [0, 1]. Raises SubmissionError with everything that is
    wrong in the rows.
    """
    columns = (id_column, score_column)
    return read_score_file(path, kind, index, columns, probabilities=probabilities, limits=limits).scores


def read_score_file(
    file: Path | int,
    kind: Kind,
    index: IdIndex,
    columns: tuple[str, str],
    *,
    probabilities: bool = False,
    limits: ScoreLimits | None = None,
    own: bool = False,
) -> AlignedScores:
    """Read a file as `read_scores` does; also tell whether its rows are in the template's order.

    An open file may be given by its descriptor. With `own` it is a path of the caller's, not a stranger's, and PyArrow
    is not needed.
    """
    limits = limits or ScoreLimits()
    content = _content(file, limits)
    ids: Any
    try:
        if kind == "csv":
            ids, scores = csv_rows(content, columns, rows=len(index), limits=limits)
        elif own and isinstance(file, Path):
            ids, scores = own_parquet_rows(file, columns, rows=len(index), limits=limits)
        else:
            ids, scores = parquet_rows(content, columns, rows=len(index), limits=limits)
    except UnreadableError as error:
        problem, _, step = str(error).partition("; ")
        raise SubmissionError([SubmissionProblem(ProblemCode.UNREADABLE, problem, step)]) from None
    return align(
        index.places(ids),
        scores,
        ids=index.ids,
        given=lambda row: ids[row] if isinstance(ids, Sequence) else str(ids[row].as_py() or ""),
        probabilities=probabilities,
    )


def kind_of(path: Path) -> Kind:
    """Return the kind of a file by the ending of its name."""
    endings: dict[str, Kind] = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}
    ending = path.suffix.lower()
    if ending not in endings:
        raise UsageError(f"{path}: the ending must be .csv, .parquet or .pq; save the scores as one of them")
    return endings[ending]


def _content(file: Path | int, limits: ScoreLimits) -> bytes:
    """Read a file whole, and never more than is allowed."""
    try:
        with open(file, "rb") as stream:  # also takes a descriptor
            length = os.fstat(stream.fileno()).st_size  # reading without a length makes room for all that is allowed
            content = stream.read(min(length, limits.most_bytes) + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}); check the path") from None
    problem = None
    if len(content) > limits.most_bytes:
        problem = SubmissionProblem(
            ProblemCode.TOO_LARGE,
            f"the file has more than {limits.most_bytes:,} bytes",
            "keep the two columns of the template alone, or give Parquet",
        )
    elif content.startswith(_GZIP):
        problem = SubmissionProblem(ProblemCode.UNREADABLE, "the file is compressed", "give it unpacked, or as Parquet")
    if problem is not None:
        raise SubmissionError([problem])
    return content


def score_csv(scores: Any, *, id_column: str, score_column: str) -> bytes:
    r"""Write a dataframe, or a mapping from ids to scores, as CSV.

    Scores are written with all their digits, so that the reader gets the same floats.

    >>> score_csv({"p1": 0.1, "p2": 0.25}, id_column="id", score_column="risk")
    b'id,risk\r\np1,0.1\r\np2,0.25\r\n'
    """
    ids, values = _columns(scores, id_column, score_column)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow((id_column, score_column))
    writer.writerows(zip(map(_id, ids), map(_score, values), strict=True))
    try:
        return text.getvalue().encode("utf-8")
    except UnicodeEncodeError:
        raise ParameterError("an id has half of a character, which UTF-8 cannot hold; correct the ids") from None


def _columns(scores: Any, id_column: str, score_column: str) -> tuple[Iterable[Any], Iterable[Any]]:
    if isinstance(scores, Mapping):
        return scores.keys(), scores.values()
    if is_frame(scores):
        columns = frame_columns(scores, [id_column, score_column])
        return columns[id_column].to_list(), columns[score_column].to_list()
    raise ParameterError(
        "`scores` must be a file, a dataframe with the columns "
        f"{id_column!r} and {score_column!r}, or a mapping from ids to scores; got {type(scores).__name__}"
    )


def _id(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    raise ParameterError(f"ids must be text or whole numbers; got {type(value).__name__}. Convert the column to text")


def _score(value: object) -> str:
    if isinstance(value, int | float | Decimal | np.number | np.bool_):
        return repr(float(value))
    raise ScoreError("scores must be numbers, one for each row; remove or fill in what is missing")
