"""Offers are read strictly: what is not as it should be is refused before it is used."""

from __future__ import annotations

import json
from typing import Any

import pytest

from confide.errors import FederationError, ParameterError
from confide.federation.agreement import KeyPair, Offer
from confide.federation.secure_sum import MaskedVector
from tests.federation.rounds import (
    SITES,
    offered,
)

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


def test_sessions_and_questions_are_hexadecimal() -> None:
    for terms in ({"session": "x"}, {"question": "ab"}, {"session": "g" * 32}):
        with pytest.raises(ParameterError, match="hexadecimal digits"):
            offered(SITES["east"], KeyPair.fresh(), **terms)
