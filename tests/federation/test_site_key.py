"""A site's own key is made once, at the site, for its owner alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from confide.errors import FederationError
from confide.federation.crypto.identity import SiteKey, check_signed, fingerprint, has_fingerprint
from tests.federation.certificates import fresh_key

RFC_8032 = (
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    "72",
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d"
    "291612bb0c00",
)
"""Test 2 of section 7.1: public key, message, signature."""


def test_signatures_are_those_of_the_standard() -> None:
    public, message, signature = map(bytes.fromhex, RFC_8032)
    check_signed(public, signature, message, site="north", what="the offer")
    for altered in (signature[:-1], b"", signature[::-1]):
        with pytest.raises(FederationError, match="the offer of site 'north' is not signed by its own key"):
            check_signed(public, altered, message, site="north", what="the offer")
    with pytest.raises(FederationError, match="not signed"):
        check_signed(public[:31], signature, message, site="north", what="the offer")


def test_it_is_made_once_and_read_by_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "site.key"
    made = SiteKey.kept(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().startswith("-----BEGIN PRIVATE KEY-----")
    assert SiteKey.kept(path).public == SiteKey.load(path).public == made.public
    assert SiteKey.kept(tmp_path / "other.key").public != made.public
    assert sorted(file.name for file in tmp_path.iterdir()) == ["other.key", "site.key"]
    check_signed(made.public, SiteKey.load(path).sign(b"message"), b"message", site="north", what="the offer")
    path.chmod(0o640)
    with pytest.raises(FederationError, match=r"others may read the site's own key.*chmod 600"):
        SiteKey.load(path)


def test_a_key_that_is_gone_is_not_made_anew_by_reading(tmp_path: Path) -> None:
    path = tmp_path / "site.key"
    with pytest.raises(
        FederationError, match=r"the site's own key is missing at .*backup, or .*`confide site request`"
    ):
        SiteKey.load(path)
    assert not path.exists()
    with pytest.raises(FederationError, match="cannot be written"):
        SiteKey.kept(tmp_path / "absent" / "site.key")


def test_files_that_hold_something_else(tmp_path: Path) -> None:
    path = tmp_path / "site.key"
    locked = fresh_key("ed25519").private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    for content in (b"", b"\xff\xfe", b"text", SiteKey.kept(path)._pem()[:60], locked):
        path.write_bytes(content)
        with pytest.raises(FederationError, match="holds no Ed25519 key without a password"):
            SiteKey.load(path)


def test_fingerprints_are_compared_whole() -> None:
    key = SiteKey.fresh()
    known = fingerprint(key.public)
    assert has_fingerprint(key.public, known.upper())
    assert not has_fingerprint(key.public, known[:16])
    assert not has_fingerprint(SiteKey.fresh().public, known)


def test_nothing_secret_is_shown() -> None:
    assert repr(SiteKey.fresh()) == "SiteKey()"
