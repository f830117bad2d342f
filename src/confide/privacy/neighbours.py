"""Neighbouring relations: which datasets differ in one person's data."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType

from confide.errors import ParameterError


class Neighbours(StrEnum):
    """A neighbouring relation; compares equal to its name."""

    REPLACE_ONE = "replace-one"
    ADD_REMOVE_ONE = "add-remove-one"
    LABEL_ONLY = "label-only"

    @classmethod
    def parse(cls, name: object) -> Neighbours:
        """Return the relation of that name."""
        try:
            return cls(str(name))
        except ValueError:
            known = ", ".join(relation.value for relation in cls)
            raise ParameterError(f"neighbours must be one of {known}; got {name!r}") from None

    @property
    def meaning(self) -> str:
        """Difference between two neighbouring datasets, in words; `{unit}` stands for the privacy unit."""
        return _MEANING[self]

    @property
    def public(self) -> tuple[str, ...]:
        """Facts that the relation does not hide."""
        return _PUBLIC[self]


_MEANING = MappingProxyType(
    {
        Neighbours.REPLACE_ONE: "if one {unit} is replaced by any other",
        Neighbours.ADD_REMOVE_ONE: "if one {unit} is added or left out",
        Neighbours.LABEL_ONLY: "if one {unit}'s label is the other one",
    }
)
_PUBLIC = MappingProxyType(
    {
        Neighbours.REPLACE_ONE: ("number of rows",),
        Neighbours.ADD_REMOVE_ONE: (),
        Neighbours.LABEL_ONLY: ("number of rows", "scores"),
    }
)


def price_factor(released: Neighbours, account: Neighbours) -> int | None:
    """Return the multiple of its epsilon that a release costs in an account of another relation; None if there is none.

    Two datasets that differ in one label also differ by one replaced row, so replace-one covers
    label-only at the same price. A replacement is a removal and an addition, so add-remove-one
    covers replace-one, and with it label-only, at twice the price. Nothing else follows: a
    replace-one release may show the number of rows, and a label-only one the scores.
    """
    if released == account:
        return 1
    if released == Neighbours.REPLACE_ONE and account == Neighbours.LABEL_ONLY:
        return 1
    if released == Neighbours.ADD_REMOVE_ONE:
        return 2
    return None
