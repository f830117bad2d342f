"""Numbers that a paper publishes, beside ours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from studies.claims import CLEAR, Mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Number of a paper: its value, the figure or table that has it, and whether it was read off a picture.

    `half_unit` is half of the last printed digit, or how far a reading may be off; `standard_error` is that of a
    simulated number, where the paper's own sample size tells it.
    """

    value: float
    where: str
    half_unit: float = 0.0
    standard_error: float = 0.0
    read_off: bool = False

    @property
    def text(self) -> str:
        """Write the value; a star marks one that was read off a picture."""
        return Mean.exact(self.value).text + ("*" if self.read_off else "")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "value": self.value,
            "where": self.where,
            "half_unit": self.half_unit,
            "standard_error": self.standard_error,
            "read_off": self.read_off,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Number of ours beside the published one."""

    name: str
    ours: Mean
    published: Published

    @property
    def difference(self) -> Mean:
        """Return ours less the published number, with the standard errors of both."""
        return self.ours.less(Mean(value=self.published.value, standard_error=self.published.standard_error))

    @property
    def agrees(self) -> bool:
        """Tell whether the difference is within the printed digits and two standard errors.

        >>> printed = Published(value=0.25, where="Table 1", half_unit=0.005)
        >>> [Comparison(name="", ours=Mean.exact(x), published=printed).agrees for x in (0.2549, 0.26)]
        [True, False]
        """
        allowed = self.published.half_unit + CLEAR * self.difference.standard_error
        return math.isfinite(allowed) and abs(self.difference.value) <= allowed + 1e-9 * abs(self.published.value)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "ours": self.ours.to_dict(),
            "published": self.published.to_dict(),
            "agrees": self.agrees,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Comparison:
        """Read plain data."""
        ours, published = Mean.from_dict(plain["ours"]), Published(**plain["published"])
        return cls(name=plain["name"], ours=ours, published=published)
