"""Words of a text as binary features: hashed to numbered places, or looked up in a public vocabulary.

A text is made lower case, and its words are the runs of two or more letters, digits and underscores of any script
(`\\b\\w\\w+\\b`, as scikit-learn's `CountVectorizer` has it). Unicode defines what a letter is, so a later version of
Unicode may add letters. A feature is set if the word occurs at all, however often.

Which features there are must be public. Places that words are hashed to are: they are numbers, the same for every
dataset. A vocabulary is public only if it was not collected from the private rows, whose words it would give away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from confide.errors import DataError, ParameterError, UnreadableError, UsageError
from confide.features import Integers
from confide.sources.error_details import shows_errors
from confide.sources.labels import is_missing

Entries: TypeAlias = tuple[Integers, Integers]
"""Places of rows, and beside each a feature that the row has; in any order, perhaps repeated."""

Encoder: TypeAlias = Callable[[Sequence[Any]], Entries]
"""Encoder from the values of a column to entries. It keeps a cache: make a new one for each table."""

HASH = "blake2b-64"
BITS = 14
MOST_BITS = 24

_WORD = re.compile(r"\b\w\w+\b")
_LISTED = re.compile(r"[\w'\u2019.-]+")  # a word as lists of stop words have it: don't, e.g., well-known
_REMEMBERED = 1 << 20
_WORDS_SHOWN = 3


def words_of(text: str) -> list[str]:
    """Return the words of a text in their order.

    >>> words_of("Don't panic: a GÉANT_42!")
    ['don', 'panic', 'géant_42']
    """
    return _WORD.findall(text.lower())


def place_of(word: str, bits: int = BITS) -> int:
    """Hash a word to a place: the lowest bits of the 8-byte BLAKE2b of its UTF-8, read as a big-endian number.

    >>> place_of("cancer", 16)
    51458
    """
    return int.from_bytes(blake2b(word.encode("utf-8"), digest_size=8).digest(), "big") & ((1 << bits) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedWords:
    """Words of a column of text, hashed to 2**bits places; those in `leave_out` set no feature.

    Words that share a place cannot be told apart. `leave_out` must be public: a list of common words, for example.
    """

    kind: ClassVar[str] = "hashed-words"

    column: str
    bits: int = BITS
    leave_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_column(self.column)
        if isinstance(self.bits, bool) or not isinstance(self.bits, int) or not 1 <= self.bits <= MOST_BITS:
            raise ParameterError(
                f"bits must be a whole number from 1 to {MOST_BITS}, as words are hashed to 2**bits places; "
                f"use {BITS} if in doubt"
            )
        _check_words(self.leave_out, "leave_out")

    @property
    def width(self) -> int:
        """Number of features."""
        return 1 << self.bits

    def name_of(self, feature: int) -> str:
        """Name a feature by its number, as many words may share it."""
        return f"#{feature}"

    def encoder(self) -> Encoder:
        """Return the encoder from texts to the places of their words."""
        return _WordEncoder(self.column, _Places(self.bits, self.leave_out))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `Encoding.from_dict` reads."""
        return {
            "kind": self.kind,
            "column": self.column,
            "hash": HASH,
            "bits": self.bits,
            "leave_out": list(self.leave_out),
        }


def named_places(hashed: HashedWords, words: Iterable[str]) -> dict[str, str]:
    """Name the places of hashed words by public words that are hashed to them, and by their numbers.

    The first words of the list come first, so a list by frequency names a place by its likeliest word. Words that the
    list lacks may share the place.

    >>> named_places(HashedWords(column="message", bits=2), ["free", "prize", "win", "offer", "call"])
    {'#3': 'free, prize, call (#3)', '#1': 'win, offer (#1)'}
    """
    found: dict[int, list[str]] = {}
    left_out = frozenset(hashed.leave_out)
    for word in words:
        if word not in left_out:
            found.setdefault(place_of(word, hashed.bits), []).append(word)
    return {hashed.name_of(place): f"{_some(there)} ({hashed.name_of(place)})" for place, there in found.items()}


