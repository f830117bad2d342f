"""Requests to a ledger: a tiny mechanism with real releases, and one whose answers are no metrics."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from confide import Interval, ScoreCounts
from confide.errors import ParameterError
from confide.ledger.account import Account
from confide.ledger.ledger import Ledger
from confide.ledger.question import PublicQuestion
from confide.ledger.receipts import Quote, Receipt
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part, Prepared
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
    rho: Fraction | None = None,
    rows_per_person: int = 1,
    **parameters: Any,
) -> PreparedRelease:
    """Prepare a release whose value is nothing but noise; `parameters` make it another request."""
    guarantee = Guarantee(
        epsilon=Fraction(str(epsilon)),
        delta=Fraction(str(delta)),
        neighbours=Neighbours.parse(neighbours),
        unit=unit,
        rho=rho,
        rows_per_person=rows_per_person,
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
        read=Choice.from_dict,
        part=part,
    )


class Book(Ledger):
    """A ledger as these tests use it: accounts open when first named, and every request has a public question.

    Answers are not padded in time. What the ledger does by itself is tested with `Ledger`.
    """

    def __init__(self, url: str | Path | None = None) -> None:
        super().__init__(url, padding=0.0)

    def open_account(self, name: str, *, epsilon: Any = 10, delta: Any = "1/100000", **terms: Any) -> Account:
        if terms.get("neighbours") == "label-only":
            terms = {"data": f"data of {name}", "label": "y", **terms}
        return super().open_account(name, epsilon=epsilon, delta=delta, **terms)

    def release(self, prepared: Any, *, account: str = "a", **asked: Any) -> Receipt[Any]:
        self._open(prepared, account)
        return super().release(prepared, account=account, **{"question": about(account), **asked})

    def quote(self, prepared: Any, *, account: str = "a", **asked: Any) -> Quote:
        self._open(prepared, account)
        return super().quote(prepared, account=account, **{"question": about(account), **asked})

    def _open(self, prepared: Any, account: str) -> None:
        if not prepared:
            return
        first = prepared if isinstance(prepared, Prepared) else prepared[0]
        try:
            self.account(account)
        except ParameterError:
            with suppress(ParameterError):  # another process was faster, or it is no name
                self.open_account(account, neighbours=first.guarantee.neighbours, unit=first.guarantee.unit)


def about(account: str = "a") -> PublicQuestion:
    """The public question that the tests ask of an account."""
    return PublicQuestion(data=f"data of {account}", label="y")
