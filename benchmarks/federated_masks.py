"""What secrecy costs: masked counts of as many cells as a secure sum has, beside the same counts sent plainly.

A site's time runs from the offers of all sites to the text that it sends, and the coordinator's from these texts to the
sum. Plain answers are the same words, in the same text, without certificates, masks and signatures.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from benchmarks.federated_sites import SESSION, identity
from benchmarks.timing import seconds, table, timed
from confide.federation.crypto.agreement import Agreement, KeyPair, Offer
from confide.federation.crypto.secure_sum import MaskedVector, Masks, unmasked_sum
from confide.federation.tables import wide_values

COUNTS = 131_072
"""Two classes on 65,536 cells."""

PARTIES = (3, 5, 20)
ROWS = 5_000
QUESTION = sha256(b"benchmark").hexdigest()

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds of a site (the slowest) and of the coordinator, and bytes of an answer."""

    site: float
    coordinator: float
    bytes: int


def print_masks(*, quick: bool) -> None:
    counts, repetitions = (4_096, 1) if quick else (COUNTS, 3)
    print(
        f"\nsecure sums of {counts:,} counts and {wide_values()} sums of scores of {ROWS:,} rows a site; ratios are to"
    )
    print("sending the counts plainly, which compress well ('deflated'), as masked ones cannot")
    lines = []
    for parties in PARTIES[:2] if quick else PARTIES:
        tables = _tables(parties, counts)
        masked, plain = (_best(way, tables, repetitions) for way in (masked_sum, plain_sum))
        packed = max(len(base64.b64encode(zlib.compress(each.tobytes()))) for each in tables.values())
        lines.append(
            (
                str(parties),
                seconds(masked.site),
                f"{masked.site / plain.site:.3g}",
                f"{masked.bytes:,}",
                f"{masked.bytes / plain.bytes:.3f}",
                f"{masked.bytes / packed:.3g}",
                seconds(masked.coordinator),
                f"{masked.coordinator / plain.coordinator:.3g}",
            )
        )
    table(("sites", "a site", "ratio", "bytes", "ratio", "to deflated", "coordinator", "ratio"), lines)


def _tables(parties: int, counts: int) -> dict[str, Counts]:
    rng = np.random.default_rng(parties)
    cells = [(counts * rng.beta(2.0, 4.0, ROWS)).astype(np.int64) for _ in range(parties)]
    return {f"site-{number:02}": np.bincount(each, minlength=counts) for number, each in enumerate(cells)}


def _best(way: Callable[[Mapping[str, Counts]], Cost], tables: Mapping[str, Counts], repetitions: int) -> Cost:
    runs = [way(tables) for _ in range(repetitions)]
    return Cost(
        site=min(run.site for run in runs), coordinator=min(run.coordinator for run in runs), bytes=runs[0].bytes
    )


def masked_sum(tables: Mapping[str, Counts]) -> Cost:
    """A whole secure sum."""
    keys = {name: KeyPair.fresh() for name in tables}
    offers = [
        Offer.signed(identity(name), pair, session=SESSION, question=QUESTION).to_dict() for name, pair in keys.items()
    ]

    def answer(name: str) -> str:
        masks = Masks(_agreed(offers, tables), keys[name], identity(name))
        return json.dumps(masks.mask(tables[name], [1] * wide_values()).to_dict())

    answers, taken = zip(*(timed(partial(answer, name)) for name in tables), strict=True)

    def summed() -> Counts:
        vectors = [MaskedVector.from_dict(json.loads(text)) for text in answers]
        return unmasked_sum(vectors, _agreed(offers, tables))[0]

    total, coordinator = timed(summed)
    assert np.array_equal(total, sum(tables.values()))
    return Cost(site=max(taken), coordinator=coordinator, bytes=len(answers[0]))


def _agreed(offers: Sequence[Mapping[str, str]], tables: Mapping[str, Counts]) -> Agreement:
    """What a site checks, and the coordinator too."""
    return Agreement.verified(
        [Offer.from_dict(offer) for offer in offers],
        session=SESSION,
        question=QUESTION,
        asked=tuple(tables),
        root=identity(next(iter(tables))).root,
        at=datetime.now(UTC),
    )


def plain_sum(tables: Mapping[str, Counts]) -> Cost:
    """The same without secrets."""

    def answer(counts: Counts) -> str:
        text = base64.b64encode(counts.astype("<i8").tobytes()).decode("ascii")
        return json.dumps({"counts": text, "wide": [1] * wide_values()})

    answers, taken = zip(*(timed(partial(answer, each)) for each in tables.values()), strict=True)

    def summed() -> Counts:
        read = [base64.b64decode(json.loads(text)["counts"]) for text in answers]
        return np.asarray(sum(np.frombuffer(each, dtype="<i8") for each in read))

    total, coordinator = timed(summed)
    assert np.array_equal(total, sum(tables.values()))
    return Cost(site=max(taken), coordinator=coordinator, bytes=len(answers[0]))
