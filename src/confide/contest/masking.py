"""Masking labels of a contest: prepared, charged once and stored, so that an equal request gets the same mask."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.contest.masked import MaskedLabels
from confide.errors import DataError, ParameterError
from confide.privacy.guarantee import Guarantee, checked_epsilon, stored_fraction
from confide.privacy.mechanisms.masked_labels import checked_labels, masked_labels
from confide.privacy.mechanisms.masked_labels import flip_probability as flip_probability
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part, Prepared
from confide.privacy.queries import SYSTEM_NOISE, Noise

SCHEMA = "confide.contest-labels/1"

PUBLIC = ("number of rows", "ids", "scores")
"""Facts that a contest does not hide."""

_CHARACTERS = 28  # that the ledger keeps for each number of an answer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaskedAnswer:
    """Masked labels with their guarantee. It may be published: it holds no label."""

    labels: MaskedLabels
    guarantee: Guarantee

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the masked labels are packed into bytes and written in base64."""
        return {
            "schema": SCHEMA,
            **labels_to_dict(self.labels),
            "guarantee": self.guarantee.to_dict(),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], guarantee: Guarantee) -> MaskedAnswer:
        """Read plain data. The guarantee is given beside them, as plain data do not hold its exact fractions."""
        if plain.get("schema") != SCHEMA:
            raise DataError("these are no masked labels of a contest; make the contest again")
        return cls(labels=labels_from_dict(plain), guarantee=guarantee)


def prepare_masked(
    labels: NDArray[np.bool_], *, epsilon: object, part: Part | None = None, noise: Noise = SYSTEM_NOISE
) -> Prepared[MaskedAnswer]:
    """Check a request to mask labels and compute its price: epsilon, label-only, without delta.

    `labels` are those of the part's rows, in the public order of their ids. Two masks of the same labels are two
    releases: draw through a ledger, which stores the mask.
    """
    price = checked_epsilon(epsilon)
    query = masked_labels(checked_rows(labels), price)
    guarantee = label_guarantee(price)

    def draw(noise: Noise = noise) -> tuple[MaskedAnswer, ...]:
        masked = MaskedLabels(query.draw(noise), query.probability)
        return (MaskedAnswer(labels=masked, guarantee=guarantee),)

    return Prepared(
        guarantee=guarantee,
        request=masked_request("contest-labels", labels.size, query.probability),
        draw=draw,
        read=MaskedAnswer.from_dict,
        part=part,
        numbers=stored_numbers(labels.size),
    )


def label_guarantee(epsilon: Fraction, delta: Fraction = Fraction(0), rho: Fraction | None = None) -> Guarantee:
    """Return the guarantee of a release that reads the labels of a contest."""
    return Guarantee(epsilon=epsilon, delta=delta, neighbours=Neighbours.LABEL_ONLY, public=PUBLIC, rho=rho)


def masked_request(release: str, rows: int, flip: Fraction) -> dict[str, Any]:
    """Return what identifies a request for masked labels, beside the guarantee, the part and the data."""
    return {"metric": release, "mechanism": "masked-labels", "rows": rows, "flip": str(flip)}


def checked_rows(labels: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return labels, refusing fewer than two rows: their number is public."""
    if checked_labels(labels).size < 2:
        raise DataError("a contest needs at least two rows in each part; add rows or change the public share")
    return labels


def stored_numbers(rows: int) -> int:
    """Return how many numbers the ledger must leave room for, to store so many masked labels."""
    return math.ceil(4 * math.ceil(math.ceil(rows / 8) / 3) / _CHARACTERS)


def labels_to_dict(labels: MaskedLabels) -> dict[str, Any]:
    """Return masked labels as plain data."""
    packed = np.packbits(labels.bits, bitorder="little").tobytes()
    return {"rows": len(labels), "flip": str(labels.flip), "labels": base64.b64encode(packed).decode("ascii")}


def labels_from_dict(plain: Mapping[str, Any]) -> MaskedLabels:
    """Read masked labels, refusing text that does not hold exactly as many as it says."""
    try:
        rows, flip = int(plain["rows"]), stored_fraction(plain["flip"])
        packed = base64.b64decode(plain["labels"], validate=True)
        if rows >= 0 and len(packed) == math.ceil(rows / 8):
            bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), bitorder="little")
            if not bits[rows:].any():
                return MaskedLabels(bits[:rows].astype(np.bool_), flip)
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError, binascii.Error, ParameterError):
        pass
    raise DataError("masked labels are damaged; get the file again from the organiser")
