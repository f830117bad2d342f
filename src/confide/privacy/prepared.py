"""Prepared requests: a price, the public parameters, and how answers are drawn, stored and read again.

Metrics, selections of features and trained models are all released in this form, and charged to one ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from confide.errors import ParameterError
from confide.privacy.guarantee import Guarantee

LONGEST = 400
"""Largest number of characters in the names of a part."""


class Answer(Protocol):
    """Something that may be published, as all of it was made from noise and public facts."""

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of the noise."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as JSON can hold it, from which the answer can be rebuilt."""


A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True)
class Part:
    """Part of a public partition of the rows: the answer reads the rows of that part and no others.

    A partition is a rule that assigns every row to exactly one named part, by what is in the row itself and by public
    facts: not by its place in the file, nor by other rows. `partition` identifies the rule with all its parameters,
    so that equal text means equal parts; `name` is the part's. Both are public, and so is the requested part.

    Answers of different parts compose in parallel where a neighbour differs in one part only. The conditions:

    - Under add-remove-one that holds for every partition: the row that is added or removed lies in one part.
    - Under label-only the rule must not read the label, or the changed label could change the part.
    - Released under replace-one, parts add up: a row may leave one part and enter another. Nor is the promise then that
      of the same mechanism for the part's rows alone: their number changes. Like that of every prepared answer, the
      guarantee is about all rows. (An add-remove-one answer charged to a replace-one account pays for both steps.)
    - Where a person has several rows (unit person, `rows_per_person` above 1) they may lie in several parts: prepare
      the answer without a part.
    """

    partition: str
    name: str

    def __post_init__(self) -> None:
        for parameter in ("partition", "name"):
            text = getattr(self, parameter)
            if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > LONGEST:
                raise ParameterError(
                    f"the {parameter} of a part must be text of 1 to {LONGEST} printable characters; name a longer "
                    "rule by a hash of it"
                )

    def to_dict(self) -> dict[str, str]:
        """Return plain data."""
        return {"partition": self.partition, "name": self.name}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared(Generic[A]):
    """A request whose parameters and data were checked, with its price; no noise has been drawn.

    `request` holds every public parameter that the answers depend on, as plain data; nothing in it may depend on
    private values. The request, the guarantee, the part and the public question that the ledger is given decide whether
    two requests are the same. `draw` draws the noise: call it once, after the price was paid. It may return several
    answers that follow from the same noise. Called without arguments, it draws from the operating system's generator;
    tests pass another source of noise. `read` rebuilds an answer from its `to_dict` and the guarantee, whose exact
    fractions plain data do not hold. `guarantee` is about all rows, also if only those of a `part` are read. `numbers`
    is a public upper bound on how many numbers the answers hold besides some dozens; the ledger stores answers in a
    space of that size, so that their length reveals nothing.
    """

    guarantee: Guarantee
    request: Mapping[str, Any]
    draw: Callable[..., tuple[A, ...]] = field(repr=False)
    read: Callable[[Mapping[str, Any], Guarantee], A] = field(repr=False, compare=False)
    part: Part | None = None
    numbers: int = 0

    def chosen(self, answers: Iterable[A]) -> tuple[A, ...]:
        """Return the requested answers: all of them."""
        return tuple(answers)
