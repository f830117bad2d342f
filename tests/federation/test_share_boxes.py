"""Sealed shares: a box opens for one sender, one receiver, one run and one list of sites, and for nobody else."""

from __future__ import annotations

import base64
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from confide.errors import FederationError
from confide.federation.crypto.agreement import Agreement, Offer
from confide.federation.crypto.shares import PRIME, SealingKey, Shares, opened_shares, sealed_shares
from tests.federation.rounds import SITES, Round

NAMES = ("east", "north", "south", "west")
PRIVATE = {name: X25519PrivateKey.generate() for name in NAMES}
KEYS = {name: key.public_key().public_bytes_raw() for name, key in PRIVATE.items()}
SHARES = {name: Shares(key=number, seed=PRIME - 1 - number) for number, name in enumerate(NAMES)}


def offer(name: str) -> Offer:
    return Offer(
        site=name,
        session="0" * 32,
        question="0" * 64,
        public_key=KEYS[name],
        own_key=bytes(32),
        certificate="",
        signature=b"",
        own_signature=b"",
    )


AGREED = Agreement(session="0" * 32, question="0" * 64, offers=tuple(offer(name) for name in NAMES))


def boxes(sender: str) -> dict[str, str]:
    return sealed_shares(SHARES, PRIVATE[sender], KEYS, AGREED, sender)


def opened(box: object, *, sender: str, me: str, agreed: Agreement = AGREED) -> Shares:
    return opened_shares(box, PRIVATE[me], KEYS, agreed, sender=sender, me=me)


def test_each_peer_opens_the_box_for_it_and_no_other() -> None:
    sent = boxes("north")
    assert set(sent) == set(NAMES) - {"north"}
    for me, box in sent.items():
        assert opened(box, sender="north", me=me) == SHARES[me]
        for sender, other in permutations(NAMES, 2):
            if (sender, other) != ("north", me):
                with pytest.raises(FederationError, match="cannot be opened"):
                    opened(box, sender=sender, me=other)


def test_the_two_boxes_of_a_pair_have_different_keys() -> None:
    """Both are sealed under a nonce of zero: with one key, their sum would be that of the shares."""
    same = dict.fromkeys(NAMES, SHARES["east"])
    there = sealed_shares(same, PRIVATE["north"], KEYS, AGREED, "north")["south"]
    back = sealed_shares(same, PRIVATE["south"], KEYS, AGREED, "south")["north"]
    assert there != back


@pytest.mark.parametrize(
    "other",
    [
        replace(AGREED, session="1" * 32),
        replace(AGREED, question="1" * 64),
        replace(AGREED, offers=AGREED.offers[:3]),
        replace(AGREED, offers=(*AGREED.offers[:3], replace(AGREED.offers[3], public_key=KEYS["east"]))),
    ],
    ids=["session", "question", "list", "key of a mask"],
)
def test_a_box_is_for_one_run_and_one_list(other: Agreement) -> None:
    box = boxes("north")["east"]
    with pytest.raises(FederationError, match="another run or another list"):
        opened(box, sender="north", me="east", agreed=other)


def test_changed_short_and_long_boxes_stay_closed() -> None:
    box = base64.b64decode(boxes("north")["east"])
    changed = bytes([box[0] ^ 1]) + box[1:]
    for sealed in (changed, box[:-1], box + b"\0", b"", bytes(len(box))):
        with pytest.raises(FederationError):
            opened(base64.b64encode(sealed).decode(), sender="north", me="east")
    for text in (None, 7, "no base64", ["box"]):
        with pytest.raises(FederationError):
            opened(text, sender="north", me="east")


def test_shares_beyond_the_field_are_refused() -> None:
    plain = Shares(key=1, seed=PRIME - 1).to_bytes()
    assert Shares.from_bytes(plain) == Shares(key=1, seed=PRIME - 1)
    for wrong in (PRIME, PRIME + 1):
        with pytest.raises(FederationError, match="malformed"):
            Shares.from_bytes(wrong.to_bytes(66, "big") + bytes(66))


@pytest.mark.parametrize(
    "other",
    [{"session": "1" * 32}, {"question": "1" * 64}, {"public_key": bytes(32)}],
    ids=lambda changed: next(iter(changed)),
)
def test_a_sealing_key_is_for_one_offer(other: dict[str, Any]) -> None:
    """The server cannot put a key of an earlier run in, whose private half it may have learnt."""
    name = next(iter(SITES))
    offered = Round.of((name, *tuple(SITES)[1:3])).offers[name]
    key = SealingKey.signed(SITES[name], X25519PrivateKey.generate(), offered)
    assert key.verified(offered) is key
    with pytest.raises(FederationError, match=r"sealing key of site .* is not signed"):
        key.verified(replace(offered, **other))
