"""What is sealed can be read with the same secret in the same place only."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import FederationError, ParameterError
from confide.federation.crypto.shares import Seal

SEAL = Seal.of(bytes(range(32)))


@given(plain=st.binary(max_size=200), context=st.binary(max_size=50))
def test_opens_what_it_sealed(plain: bytes, context: bytes) -> None:
    assert SEAL.open(SEAL.seal(plain, context), context) == plain


def test_the_same_text_never_looks_the_same() -> None:
    """Equal texts in 1,000 would be a nonce drawn twice: by chance once in 10^23."""
    assert len({SEAL.seal(b"3,1,4", b"") for _ in range(1_000)}) == 1_000


def test_any_changed_bit_is_noticed() -> None:
    text = SEAL.seal(b"3,1,4", b"question 1")
    sealed = base64.b64decode(text.removeprefix("sealed1:"))
    for bit in range(8 * len(sealed)):
        changed = bytearray(sealed)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FederationError, match="cannot be opened"):
            SEAL.open("sealed1:" + base64.b64encode(changed).decode(), b"question 1")


@pytest.mark.parametrize("text", ["", "sealed1:", "sealed1:AAAA", "sealed1:***", "sealed2:AAAA", "ü"])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(FederationError, match="cannot be opened"):
        SEAL.open(text, b"")


def test_another_secret_or_another_place_does_not_open() -> None:
    text = SEAL.seal(b"3,1,4", b"question 1")
    with pytest.raises(FederationError, match="paid for again"):
        SEAL.open(text, b"question 2")
    with pytest.raises(FederationError, match="backup"):
        Seal.of(bytes(32)).open(text, b"question 1")


def test_known_answer() -> None:
    """Texts sealed by an earlier version must open for ever."""
    text = "sealed1:AAECAwQFBgcICQoLiWAosPyW6Dji8Ze9sdZTXLJRye7M"
    assert SEAL.open(text, b"question 1") == b"3,1,4"


def test_a_secret_that_is_short_is_refused() -> None:
    with pytest.raises(ParameterError, match="32 random bytes"):
        Seal.of(b"short")


def test_nothing_secret_is_shown() -> None:
    assert repr(SEAL) == "Seal()"
