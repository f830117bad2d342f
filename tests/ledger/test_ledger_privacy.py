"""Nothing private is stored: no score, no count, no hash that could be guessed."""

from __future__ import annotations

import struct
from hashlib import sha256

import numpy as np
import pytest

from confide import ScoreCounts
from confide.errors import BudgetError
from confide.ledger.question import PublicQuestion
from tests.ledger.asking import Book, ask
from tests.ledger.places import Place

SCORES = (0.123456789, 0.31415926, 0.9182736455)
POSITIVES = (7654321, 1357911, 2468101)
NEGATIVES = (8642097, 3141592, 2718281)
COUNTS = ScoreCounts(np.array(SCORES), np.array(POSITIVES), np.array(NEGATIVES))
DATA = b"patient,died,risk\nMallory Quixote,1,0.123456789\n"


def traces() -> list[bytes]:
    """How the data could show: as text, as bytes of either order, as a hash without a key."""
    values = (*SCORES, *POSITIVES, *NEGATIVES, sum(POSITIVES), sum(NEGATIVES), sum(POSITIVES) + sum(NEGATIVES))
    text = [f"{value}"[:8].encode() for value in values]
    packed = [
        struct.pack(order + kind, value) for value in values for order in "<>" for kind in "dq" if _fits(kind, value)
    ]
    counted = b"".join(array.tobytes() for array in (COUNTS.scores, COUNTS.positives, COUNTS.negatives))
    digests = [sha256(counted).digest(), sha256(DATA).digest()]
    return [*text, *packed, *digests, *(one.hex()[:16].encode() for one in digests), b"Quixote"]


def _fits(kind: str, value: float) -> bool:
    return kind == "d" or isinstance(value, int)


def stored(place: Place) -> bytes:
    """Every byte in the folder of the ledger, and every row."""
    files = b"".join(path.read_bytes() for path in sorted(place.key.parent.iterdir()))
    return files + repr(place.dump()).encode()


def test_nothing_private_is_stored(place: Place) -> None:
    with Book(place.url) as ledger:
        ledger.open_account("a", data=[DATA])
        name = ledger.identify([DATA])
        about = PublicQuestion(data=name, label="died")
        release = ledger.release(ask(counts=COUNTS, bins=424242), analyst="ana", question=about).releases[0]
        ledger.release(ask(counts=COUNTS), question=about)
        with pytest.raises(BudgetError) as caught:
            ledger.release(ask(1000, counts=COUNTS), question=about)
    everything = stored(place) + str(caught.value).encode()
    assert [trace for trace in traces() if trace in everything] == []
    # What is public is there, so that the search can find something.
    for public in (repr(release.value).encode(), b"424242", b"ana", name.encode()):
        assert public in everything


def test_the_search_finds_what_leaks(place: Place) -> None:
    with Book(place.url) as ledger:
        ledger.release(ask(counts=COUNTS, threshold=SCORES[0]))
    assert any(trace in stored(place) for trace in traces())


def test_ledgers_with_other_keys_name_data_otherwise(place: Place, sqlite_place: Place) -> None:
    """Or who has some data could see in a ledger whether they are the same."""
    with Book(place.url) as one, Book(f"{sqlite_place.url}2") as other:
        for ledger in (one, other):
            ledger.release(ask())
        assert one.identify([DATA]) != other.identify([DATA])
        ids = [{entry.request_id for entry in ledger.history("a")} - {None} for ledger in (one, other)]
        assert ids[0]
        assert not ids[0] & ids[1]