def _some(words: Sequence[str]) -> str:
    more = len(words) - _WORDS_SHOWN
    return ", ".join([*words[:_WORDS_SHOWN], *([f"{more} more"] if more > 0 else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Words of a column of text that are in a public vocabulary; others set no feature."""

    kind: ClassVar[str] = "vocabulary"

    column: str
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        check_column(self.column)
        _check_words(self.words, "words")
        if not self.words:
            raise ParameterError("the vocabulary has no words; give at least one")

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.words)

    def name_of(self, feature: int) -> str:
        """Return the word itself."""
        return self.words[feature]

    def encoder(self) -> Encoder:
        """Return the encoder from texts to the numbers of their words in the vocabulary."""
        return _WordEncoder(self.column, _Numbers((word, number) for number, word in enumerate(self.words)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `Encoding.from_dict` reads."""
        return {"kind": self.kind, "column": self.column, "words": list(self.words)}


def read_vocabulary(path: str | Path) -> tuple[str, ...]:
    """Read a public vocabulary: one word a line, in lower case or not; words that come again are left out."""
    result: dict[str, None] = {}
    for number, line in enumerate(_lines(path), start=1):
        words = words_of(line)
        if line.strip() and words != [line.strip().lower()]:
            raise UnreadableError(
                f"{path}: line {number} is not one word of two or more letters or digits, and no other is ever found "
                "in a text; give one word a line"
            )
        result.update(dict.fromkeys(words))
    if not result:
        raise UnreadableError(f"{path} has no words; give one word a line")
    return tuple(result)


def read_stop_words(path: str | Path) -> tuple[str, ...]:
    """Read a public list of words to leave out, one a line; of "don't" that is "don", as texts are read the same.

    Tables are refused by their form: a refusal of private rows by comparison would confirm a guess of them.
    """
    lines = _lines(path)
    for number, line in enumerate(lines, start=1):
        if line.strip() and not _LISTED.fullmatch(line.strip()):
            raise UnreadableError(f"{path}: line {number} is not one word; give one word a line")
    result = dict.fromkeys(word for line in lines for word in words_of(line))
    if not result:
        raise UnreadableError(f"{path} has no words; give one word a line")
    return tuple(result)


def _lines(path: str | Path) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UnreadableError(f"{path} is not text encoded as UTF-8; give one word a line") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({type(error).__name__}); check the path") from None


def check_column(column: object) -> None:
    """Refuse what cannot be the name of a column."""
    if not isinstance(column, str) or not column:
        raise ParameterError("the name of a column is missing; give the name that the file has")


def _check_words(words: Iterable[object], name: str) -> None:
    if not isinstance(words, tuple) or not all(isinstance(word, str) and words_of(word) == [word] for word in words):
        raise ParameterError(f"{name} must be a tuple of words in lower case, each of two or more letters or digits")
    if len(set(words)) < len(words):
        raise ParameterError(f"{name} must hold each word once; remove those that come again")


class _Places(dict[str, int]):
    """Place of each word seen so far; -1 for words to leave out."""

    def __init__(self, bits: int, leave_out: Iterable[str]) -> None:
        super().__init__()
        self._bits = bits
        self._left_out = frozenset(leave_out)

    def __missing__(self, word: str) -> int:
        if len(self) >= _REMEMBERED:
            self.clear()
        result = self[word] = -1 if word in self._left_out else place_of(word, self._bits)
        return result


class _Numbers(dict[str, int]):
    """Number of each word of a vocabulary; -1 for other words."""

    def __missing__(self, word: str) -> int:
        return -1


class _WordEncoder:
    """Encoder from texts to entries."""

    def __init__(self, column: str, numbers: dict[str, int]) -> None:
        self._column = column
        self._number = numbers.__getitem__

    def __call__(self, texts: Sequence[Any]) -> Entries:
        lengths: list[int] = []
        result: list[int] = []
        for text in texts:
            words = words_of(text) if isinstance(text, str) else self._none(text)
            lengths.append(len(words))
            result.extend(map(self._number, words))
        rows = np.repeat(np.arange(len(texts), dtype=np.int64), lengths)
        features = np.array(result, dtype=np.int64)
        met = features >= 0
        return rows[met], features[met]

    def _none(self, value: object) -> list[str]:
        if is_missing(value) or not shows_errors():
            return []
        raise DataError(f"column {self._column!r} does not hold text alone; check that it is the right column")
