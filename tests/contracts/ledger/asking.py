"""Requests to a ledger: a tiny mechanism with real releases, and one whose answers are no metrics."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from confide import Interval, ScoreCounts
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours
from confide.releases.prepared import Part, Prepared
from confide.releases.release import PreparedRelease, PrivateIntervals, Release

COUNTS = ScoreCounts.from_arrays([0, 1, 1, 0, 1], [0.1, 0.8, 0.4, 0.4, 0.9])
OTHER_COUNTS = ScoreCounts.from_arrays([0, 1, 1, 0, 0], [0.1, 0.8, 0.4, 0.4, 0.9])


def ask(
    epsilon: object = "1/10",
    *,
    delta: object = 0,
    neighbours: str = "replace-one",
    unit: str = "row",
    counts: ScoreCounts = COUNTS,
    draw: Callable[[], tuple[Release, ...]] | None = None,
    part: Part | None = None,
    **parameters: Any,
) -> PreparedRelease:
    """Prepare a release whose value is nothing but noise; `parameters` make it another request."""
    guarantee = Guarantee(
        epsilon=Fraction(str(epsilon)), delta=Fraction(str(delta)), neighbours=Neighbours.parse(neighbours), unit=unit
    )
    request = {"metric": "auc", "mechanism": "noise", **parameters}
    return PreparedRelease(
        guarantee=guarantee, request=request, counts=counts, draw=draw or (lambda: (noise(guarantee),)), part=part
    )


def noise(guarantee: Guarantee) -> Release:
    value = secrets.randbits(52) / 2.0**52
    around = Interval(lower=value - 0.1, upper=value + 0.1, level=0.95, method="noise")
    return Release(
        metric="auc",
        value=value,
        intervals=PrivateIntervals(sample=around, population=around),
        guarantee=guarantee,
        mechanism="noise",
        parts={"positives": 7.5, "negatives": 3.25},
        options={"scale": 2},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An answer that is no metric: some features, chosen at random."""

    features: tuple[int, ...]
    guarantee: Guarantee

    def to_dict(self) -> dict[str, Any]:
        return {"schema": "tests.choice/1", "features": list(self.features)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], guarantee: Guarantee) -> Choice:
        return cls(features=tuple(plain["features"]), guarantee=guarantee)


def choose(
    epsilon: object = "1/10",
    *,
    neighbours: str = "add-remove-one",
    data: bytes = b"rows",
    part: Part | None = None,
    **parameters: Any,
) -> Prepared[Choice]:
    """Prepare a choice of features that has nothing to do with the data."""
    guarantee = Guarantee(epsilon=Fraction(str(epsilon)), neighbours=Neighbours.parse(neighbours))

    def draw() -> tuple[Choice, ...]:
        return (Choice(features=tuple(secrets.randbelow(10**9) for _ in range(3)), guarantee=guarantee),)

    return Prepared(
        guarantee=guarantee,
        request={"metric": "choice", "mechanism": "noise", **parameters},
        draw=draw,
        content=lambda: iter([data]),
        read=Choice.from_dict,
        part=part,
    )
