"""Terms and caps of an account, which the data holder states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from confide.errors import ParameterError
from confide.ledger.entries import Entry
from confide.ledger.question import checked_text, is_digest
from confide.ledger.spending import Budget
from confide.privacy.concentration import Concentration
from confide.privacy.guarantee import UNITS, checked_delta, checked_rows_per_person, exact_fraction, stored_fraction
from confide.privacy.neighbours import Neighbours
from confide.records.chain import canonical_json

_LONGEST_NAME = 200


class Composition(StrEnum):
    """Rule by which the prices of an account become its total."""

    ADDITION = "addition"  # epsilons add up, and deltas
    ZCDP = "zcdp"  # concentrated prices (rho) add up as well, and are converted to epsilon

    @classmethod
    def parse(cls, name: object) -> Composition:
        """Return the composition of that name."""
        try:
            return cls(str(name))
        except ValueError:
            known = ", ".join(one.value for one in cls)
            raise ParameterError(f"composition must be one of {known}; got {name!r}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Caps of an account: in all, for each analyst, and for named analysts.

    There is no default: the data holder states the cap.
    """

    total: Budget
    each_analyst: Fraction | None = None
    analysts: Mapping[str, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "analysts", MappingProxyType(dict(self.analysts)))

    def changed(
        self,
        *,
        epsilon: object = None,
        delta: object = None,
        analyst_epsilon: object = None,
        analysts: Mapping[str, object] | None = None,
    ) -> Caps:
        """Return the caps with those that are given replaced. A cap may lie below what is spent: nothing is left."""
        own = {checked_name(name, "analyst"): _checked_cap(cap) for name, cap in (analysts or {}).items()}
        return Caps(
            total=Budget(
                epsilon=self.total.epsilon if epsilon is None else _checked_cap(epsilon),
                delta=self.total.delta if delta is None else checked_delta(delta),
            ),
            each_analyst=self.each_analyst if analyst_epsilon is None else _checked_cap(analyst_epsilon),
            analysts={**self.analysts, **own},
        )

    def of_analyst(self, analyst: str) -> Fraction | None:
        """Return the most epsilon that an analyst may spend, if that is limited."""
        return self.analysts.get(analyst, self.each_analyst)

    @property
    def name_analysts(self) -> bool:
        """True if an analyst has a cap, so that every request must name its analyst."""
        return self.each_analyst is not None or bool(self.analysts)

    def to_json(self) -> str:
        """Return the caps that an entry stores besides the total."""
        return canonical_json(self.to_dict(), "caps")

    def to_dict(self) -> dict[str, Any]:
        """Return the caps of analysts as plain data, with exact fractions as text."""
        return {
            "each_analyst": None if self.each_analyst is None else str(self.each_analyst),
            "analysts": {name: str(cap) for name, cap in self.analysts.items()},
        }

    @classmethod
    def from_entry(cls, entry: Entry) -> Caps:
        """Read the caps that an entry sets."""
        return cls.from_dict(entry.request_data, entry.amount)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], total: Budget) -> Caps:
        """Read the caps of analysts from plain data."""
        each = plain["each_analyst"]
        return cls(
            total=total,
            each_analyst=None if each is None else stored_fraction(each),
            analysts={name: stored_fraction(cap) for name, cap in plain["analysts"].items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountTerms:
    """Terms of an account. They are fixed when it is opened, as otherwise sums of epsilons have no meaning.

    Parameters
    ----------
    neighbours, unit, rows_per_person
        Neighbouring relation and privacy unit: a row, or a person with at most so many rows.
    data
        Identity of the only data that the account is for: a declared name and version, or the result of
        `Ledger.identify` for a file. Without it, the account takes any data that no other account has.
    label, positive
        Name of the labels that the account hides, and their positive value. An account of label-only neighbours
        needs data and label: it treats everything else as public, so a request about other labels could reveal the
        hidden ones.
    concentration
        Order and delta at which an account of composition zcdp converts rho; None if epsilons add up.
    """

    neighbours: Neighbours
    unit: str = "row"
    rows_per_person: int = 1
    data: str | None = None
    label: str | None = None
    positive: str | None = None
    concentration: Concentration | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighbours", Neighbours.parse(self.neighbours))
        if self.unit not in UNITS:
            raise ParameterError(f"unit must be one of {', '.join(UNITS)}; got {self.unit!r}")
        checked_rows_per_person(self.rows_per_person, self.unit)
        if self.data is not None:
            checked_text(self.data, "data")
        for name in ("label", "positive"):
            text = getattr(self, name)
            if text is not None and not isinstance(text, str):
                raise ParameterError(f"{name} must be text; got {type(text).__name__}")
        if self.neighbours == Neighbours.LABEL_ONLY and (self.label is None or self.data is None):
            raise ParameterError(
                "an account of label-only neighbours hides one column of labels and treats all else as public: name "
                "the column (`label`) and the data (`data`: their file, or a declared name if files change, as "
                "submissions to a contest do)"
            )

    @property
    def declared(self) -> bool:
        """True if the data have a declared name, and are not identified by the digest of their file."""
        return self.data is not None and not is_digest(self.data)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; what was not given is left out."""
        plain = {
            "neighbours": self.neighbours.value,
            "unit": self.unit,
            "rows_per_person": self.rows_per_person,
            "data": self.data,
            "label": self.label,
            "positive": self.positive,
            "concentration": None if self.concentration is None else self.concentration.to_dict(),
        }
        return {name: value for name, value in plain.items() if value is not None}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> AccountTerms:
        """Read the terms among other plain data."""
        given = {one.name: plain[one.name] for one in fields(cls) if one.name in plain}
        if "concentration" in given:
            given["concentration"] = Concentration.from_dict(given["concentration"])
        return cls(**given)


def checked_name(name: object, parameter: str) -> str:
    """Refuse a name that cannot be shown in one line."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise ParameterError(f"{parameter} must be a name of 1 to {_LONGEST_NAME} printable characters")
    return name


def _checked_cap(value: object) -> Fraction:
    cap = exact_fraction(value, "epsilon")
    if cap < 0:
        raise ParameterError(f"a cap of epsilon must not be negative; got {value!r}")
    return cap
