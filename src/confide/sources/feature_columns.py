"""Columns as binary features, by a rule that the user gives: as they are, cut at points, or one of a list of values.

Points and values are public: they must come from knowledge, not from the private rows. A missing value (empty, null,
NaN) sets none of the column's features, and neither does a value that the rule does not know: an error would reveal
that a row has it. With `CONFIDE_SHOW_ERRORS=1` it is an error, for the data holder (see `details`).
"""

from __future__ import annotations

import math
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np

from confide.errors import DataError, ParameterError
from confide.sources.error_details import shows_errors
from confide.sources.labels import is_missing
from confide.sources.words import Encoder, Entries, check_column

_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_EXPONENT = re.compile(r"-?[1-9](\.[0-9]+)?e[+-][0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf|nan", re.IGNORECASE)
_REMEMBERED = 1 << 18
_LONGEST = 400
"""Digits of a decimal that is written without an exponent, and the largest size of its exponent."""
_SHORT_BITS = 1 << 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A column of 0 and 1, or false and true, as it is."""

    kind: ClassVar[str] = "flag"

    column: str

    def __post_init__(self) -> None:
        check_column(self.column)

    @property
    def width(self) -> int:
        """Number of features: one."""
        return 1

    def name_of(self, feature: int) -> str:
        """Return the column's name."""
        return self.column

    def feature_of(self, value: object) -> int | None:
        """Return 0 for 1 and true, and None for 0, false and a missing value; refuse others."""
        spelled = spelling(value)
        if spelled not in (None, "0", "1", "false", "true"):
            raise DataError(
                f"column {self.column!r} holds other values than 0/1 or true/false; correct them, or give the public "
                f"list of its values ({self.column}=yes|no) or points to cut at ({self.column}=40,50)"
            )
        return 0 if spelled in ("1", "true") else None

    def encoder(self) -> Encoder:
        """Return the encoder from values to features."""
        return _ColumnEncoder(self.feature_of)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `Encoding.from_dict` reads."""
        return {"kind": self.kind, "column": self.column}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """A column of numbers, cut at ascending public points into intervals, each a feature.

    The first holds what is below the first point, the last what is at or above the last; a point belongs to the
    interval that it begins.
    """

    kind: ClassVar[str] = "cuts"

    column: str
    points: tuple[float, ...]

    def __post_init__(self) -> None:
        check_column(self.column)
        if not isinstance(self.points, tuple) or not self.points or not all(map(_is_point, self.points)):
            raise ParameterError(f"column {self.column!r}: points to cut at must be finite numbers; give at least one")
        object.__setattr__(self, "points", tuple(float(point) for point in self.points))
        if any(left >= right for left, right in zip(self.points, self.points[1:], strict=False)):
            raise ParameterError(f"column {self.column!r}: points to cut at must ascend; give each once, in order")

    @property
    def width(self) -> int:
        """Number of features: one more than the cut points."""
        return len(self.points) + 1

    def name_of(self, feature: int) -> str:
        """Return the interval in words, as in 40<=age<50."""
        if feature == 0:
            return f"{self.column}<{_shown(self.points[0])}"
        if feature == len(self.points):
            return f"{self.column}>={_shown(self.points[-1])}"
        return f"{_shown(self.points[feature - 1])}<={self.column}<{_shown(self.points[feature])}"

    def feature_of(self, value: object) -> int | None:
        """Return the interval that a number is in; refuse text that is no number."""
        number = self._number(value)
        if isinstance(number, Decimal):  # the float 0.1 is a little above the decimal
            return bisect_right(self.points, number, key=lambda point: Decimal(repr(point)))
        return None if number is None else bisect_right(self.points, number)

    def _number(self, value: object) -> Any:
        if is_missing(value):
            return None
        is_number = isinstance(value, int | float | Decimal | np.integer | np.floating)
        if is_number and not isinstance(value, np.timedelta64):  # NumPy takes a duration for an integer
            return value
        text = str(value).strip()
        if not text:
            return None
        if not _NUMBER.fullmatch(text):
            raise DataError(
                f"column {self.column!r} does not hold numbers alone; check that it is the right column, that missing "
                "values are left empty, and that decimals have a point"
            )
        number = float(text)
        return None if math.isnan(number) else number

    def encoder(self) -> Encoder:
        """Return the encoder from values to features."""
        return _ColumnEncoder(self.feature_of)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `Encoding.from_dict` reads."""
        return {"kind": self.kind, "column": self.column, "points": list(self.points)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """A column with a public list of values, each a feature; any other value sets none.

    Values are compared as written, letter case included, spaces around them aside; 1, 1.0 and "1" are one value, and so
    are true and "True".
    """

    kind: ClassVar[str] = "one-of"

    column: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        check_column(self.column)
        if not isinstance(self.values, tuple) or not self.values or not all(map(_is_value, self.values)):
            raise ParameterError(f"column {self.column!r}: values must be text that is not empty; give at least one")
        if len({spelling(value) for value in self.values}) < len(self.values):
            raise ParameterError(f"column {self.column!r}: two values are the same; give each once")

    @property
    def width(self) -> int:
        """Number of features: one for each value."""
        return len(self.values)

    def name_of(self, feature: int) -> str:
        """Name the value, as in sex=f."""
        return f"{self.column}={self.values[feature]}"

    def feature_of(self, value: object) -> int | None:
        """Return the number of a value in the list."""
        spelled = spelling(value)
        return next((number for number, listed in enumerate(self.values) if spelling(listed) == spelled), None)

    def encoder(self) -> Encoder:
        """Return the encoder from values to features."""
        places = {spelling(value): number for number, value in enumerate(self.values)}
        return _ColumnEncoder(lambda value: places.get(spelling(value)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `Encoding.from_dict` reads."""
        return {"kind": self.kind, "column": self.column, "values": list(self.values)}


ColumnRule: TypeAlias = Flag | Cuts | OneOf


def complement(rule: ColumnRule) -> int | None:
    """Return the feature that says the same as the other one of a column with two: not the other.

    Of two values it is the second, of two intervals the lower; None for columns with another number of features. The
    rule alone decides, so this is public.

    >>> complement(parse_column("sex=f|m")), complement(parse_column("age=65")), complement(parse_column("age=40,65"))
    (1, 0, None)
    """
    if rule.width != 2:
        return None
    return 0 if isinstance(rule, Cuts) else 1


def parse_column(rule: str) -> ColumnRule:
    """Read a rule: `smoker` (as it is), `age=40,50,60` (cut at these points), `sex=f|m` (these values).

    A single value is written with a bar behind it, as in `ward=icu|`.

    >>> parse_column("age=40,50.5")
    Cuts(column='age', points=(40.0, 50.5))
    >>> parse_column("sex=f|m")
    OneOf(column='sex', values=('f', 'm'))
    """
    column, sign, given = (part.strip() for part in rule.partition("="))
    if not column:
        raise ParameterError(f"{rule!r}: the name of the column is missing; write for example age=40,50,60")
    if not sign:
        return Flag(column=column)
    try:
        return _listed(column, given)
    except ParameterError as error:
        raise ParameterError(f"{rule!r}: {error}") from None


def _listed(column: str, given: str) -> ColumnRule:
    if "|" in given:
        return OneOf(column=column, values=tuple(value.strip() for value in given.removesuffix("|").split("|")))
    texts = given.split(",")
    points = [_number_or_none(text.strip()) for text in texts]
    for text, point in zip(texts, points, strict=True):
        if point is None:
            raise ParameterError(
                f"{text.strip()!r} is not a number to cut at; use | between or after values that are names "
                f"({column}=a|b, {column}=a|)"
            )
    return Cuts(column=column, points=tuple(point for point in points if point is not None))


def spelling(value: object) -> str | None:
    """Return the normal spelling of a value: 1.0, "1" and "1.00" are "1", True and "TRUE" are "true"; None if missing.

    This one function decides which values of private rows are the same. It reads a value by itself, by its type:
    True is not 1, and a float32 is the number that it holds. Numbers in text keep leading zeros and exponents, which
    may be part of a code: "007" is not 7, and "1e5" not 100000. But "1e-05", which Python, R and pandas write for
    0.00001, is that number. Spaces around a text are left out.

    >>> [spelling(value) for value in (1.0, "1.00", True, "007", "1e5", "1e-05", None)]
    ['1', '1', 'true', '007', '1e5', '0.00001', None]
    """
    text = (value if type(value) is str else _written(value)).strip()
    if _EXPONENT.fullmatch(text) and repr(float(text)) == text:
        text = _shown(float(text))
    if _DECIMAL.fullmatch(text):
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text == "-0" else text
    return text.lower() if text.lower() in ("true", "false") else text or None


def _written(value: object) -> str:
    """Return a value as text; an empty text if it is missing."""
    if isinstance(value, str):
        return str.__str__(value)  # of an enumeration the value, not the name
    if is_missing(value):
        return ""
    if isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64):
        return _digits(int(value))
    if isinstance(value, Fraction):
        whole = value.denominator == 1
        return _digits(value.numerator) + ("" if whole else f"/{_digits(value.denominator)}")
    if isinstance(value, float | np.floating):
        return _shown(float(value)) if float(value) == value else np.format_float_scientific(value)
    if isinstance(value, Decimal):
        short = value.is_finite() and abs(value.adjusted()) <= _LONGEST and len(value.as_tuple().digits) <= _LONGEST
        return format(value, "f") if short else str(value)
    return repr(value) if isinstance(value, bytes) else str(value)


def _digits(number: int) -> str:
    """Return a whole number of any size in digits: Python's `str` refuses those of more than 4,300 digits."""
    return str(number) if number.bit_length() <= _SHORT_BITS else format(Decimal(number), "f")


def _shown(number: float) -> str:
    """A number without exponent where that is short, and without a point where it is whole."""
    if not math.isfinite(number) or number == 0:
        return "0" if number == 0 else str(number)
    text = repr(number)
    if "e" in text:
        return format(Decimal(text), "f") if 1e-9 < abs(number) < 1e21 else text
    return text.removesuffix(".0")


def _number_or_none(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _is_point(point: object) -> bool:
    return isinstance(point, int | float) and not isinstance(point, bool) and abs(point) <= sys.float_info.max


def _is_value(value: object) -> bool:
    return isinstance(value, str) and spelling(value) is not None


class _ColumnEncoder:
    """Encoder from values to entries; the meaning of each text is cached."""

    def __init__(self, feature_of: Callable[[object], int | None]) -> None:
        self._feature_of = feature_of
        self._met: dict[str, int] = {}

    def __call__(self, values: Sequence[Any]) -> Entries:
        features = np.fromiter(map(self._feature, values), dtype=np.int64, count=len(values))
        rows = np.flatnonzero(features >= 0)
        return rows, features[rows]

    def _feature(self, value: object) -> int:
        if type(value) is not str:  # a type of its own may take two texts for one
            return self._looked_up(value)
        result = self._met.get(value)
        if result is None:
            if len(self._met) >= _REMEMBERED:
                self._met.clear()
            result = self._met[value] = self._looked_up(value)
        return result

    def _looked_up(self, value: object) -> int:
        try:
            result = self._feature_of(value)
        except DataError:
            if shows_errors():
                raise
            return -1
        return -1 if result is None else result
