"""Guarantees: epsilon, delta, the neighbouring relation, the privacy unit, and the facts that are taken as public."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any, TypeAlias

from confide.errors import ParameterError
from confide.privacy.neighbours import Neighbours, price_factor
from confide.privacy.noise.reals import upper_exponential, upper_log

UNITS = ("row", "person")

LEAST_EPSILON, MOST_EPSILON = Fraction(1, 10**6), Fraction(10**6)
"""Limits of epsilon: below the first nothing useful is released, above the second nothing is protected."""

LEAST_DELTA = Fraction(1, 10**100)

_LONGEST = 100
_ENORMOUS = re.compile(r"[eE][+-]?[\d_]{4}")  # an exponent that would take for ever to write out
_STORED = re.compile(r"-?[0-9]{1,4000}(?:/[0-9]{1,4000})?")

Exact: TypeAlias = float | str | Decimal | Fraction
"""A parameter that is read exactly as it is written: 0.1 is one tenth, "1/3" a third."""


def exact_fraction(value: object, name: str) -> Fraction:
    """Return a parameter as the exact fraction that was written: 0.1 is one tenth, "1/3" a third."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal | Rational):
        raise ParameterError(f"{name} must be a number, got {type(value).__name__}")
    try:
        if isinstance(value, Rational):  # NumPy's integers among them, which would overflow in a fraction
            return Fraction(int(value.numerator), int(value.denominator))
        written = repr(float(value)) if isinstance(value, float) else str(value).strip()
        if len(written) <= _LONGEST and not _ENORMOUS.search(written):
            return Fraction(written)
    except (ValueError, ZeroDivisionError, OverflowError):
        pass
    raise ParameterError(f"{name} must be a finite number, for example 1, 0.1 or 1/3; got {str(value)[:_LONGEST]!r}")


def stored_fraction(text: object) -> Fraction:
    """Read a fraction from a file, a message or a row, as `str` wrote it: "3" or "1/3".

    Such text may come from strangers, and `Fraction` takes hours to read "1e999999999". So exponents are refused.

    >>> stored_fraction("1/3")
    Fraction(1, 3)
    """
    if isinstance(text, str) and _STORED.fullmatch(text):
        with suppress(ZeroDivisionError):
            return Fraction(text)
    raise ParameterError("a stored number must be written as 3 or 1/3; the file or message is damaged, get it again")


def checked_epsilon(value: object) -> Fraction:
    """Return epsilon, refusing what is not a positive finite number."""
    epsilon = exact_fraction(value, "epsilon")
    if epsilon <= 0:
        raise ParameterError(f"epsilon must be greater than 0; got {value!r}. Usual choices are 0.1 to 2")
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise ParameterError(
            f"epsilon must lie between {float(LEAST_EPSILON):g} and {float(MOST_EPSILON):g}, and so must each part "
            "that it is divided into; usual choices are 0.1 to 2"
        )
    return epsilon


def checked_delta(value: object) -> Fraction:
    """Return delta, refusing what does not lie in [0, 1)."""
    delta = exact_fraction(value, "delta")
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must lie in [0, 1), far below 1 / rows if not 0; got {value!r}")
    if 0 < delta < LEAST_DELTA:
        raise ParameterError(f"delta must be 0 or at least {float(LEAST_DELTA):g}; give 0 for a pure guarantee")
    return delta


