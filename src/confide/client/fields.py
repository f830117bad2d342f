"""Fields of a server's answer, each checked as it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confide.client.problems import printable
from confide.errors import OracleError
from confide.intervals.interval import Interval


@dataclass(frozen=True, slots=True)
class Fields:
    """Fields of one part of an answer; `what` names it in errors."""

    plain: Mapping[str, Any]
    what: str

    @classmethod
    def of(cls, plain: object, what: str) -> Fields:
        """Refuse what is no object of JSON."""
        if not isinstance(plain, Mapping):
            raise unexpected(what)
        return cls(plain, what)

    def text(self, name: str) -> str:
        """Return a text; numbers are written as text. Characters that steer a terminal are replaced."""
        value = self.plain.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise unexpected(f"{self.what}: {name}")
        return printable(value)

    def optional_text(self, name: str) -> str | None:
        """Return a text; None if there is none."""
        return None if self.plain.get(name) is None else self.text(name)

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        return [printable(one) for one in self.items(name)]

    def number(self, name: str) -> float:
        """Return a number."""
        value = self.plain.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise unexpected(f"{self.what}: {name}")
        try:
            return float(value)
        except OverflowError:
            raise unexpected(f"{self.what}: {name}") from None

    def whole(self, name: str) -> int:
        """Return a whole number."""
        value = self.plain.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise unexpected(f"{self.what}: {name}")
        return value

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        value = self.plain.get(name)
        if not isinstance(value, list):
            raise unexpected(f"{self.what}: {name}")
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        """Return an object."""
        value = self.plain.get(name)
        if not isinstance(value, dict):
            raise unexpected(f"{self.what}: {name}")
        return value

    def metric(self, name: str) -> str:
        """Return the name of a metric, which may be given with its threshold."""
        value = self.plain.get(name)
        return Fields.of(value, self.what).text("name") if isinstance(value, Mapping) else self.text(name)

    def interval(self, name: str) -> Interval | None:
        """Return an interval; None if there is none."""
        if self.plain.get(name) is None:
            return None
        read = Fields.of(self.plain[name], f"{self.what}: {name}")
        return Interval(
            lower=read.number("lower"),
            upper=read.number("upper"),
            level=read.number("level"),
            method=read.text("method"),
        )


def unexpected(what: str) -> OracleError:
    """Return the error of an answer that lacks something."""
    return OracleError(
        f"the server's answer lacks what an evaluation server of this version says ({what}); check the address, and "
        "install the server's version of confide"
    )
