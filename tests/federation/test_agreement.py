"""Offers are read strictly: what is not as it should be is refused before it is used."""

from __future__ import annotations

import json
import ssl
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from confide.errors import FederationError, ParameterError
from confide.federation.crypto.agreement import KeyPair, Offer
from confide.federation.crypto.identity import SiteKey
from confide.federation.crypto.secure_sum import MaskedVector
from tests.federation.certificates import NOW
from tests.federation.rounds import ROOT, SITES, offered

OFFER = offered(SITES["east"], KeyPair.fresh()).to_dict()


def test_offers_survive_json() -> None:
    assert Offer.from_dict(json.loads(json.dumps(OFFER))).to_dict() == OFFER
    assert len(json.dumps(OFFER)) < 2_000


@pytest.mark.parametrize(
    "change",
    [
        {"site": ""},
        {"site": "x" * 65},
        {"site": "line\nbreak"},
        {"site": 7},
        {"site": None},
        {"session": "AB" * 16},
        {"session": "ab" * 10},
        {"question": "ab" * 31},
        {"question": "٣" * 64},
        {"public_key": "ab" * 33},
        {"own_key": "ab" * 31},
        {"own_key": "AB" * 32},
        {"own_key": None},
        {"own_signature": "*"},
        {"own_signature": "A" * 4_000},
        {"public_key": "ff" * 32},
        {"public_key": "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"},
        {"certificate": "x" * 20_001},
        {"signature": "*"},
        {"signature": "ü"},
        {"signature": "A" * 4_000},
        {"more": "x"},
    ],
)
def test_malformed_offers(change: dict[str, Any]) -> None:
    with pytest.raises(FederationError, match=r"everywhere|leave that site out"):
        Offer.from_dict({**OFFER, **change})


@pytest.mark.parametrize("plain", [None, [], "text", {}, 7])
def test_what_is_no_message(plain: object) -> None:
    for kind in (Offer, MaskedVector):
        with pytest.raises(FederationError, match="is malformed"):
            kind.from_dict(plain)


def test_an_offer_is_signed_with_both_keys() -> None:
    """Whoever has one of them cannot offer; and a wrong own signature is refused with and without pins."""
    keys, east, north = KeyPair.fresh(), SITES["east"], SITES["north"]
    honest = offered(east, keys)
    pinned = {"east": east.fingerprint()}
    assert honest.verified(ROOT.root, at=NOW, pinned=pinned) is honest
    copied = replace(offered(replace(east, own=north.own), keys), own_key=east.own.public)
    stolen = offered(replace(east, key=north.key), keys)
    for pins in (None, pinned):
        for offer, message in (
            (copied, "offer of site 'east' is not signed by it:"),
            (stolen, "offer of site 'east' is not signed by it:"),
            (replace(honest, own_signature=b""), "offer of site 'east' is not signed by its own key"),
            (replace(honest, own_signature=north.own.sign(b"x")), "offer of site 'east' is not signed by its own key"),
            (replace(honest, own_key=north.own.public), "offer of site 'east' is not signed by it:"),
        ):
            with pytest.raises(FederationError, match=message):
                offer.verified(ROOT.root, at=NOW, pinned=pins)


def test_a_copied_kit_with_the_true_own_key_lacks_its_signature() -> None:
    """The statement that the certificate's key signs names the true own key here, whose signature cannot be made."""
    east, keys = SITES["east"], KeyPair.fresh()

    class Borrowed(SiteKey):
        public = east.own.public

    offer = offered(replace(east, own=Borrowed.fresh()), keys)
    assert offer.own_key == east.own.public
    with pytest.raises(FederationError, match="'east' is not signed by its own key"):
        offer.verified(ROOT.root, at=NOW)


def test_pins_are_of_own_keys_as_people_write_them() -> None:
    east = SITES["east"]
    offer = offered(east, KeyPair.fresh())
    assert east.fingerprint() == sha256(east.own.public).hexdigest()
    spelled = ":".join(east.fingerprint().upper()[at : at + 2] for at in range(0, 64, 2))
    offer.verified(ROOT.root, at=NOW, pinned={"east": spelled})
    certificate = sha256(ssl.PEM_cert_to_DER_cert(east.certificate)).hexdigest()
    for wrong in (certificate, SITES["north"].fingerprint(), "", "0" * 64):
        with pytest.raises(FederationError, match=r"'east' does not have the fingerprint pinned here.* telephone"):
            offer.verified(ROOT.root, at=NOW, pinned={"east": wrong})


def test_sessions_and_questions_are_hexadecimal() -> None:
    for terms in ({"session": "x"}, {"question": "ab"}, {"session": "g" * 32}):
        with pytest.raises(ParameterError, match="hexadecimal digits"):
            offered(SITES["east"], KeyPair.fresh(), **terms)
