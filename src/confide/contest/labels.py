"""Labels of a contest: split into board and final, and masked once with a public probability.

The rule reads the id and nothing else, so that a changed label changes no part: what the board and the final cost does
not add up (parallel composition under label-only neighbours). Participants see all ids and do not know the key, so they
cannot tell which rows the board is computed from.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import DataError, ParameterError
from confide.privacy.guarantee import Guarantee, checked_epsilon, exact_fraction, stored_fraction
from confide.privacy.mechanisms.masked_labels import checked_labels, masked_labels
from confide.privacy.mechanisms.masked_labels import flip_probability as flip_probability
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part, Prepared
from confide.privacy.queries import SYSTEM_NOISE, Noise

PUBLIC, FINAL = "public", "final"

PURPOSE = "contest split"
"""Purpose of the key, for the ledger that derives it."""

_ALL = 2**64
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Rule that puts a share of the rows into the public part: those whose keyed hash is below `share 2^64`.

    >>> Split(share=Fraction(1, 2), key=bytes(32)).public(["a", "b", "c", "d"])
    array([False,  True, False, False])
    """

    share: Fraction
    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        share = exact_fraction(self.share, "`public`")
        if not 0 < share <= 1:
            raise ParameterError(f"`public` must lie above 0 and not above 1, for example 0.5; got {share}")
        object.__setattr__(self, "share", share)
        if len(self.key) != _KEY_BYTES:
            raise ParameterError(f"the key of a split must have {_KEY_BYTES} bytes")

    def public(self, ids: Sequence[str]) -> NDArray[np.bool_]:
        """Return which rows are in the public part."""
        edge = int(self.share * _ALL)
        return np.fromiter((self._hash(one) < edge for one in ids), dtype=np.bool_, count=len(ids))

    def _hash(self, one: str) -> int:
        return int.from_bytes(hmac.digest(self.key, one.encode("utf-8"), "sha256")[:8], "big")

    @property
    def key_digest(self) -> str:
        """Return the SHA-256 of the key, which identifies the rule and does not reveal it."""
        return sha256(self.key).hexdigest()

    def part(self, name: str) -> Part:
        """Return a part as the ledger knows it."""
        if name not in (PUBLIC, FINAL):
            raise ParameterError(f"a contest has the parts {PUBLIC} and {FINAL}; got {name!r}")
        return Part(f"{self.share} public by a keyed hash of the id with key {self.key_digest}", name)


def ids_digest(ids: Sequence[str]) -> str:
    """Return the SHA-256 of a list of ids, each with its length, so that no two lists are written alike."""
    state = sha256()
    for one in ids:
        written = one.encode("utf-8")
        state.update(len(written).to_bytes(8, "big") + written)
    return state.hexdigest()


@dataclass(frozen=True)
class MaskedLabels:
    """Labels after masking, and the probability `flip` (q) with which each was flipped.

    `debiased` is `z = (masked - q) / (1 - 2q)`: independent given the labels, with mean equal to the label and variance
    `noise_variance = q (1 - q) / (1 - 2q)^2`. So a function that is linear in each label is estimated without bias by
    putting z in the labels' place.

    >>> MaskedLabels(np.array([True, False]), Fraction(1, 4)).debiased
    array([ 1.5, -0.5])
    """

    bits: NDArray[np.bool_]
    flip: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.flip < Fraction(1, 2):
            raise ParameterError("the probability of flipped labels must be at least 0 and below 1/2")
        bits = np.array(self.bits, dtype=np.bool_)
        bits.flags.writeable = False
        object.__setattr__(self, "bits", bits)

    def __len__(self) -> int:
        return int(self.bits.size)

    @cached_property
    def debiased(self) -> FloatArray:
        """Return z, one number for each row."""
        q = float(self.flip)
        values: FloatArray = (self.bits.astype(np.float64) - q) / (1.0 - 2.0 * q)
        values.flags.writeable = False
        return values

    @property
    def noise_variance(self) -> float:
        """Return the variance of each z around its label."""
        q = float(self.flip)
        return q * (1.0 - q) / (1.0 - 2.0 * q) ** 2


SCHEMA = "confide.contest-labels/1"

PUBLIC_FACTS = ("number of rows", "ids", "scores")
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
            raise DataError("these are not the masked labels of a contest; make the contest again")
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
    return Guarantee(epsilon=epsilon, delta=delta, neighbours=Neighbours.LABEL_ONLY, public=PUBLIC_FACTS, rho=rho)


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
