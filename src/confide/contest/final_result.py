"""Result of a contest's final: values, intervals and ranks of the finalists, all of which may be published."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confide.contest.metric import ContestMetric
from confide.contest.terms import FinalMechanism
from confide.errors import DataError, ParameterError
from confide.intervals.interval import Interval
from confide.privacy.guarantee import Guarantee, exact_fraction

SCHEMA = "confide.contest-final/1"

MEANING = {
    "value": "metric of the final's rows, estimated from the release alone and cut to the metric's range",
    "sample": "interval for the metric of the final's rows; it accounts for the noise",
    "population": "interval for the metric of the population of such rows; it accounts for noise and sampling",
    "rank": "1 + number of finalists that are significantly better in the population, by paired comparisons; "
    "rank_lowest and rank_highest hold the true rank",
}
"""Meaning of the numbers of a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalEntry:
    """Result of one finalist. `digest` is the SHA-256 of its scores of the final's rows (float64, little-endian)."""

    name: str
    digest: str
    value: float
    sample: Interval
    population: Interval
    rank: int
    rank_lowest: int
    rank_highest: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "digest": self.digest,
            "value": self.value,
            "sample": self.sample.to_dict(),
            "population": self.population.to_dict(),
            "rank": self.rank,
            "rank_lowest": self.rank_lowest,
            "rank_highest": self.rank_highest,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> FinalEntry:
        """Read plain data."""
        return cls(
            name=str(plain["name"]),
            digest=str(plain["digest"]),
            value=_finite(plain["value"]),
            sample=_interval(plain["sample"]),
            population=_interval(plain["population"]),
            rank=int(plain["rank"]),
            rank_lowest=int(plain["rank_lowest"]),
            rank_highest=int(plain["rank_highest"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalResult:
    """Result of a final. Entries come best first; equal values are in order of names.

    `noise` holds public facts about the noise: for a shaped final its scale and the number of measured lines, for a
    masked one the masked labels, from which everybody can compute the values again.
    """

    contest: str
    metric: ContestMetric
    mechanism: FinalMechanism
    rows: int
    entries: tuple[FinalEntry, ...]
    guarantee: Guarantee
    noise: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "schema": SCHEMA,
            "contest": self.contest,
            "metric": self.metric.to_dict(),
            "mechanism": self.mechanism.value,
            "rows": self.rows,
            "entries": [entry.to_dict() for entry in self.entries],
            "guarantee": self.guarantee.to_dict(),
            "noise": dict(self.noise),
            "meaning": dict(MEANING),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], guarantee: Guarantee | None = None) -> FinalResult:
        """Read plain data; refuse what is no result of a final.

        Plain data hold the guarantee's numbers as decimals; give the `guarantee` where they must be exact.
        """
        try:
            if plain["schema"] == SCHEMA:
                return cls(
                    contest=str(plain["contest"]),
                    metric=ContestMetric.from_dict(plain["metric"]),
                    mechanism=FinalMechanism(plain["mechanism"]),
                    rows=int(plain["rows"]),
                    entries=tuple(FinalEntry.from_dict(entry) for entry in plain["entries"]),
                    guarantee=_guarantee(plain["guarantee"]) if guarantee is None else guarantee,
                    noise=dict(plain["noise"]),
                )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            pass
        raise DataError("this is not the result of a final; publish it again from the holder's folder")


def _guarantee(plain: Mapping[str, Any]) -> Guarantee:
    rho = plain.get("rho")
    return Guarantee(
        epsilon=exact_fraction(plain["epsilon"], "epsilon"),
        delta=exact_fraction(plain["delta"], "delta"),
        neighbours=plain["neighbours"],
        unit=str(plain["unit"]),
        public=tuple(str(fact) for fact in plain["public"]),
        rho=None if rho is None else exact_fraction(rho, "rho"),
    )


def _interval(plain: Mapping[str, Any]) -> Interval:
    lower, upper, level = (_finite(plain[end]) for end in ("lower", "upper", "level"))
    return Interval(lower=lower, upper=upper, level=level, method=str(plain["method"]))


def _finite(number: object) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise ParameterError("a result holds finite numbers; publish it again")
    return float(number)
