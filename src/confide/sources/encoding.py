"""Encodings: public rules that make binary features, and rows encoded by them.

A row is encoded by itself: which features it has depends on its own values and on the rule, never on other rows. So two
datasets that differ in one row still do when they are encoded, and a new row is encoded as those before it were.

Columns of CSV and JSON are read as they are written, so that no row changes how another is read: a column of numbers
with one word in it would otherwise turn to text, and "007" next to it from 7 to "007".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from confide.errors import ColumnError, DataError, ParameterError
from confide.features import FeatureRows, Integers
from confide.sources.engine_tables import value_batches
from confide.sources.feature_columns import ColumnRule, Cuts, Flag, OneOf, complement, parse_column, spelling
from confide.sources.fit_rows import ExactColumn, check_type
from confide.sources.private_labels import PrivateLabels
from confide.sources.tables import as_table, discreet
from confide.sources.words import BITS, HASH, HashedWords, Vocabulary, named_places, read_stop_words, read_vocabulary

SCHEMA = "confide.encoding/1"

WordRule: TypeAlias = HashedWords | Vocabulary
Rule: TypeAlias = WordRule | ColumnRule

_KINDS: dict[str, Any] = {rule.kind: rule for rule in (HashedWords, Vocabulary, Flag, Cuts, OneOf)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """Rules for columns, one for each; their features are numbered one after the other.

    >>> encoding = Encoding.parse(columns=["smoker", "age=40,50", "sex=f|m"])
    >>> encoding.names(range(encoding.width))
    ('smoker', 'age<40', '40<=age<50', 'age>=50', 'sex=f', 'sex=m')
    >>> encoding.encoded({"smoker": [1], "age": ["43.5"], "sex": [None]}).features
    array([0, 2])
    """

    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.rules, tuple) or not self.rules:
            raise ParameterError("there are no features; give a column of text, or columns of features")
        if not all(isinstance(rule, tuple(_KINDS.values())) for rule in self.rules):
            raise ParameterError("rules must be a tuple of rules; use Encoding.parse to make them")
        _refuse_twice(self.columns, "column {!r} has two rules; give one, with all its points or values")
        _refuse_twice(_spelt_names(self.rules), "two features would have the name {!r}; give a column another name")

    @classmethod
    def parse(
        cls,
        *,
        text: str | None = None,
        bits: int | None = None,
        leave_out: str | Path | None = None,
        vocabulary: str | Path | None = None,
        columns: Sequence[str] = (),
    ) -> Encoding:
        """Read what a user says: a column of text, columns with rules (see `parse_column`), or both.

        The words of `text` are hashed to 2**bits places (14 bits by default), those in the file `leave_out` aside, or
        looked up in the file `vocabulary`. Both files have one word a line and must be public: words collected from the
        private rows would reveal them, and so would cut points or values that were chosen from the data.
        """
        rules: list[Rule] = [] if text is None else [_word_rule(text, bits, leave_out, vocabulary)]
        for name, given in (("bits", bits), ("leave_out", leave_out), ("vocabulary", vocabulary)):
            if text is None and given is not None:
                raise ParameterError(f"{name} is about words, and there is no column of text; give its name too")
        return cls(rules=(*rules, *map(parse_column, columns)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the encoding reads."""
        return tuple(rule.column for rule in self.rules)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns that must hold text."""
        return tuple(rule.column for rule in self.rules if isinstance(rule, HashedWords | Vocabulary))

    @property
    def width(self) -> int:
        """Number of features."""
        return sum(rule.width for rule in self.rules)

    @property
    def complements(self) -> tuple[int, ...]:
        """Features that say the same as another feature of their column, which has two: sex=m beside sex=f.

        >>> Encoding.parse(columns=["smoker", "age=65", "sex=f|m"]).complements
        (1, 4)
        """
        columns = [
            (start, rule)
            for rule, start in zip(self.rules, self._starts(), strict=True)
            if not isinstance(rule, HashedWords | Vocabulary)
        ]
        return tuple(start + other for start, rule in columns if (other := complement(rule)) is not None)

    def name_of(self, feature: int) -> str:
        """Name a feature by its rule alone, which says nothing about the data."""
        if not 0 <= feature < self.width:
            raise ParameterError(f"there is no such feature; give a number from 0 to {self.width - 1}")
        starts = self._starts()
        place = bisect_right(starts, feature) - 1
        return self.rules[place].name_of(int(feature) - starts[place])

    def word_names(self, words: Iterable[str]) -> dict[str, str]:
        """Return names with words for the places of hashed words, by their names without."""
        hashed = [rule for rule in self.rules if isinstance(rule, HashedWords)]
        if not hashed:
            raise ParameterError("`dictionary` names the places of hashed words, and no words are hashed; leave it out")
        return named_places(hashed[0], words)

    def names(self, features: Iterable[int]) -> tuple[str, ...]:
        """Name several features."""
        return tuple(self.name_of(feature) for feature in features)

    def _starts(self) -> list[int]:
        return list(accumulate((rule.width for rule in self.rules[:-1]), initial=0))

    def encoded(self, values: Mapping[str, Sequence[Any]]) -> FeatureRows:
        """Encode rows given as columns of Python values; no row is labelled positive."""
        lengths, features = RowEncoder(self)(values)
        starts = np.concatenate(([0], np.cumsum(lengths)))
        return FeatureRows(starts, features, np.zeros(lengths.size, dtype=np.bool_), self.width)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, to be kept beside what was learnt."""
        return {"schema": SCHEMA, "rules": [rule.to_dict() for rule in self.rules]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Encoding:
        """Read what `to_dict` returned."""
        if not isinstance(data, Mapping) or data.get("schema") != SCHEMA or not isinstance(data.get("rules"), list):
            raise ParameterError(f"this is not an encoding of rows; give one that confide wrote ({SCHEMA})")
        return cls(rules=tuple(map(_rule_from, data["rules"])))


class RowEncoder:
    """Encodes one batch of rows after another; it remembers words that it met, so make one for each table."""

    def __init__(self, encoding: Encoding) -> None:
        self._width = encoding.width
        starts = encoding._starts()
        self._parts = [(rule.column, start, rule.encoder()) for rule, start in zip(encoding.rules, starts, strict=True)]

    def __call__(self, values: Mapping[str, Sequence[Any]]) -> tuple[Integers, Integers]:
        """Return how many features each row has, and the features of all, ascending within each row."""
        sizes = {len(values[column]) for column, _, _ in self._parts}
        if len(sizes) > 1:
            raise ParameterError("the columns differ in length; give one value of each for every row")
        entries = []
        for column, start, encoder in self._parts:
            rows, features = encoder(values[column])
            entries.append(rows * self._width + (features + start))
        ordered = np.sort(np.concatenate(entries))  # ten times as fast as np.unique here
        rows, features = np.divmod(ordered[np.diff(ordered, prepend=-1) > 0], self._width)
        return np.bincount(rows, minlength=sizes.pop()).astype(np.int64), features


def _word_rule(text: str, bits: int | None, leave_out: str | Path | None, vocabulary: str | Path | None) -> WordRule:
    if vocabulary is None:
        left_out = () if leave_out is None else read_stop_words(leave_out)
        return HashedWords(column=text, bits=BITS if bits is None else bits, leave_out=left_out)
    for name, given in (("bits", bits), ("leave_out", leave_out)):
        if given is not None:
            raise ParameterError(f"{name} is for hashed words; remove it, or remove the vocabulary")
    return Vocabulary(column=text, words=read_vocabulary(vocabulary))


def _rule_from(data: object) -> Rule:
    """Read a rule, refusing one of an unknown kind, or of one that changed since."""
    fields = dict(data) if isinstance(data, Mapping) else {}
    kind = _KINDS.get(str(fields.pop("kind", None)))
    if kind is None or (kind is HashedWords and fields.pop("hash", None) != HASH):
        raise ParameterError("this encoding has a rule that is not known; use the version of confide that wrote it")
    try:
        rule: Rule = kind(
            **{name: tuple(field) if isinstance(field, list) else field for name, field in fields.items()}
        )
        return rule
    except TypeError:
        raise ParameterError("this encoding has a rule that is not complete; give one that confide wrote") from None


def _spelt_names(rules: Sequence[Rule]) -> Iterator[str]:
    """Return all names of features; for hashed words only the numbers that other features use as names."""
    others = [rule.name_of(i) for rule in rules if not isinstance(rule, HashedWords) for i in range(rule.width)]
    yield from others
    for rule in rules:
        if isinstance(rule, HashedWords):
            yield rule.name_of(0)
            yield from (name for name in others if re.fullmatch("#[0-9]+", name))


def _refuse_twice(names: Iterable[str], message: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ParameterError(message.format(name))
        seen.add(name)


KEY_RULE = 4
"""Version of the rule of `row_keys`; a new rule gets a higher number."""

_BATCH_ROWS = 1 << 15


def read_rows(source: Any, encoding: Encoding, *, label: str, positive: object = None) -> FeatureRows:
    """Read a table, the file at a path or lists of values by column, as rows with labels (see `private_labels`).

    A single class is no error, as the absence of a class is private.
    """
    if label in encoding.columns:
        raise ParameterError(f"column {label!r} is the label; remove it from the features")
    encoder, labels = RowEncoder(encoding), PrivateLabels(label, positive)
    parts = []
    with discreet(source, private=True):
        for batch in _batches(source, (label, *encoding.columns), encoding.text_columns):
            labels.add(batch[label])
            parts.append(encoder(batch))
        if not parts:
            raise DataError("the table has no rows; check the file or the query that made it")
    return _together(parts, labels.decided(), encoding.width)


def read_features(source: Any, encoding: Encoding) -> FeatureRows:
    """Read a table, or the file at a path, as rows whose labels are not known: all False. None is no error."""
    encoder = RowEncoder(encoding)
    with discreet(source, private=True):
        parts = [encoder(batch) for batch in _batches(source, encoding.columns, encoding.text_columns)]
    return _together(parts, None, encoding.width)


def row_keys(source: Any, columns: Sequence[str], *, beside: Sequence[str] = ()) -> NDArray[np.uint64]:
    """A public hash of each row's values in some columns, by which rows can be put into parts.

    Rows with the same values have the same key, whatever the other columns and rows are: name the column that tells
    persons apart to keep a person's rows together. `beside` names columns that were found there before.
    """
    if not columns:
        raise ParameterError("there is no column to tell rows by; give at least one")
    result = [np.empty(0, dtype=np.uint64)]
    with discreet(source, private=True):
        for batch in _batches(source, columns, (), beside):
            rows = zip(*(batch[column] for column in columns), strict=True)
            result.append(np.fromiter(map(_key, rows), dtype=np.uint64))
    return np.concatenate(result)


def _key(values: tuple[object, ...]) -> int:
    """Hash values with their lengths, so that no two rows read alike."""
    state = blake2b(digest_size=8)
    for value in values:
        spelled = spelling(value)
        written = b"" if spelled is None else spelled.encode("utf-8", "surrogatepass")
        state.update(len(written).to_bytes(8, "big") + written)
    return int.from_bytes(state.digest(), "big")


def _batches(
    source: Any, columns: Sequence[str], texts: Sequence[str], beside: Sequence[str] = ()
) -> Iterator[dict[str, list[Any]]]:
    """Yield the columns of one batch of rows after another, as Python values."""
    if isinstance(source, Mapping):
        ColumnError.require([*columns, *beside], list(source))
        for start in range(0, len(source[columns[0]]), _BATCH_ROWS):
            yield {name: source[name][start : start + _BATCH_ROWS] for name in columns}
        return
    table = as_table(source, as_written=True, columns=[*columns, *beside])
    ColumnError.require([*columns, *beside], list(table.columns))
    for column in columns:
        check_type(table[column], text=column in texts)
    exact = {name: ExactColumn.of(table[name], compared=False) for name in dict.fromkeys(columns)}
    rows = table.select(**{name: column.code for name, column in exact.items()})
    for batch in value_batches(rows, _BATCH_ROWS):
        yield {name: column.values(batch[name]) for name, column in exact.items()}


def _together(parts: Sequence[tuple[Integers, Integers]], labels: NDArray[np.bool_] | None, width: int) -> FeatureRows:
    none = np.zeros(0, dtype=np.int64)
    lengths = np.concatenate([none, *(lengths for lengths, _ in parts)])
    features = np.concatenate([none, *(features for _, features in parts)])
    starts = np.concatenate(([0], np.cumsum(lengths)))
    return FeatureRows(starts, features, np.zeros(lengths.size, dtype=np.bool_) if labels is None else labels, width)
