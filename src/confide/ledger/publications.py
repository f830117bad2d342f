"""Publications of an account: every value that its answers hold, with the question and the price.

They are read from the entries alone: the public question, the public parameters, and the answer as it was drawn. Values
of one charge follow from one draw of noise and share its price.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from confide.ledger.budget import Budget
from confide.ledger.entries import Entry, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A released value.

    Parameters
    ----------
    charge, at, analyst
        Number of the charge that paid for it, when it was drawn, and who asked.
    data, label, positive, score, model
        The public question: the declared name of the data or the keyed digest of their file, the columns of labels and
        scores, the positive label, the digest of a model. None where the question does not say.
    part
        Name of the part of the rows that was read.
    metric, threshold, value
        What was released. A selection or a model has no value.
    lower, upper, level
        Its interval for these rows.
    mechanism, neighbours, unit
        How noise was drawn, and what it protects.
    price
        What the charge cost, in terms of the account.
    """

    charge: int
    at: str
    analyst: str | None
    data: str | None
    label: str | None
    positive: str | None
    score: str | None
    model: str | None
    part: str | None
    metric: str
    threshold: float | None
    value: float | None
    lower: float | None
    upper: float | None
    level: float | None
    mechanism: str | None
    neighbours: str | None
    unit: str | None
    price: Budget

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the fields by their names, and the price as epsilon, delta and rho."""
        plain = {name: getattr(self, name) for name in _FIELDS}
        price = {name: float(getattr(self.price, name)) for name in _PRICE}
        return {**plain, **price}


_FIELDS = tuple(field.name for field in fields(Publication) if field.name != "price")
_PRICE = tuple(field.name for field in fields(Budget))

COLUMNS = (*_FIELDS, *_PRICE)
"""Keys of `Publication.to_dict`."""


def publications(entries: Iterable[Entry]) -> tuple[Publication, ...]:
    """Return every value that was released, in the order of the entries of an account."""
    charges: dict[int, Entry] = {}
    found: list[Publication] = []
    for entry in entries:
        if entry.kind == Kind.CHARGE:
            charges[entry.sequence] = entry
        elif entry.kind == Kind.ANSWER and entry.charge is not None:
            found += _of_answer(charges[entry.charge], entry)
    return tuple(found)


def _of_answer(charge: Entry, answer: Entry) -> Iterator[Publication]:
    request = charge.request_data
    question, guarantee = request.get("question", {}), request["guarantee"]
    details = question.get("details", {})
    for plain in answer.answered:
        interval = plain.get("intervals", {}).get("sample", {})
        yield Publication(
            charge=charge.sequence,
            at=answer.at,
            analyst=charge.analyst,
            data=question.get("data"),
            label=question.get("label"),
            positive=question.get("positive"),
            score=_text(details.get("score")),
            model=_text(details.get("model")),
            part=None if charge.part is None else charge.part.name,
            metric=answer_name(plain),
            threshold=plain.get("options", {}).get("threshold"),
            value=plain.get("value"),
            lower=interval.get("lower"),
            upper=interval.get("upper"),
            level=interval.get("level"),
            mechanism=plain.get("mechanism") or request["request"].get("mechanism"),
            neighbours=guarantee.get("neighbours"),
            unit=guarantee.get("unit"),
            price=charge.amount,
        )


def answer_name(plain: Mapping[str, Any]) -> str:
    """Return the metric of an answer, or what else it is: a selection, a model."""
    if "metric" in plain:
        return str(plain["metric"])
    return str(plain.get("schema", "answer")).removeprefix("confide.").partition("/")[0]


def _text(value: object) -> str | None:
    return None if value is None else str(value)