def checked_rows_per_person(rows: object, unit: str) -> int:
    """Return the most rows that a person has, refusing more than one where rows are the unit."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise ParameterError(f"rows_per_person must be a whole number of at least 1; got {rows!r}")
    if rows > 1 and unit != "person":
        raise ParameterError("`rows_per_person` is for protecting persons; give `unit` person with it")
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """`Pr[release of D in S] <= exp(epsilon) Pr[release of D' in S] + delta` for all neighbours D, D' and all S.

    Epsilon and delta are exact fractions, so that sums of them are exact. `public` names the facts that are taken as
    known. `rho`, where present, is a concentrated guarantee (zCDP) of the same release. Where the unit is a person,
    nobody is taken to have more than `rows_per_person` rows.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    neighbours: Neighbours
    unit: str = "row"
    public: tuple[str, ...] = ()
    rho: Fraction | None = None
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "delta", checked_delta(self.delta))
        object.__setattr__(self, "neighbours", Neighbours.parse(self.neighbours))
        if self.unit not in UNITS:
            raise ParameterError(f"unit must be one of {', '.join(UNITS)}; got {self.unit!r}")
        checked_rows_per_person(self.rows_per_person, self.unit)
        if self.rho is not None:
            object.__setattr__(self, "rho", exact_fraction(self.rho, "rho"))
            if self.rho <= 0:
                raise ParameterError(f"rho must be greater than 0; got {self.rho!r}")

    def in_account_of(self, account: Neighbours) -> Guarantee | None:
        """Return the guarantee under another relation, or None where none follows.

        Two steps of add-remove-one make one replacement: epsilon doubles, delta becomes
        `(1 + exp(epsilon)) delta`, and rho is multiplied by 4 (group privacy; Bun & Steinke 2016, proposition 1.9).
        """
        factor = price_factor(self.neighbours, account)
        if factor is None or factor == 1:
            return None if factor is None else replace(self, neighbours=account)
        if self.delta and self.epsilon > -upper_log(self.delta):
            return None  # delta would exceed 1
        delta = self.delta * (1 + upper_exponential(self.epsilon)) if self.delta else self.delta
        if delta >= 1 or 2 * self.epsilon > MOST_EPSILON:
            return None
        rho = None if self.rho is None else 4 * self.rho
        return replace(self, epsilon=2 * self.epsilon, delta=delta, neighbours=account, rho=rho)

    @property
    def summary(self) -> str:
        """Epsilon, delta and neighbours in a few words."""
        delta = f", delta {shown(self.delta, up=True)}" if self.delta else ""
        return f"epsilon {shown(self.epsilon, up=True)}{delta}, {self.neighbours.value}"

    def in_words(self) -> str:
        """Describe the guarantee for somebody who has to decide."""
        likelihood = math.exp(min(float(self.epsilon), 700.0))
        but = f", but for a chance of {float(self.delta):.2g}" if self.delta else ""
        public = f" Not hidden: {', '.join(self.public)}." if self.public else ""
        stated = f"epsilon = {shown(self.epsilon, up=True)}" + (
            f", delta = {shown(self.delta, up=True)}" if self.delta else ""
        )
        changed = self.neighbours.meaning.format(unit=self.unit)
        return (
            f"No result becomes more than {_times(likelihood)} times as likely, or as unlikely, "
            f"{changed}{but} ({stated}, neighbours: {self.neighbours.value}).{public}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        plain: dict[str, Any] = {
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "neighbours": self.neighbours.value,
            "unit": self.unit,
            "public": list(self.public),
        }
        if self.rows_per_person > 1:
            plain["rows_per_person"] = self.rows_per_person
        if self.rho is not None:
            plain["rho"] = float(self.rho)
        return plain


def shown(value: Fraction, *, down: bool = False, up: bool = False) -> str:
    """Write a fraction as a decimal: whole if six digits are enough, else rounded to four.

    With `down` it is rounded towards zero, so that a user who types it asks for no more. With `up` it is rounded away
    from zero, so that a guarantee states no less than it costs.

    >>> shown(Fraction(1, 8)), shown(Fraction(17, 30)), shown(Fraction(2, 3), down=True), shown(Fraction(1, 3), up=True)
    ('0.125', '0.5667', '0.6666', '0.3334')
    """
    whole = f"{float(value):.6g}"
    if Fraction(whole) == value:
        return whole
    rounded = f"{float(value):.4g}"
    if not (down and Fraction(rounded) > value) and not (up and Fraction(rounded) < value):
        return rounded
    digit = Fraction(10) ** (math.floor(math.log10(value)) - 3)
    steps = value // digit if down else -(-value // digit)
    return f"{float(steps * digit):.4g}"


def three_digits(value: Fraction, *, down: bool = False) -> str:
    """Write an amount of privacy with three significant digits for people, rounded up; with `down`, what is left.

    There are at most nine decimals. The error of a float, a billionth, counts as nothing.

    >>> three_digits(Fraction("1.38924")), three_digits(Fraction("1.61076"), down=True), three_digits(Fraction(0.1))
    ('1.39', '1.61', '0.1')
    """
    value = value * (10**9 + 1 if down else 10**9 - 1) / 10**9
    if value <= 0:
        return "0"
    places = min(max(2 - math.floor(math.log10(value)), 0), 9)
    scaled = value * 10**places
    steps = math.floor(scaled) if down else math.ceil(scaled)
    text = f"{Decimal(steps).scaleb(-places):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def typed(value: Fraction) -> str:
    """Write a fraction as a command takes it: the value itself if it is short, else a decimal below it.

    >>> typed(Fraction(1, 2)), typed(Fraction(1, 3)), typed(Fraction(123456789, 10**9))
    ('0.5', '1/3', '0.1234')
    """
    decimal = f"{float(value):.6g}"
    if Fraction(decimal) == value:
        return decimal
    return str(value) if len(str(value)) <= 9 else shown(value, down=True)


def _times(likelihood: float) -> str:
    """Format a factor with three digits, or more if they would read 1, which would mean perfect privacy."""
    return f"{likelihood:.3g}" if likelihood >= 1.01 else f"1 + {likelihood - 1.0:.2g}"
