"""A certificate is believed only if the root issued it, in this name, to a site, for now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

from confide.errors import FederationError, ParameterError
from confide.federation.crypto.identity import Identity, Peer, PrivateKey, SiteKey, fingerprint
from tests.federation.certificates import AUTHORITY, DAY, NOW, Authority, fresh_key, issued, rsa_key

ROOT = Authority.fresh()


def private_pem(key: PrivateKey, encryption: KeySerializationEncryption | None = None) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())


def written(folder: Path, site: Identity) -> tuple[Path, Path, Path, Path]:
    """A site's files as a startup kit has them, and an own key."""
    paths = (folder / "client.crt", folder / "client.key", folder / "rootCA.pem")
    for path, content in zip(
        paths, (site.certificate.encode(), private_pem(site.key), site.root.encode()), strict=True
    ):
        path.write_bytes(content)
    SiteKey.kept(folder / "site.key")
    return *paths, folder / "site.key"


@pytest.mark.parametrize("root", ["rsa", "ec", "ed25519"])
@pytest.mark.parametrize("kind", ["rsa", "ec", "ed25519"])
def test_a_site_signs_and_its_peers_check(tmp_path: Path, root: str, kind: str) -> None:
    authority = Authority.fresh(kind=root)
    site = Identity.load(*written(tmp_path, authority.site("north", kind)))
    peer = Peer.verified("north", site.certificate, authority.root, at=NOW)

    signature = site.sign(b"message")

    assert (site.name, peer.name) == ("north", "north")
    peer.check(signature, b"message", "the offer")
    with pytest.raises(FederationError, match="the offer of site 'north' is not signed by it"):
        peer.check(signature, b"massage", "the offer")
    with pytest.raises(FederationError, match="not signed"):
        peer.check(signature[:-1] + bytes([signature[-1] ^ 1]), b"message", "the offer")
    with pytest.raises(FederationError, match="not signed"):
        peer.check(b"", b"message", "the offer")


def test_what_nvidia_flare_provisions_is_read_and_its_users_are_no_sites(tmp_path: Path) -> None:
    utils = pytest.importorskip("nvflare.lighter.utils")
    key, public = utils.generate_keys()
    project = utils.Identity("project")
    root = utils.serialize_cert(utils.generate_cert(project, project, key, public, ca=True))
    for name, role in (("site-1", None), ("admin@example.org", "project_admin")):
        own, public = utils.generate_keys()
        leaf = utils.serialize_cert(utils.generate_cert(utils.Identity(name, "org", role), project, key, public))
        paths = (tmp_path / "client.crt", tmp_path / "client.key", tmp_path / "rootCA.pem")
        for path, content in zip(paths, (leaf, utils.serialize_pri_key(own), root), strict=True):
            path.write_bytes(content)
        SiteKey.kept(tmp_path / "site.key")
        identity = Identity.load(*paths, tmp_path / "site.key")
        at = x509.load_pem_x509_certificate(leaf).not_valid_before_utc + DAY
        assert identity.name == name
        if role is None:
            peer = Peer.verified(name, identity.certificate, identity.root, at=at)
            peer.check(identity.sign(b"message"), b"message", "the offer")
        else:
            with pytest.raises(FederationError, match="is a user's, not a site's"):
                Peer.verified(name, identity.certificate, identity.root, at=at)


def test_flares_own_signatures_do_not_pass_for_ours() -> None:
    """FLARE signs with the same RSA keys; its salts are longer."""
    utils = pytest.importorskip("nvflare.lighter.utils")
    site = Authority.fresh(kind="rsa").site("north", "rsa")
    peer = Peer.verified("north", site.certificate, site.root, at=NOW)
    with pytest.raises(FederationError, match="not signed"):
        peer.check(utils.sign_content(b"message", site.key, return_str=False), b"message", "the offer")


LEAF = x509.BasicConstraints(ca=False, path_length=None)
NO_USES = ("content_commitment", "data_encipherment", "key_agreement", "key_cert_sign", "crl_sign", "encipher_only")
UNUSED = dict.fromkeys((*NO_USES, "decipher_only", "digital_signature", "key_encipherment"), False)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"until": NOW - DAY / 2}, "has expired or is not valid yet"),
        ({"since": NOW + DAY / 2}, "has expired or is not valid yet"),
        ({"extensions": AUTHORITY}, "is an authority's"),
        ({"extensions": ((x509.KeyUsage(**{**UNUSED, "key_encipherment": True}), True),)}, "is not for signatures"),
        ({"extensions": ((x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"5"), True),)}, "unknown here"),
        ({"role": "lead"}, "is a user's"),
    ],
)
def test_certificates_of_the_root_that_are_not_a_sites(terms: dict[str, object], message: str) -> None:
    site = ROOT.site("north", **terms)  # type: ignore[arg-type]
    with pytest.raises(FederationError, match=f"site 'north' .*{message}"):
        Peer.verified("north", site.certificate, ROOT.root, at=NOW)


@pytest.mark.parametrize(
    "extensions",
    [
        ((LEAF, True),),
        ((x509.KeyUsage(**{**UNUSED, "digital_signature": True}), True),),
        ((x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"5"), False),),
    ],
)
def test_certificates_that_say_more_than_flares_are_a_sites_too(extensions: object) -> None:
    site = ROOT.site("north", extensions=extensions)
    assert Peer.verified("north", site.certificate, ROOT.root, at=NOW).name == "north"


def test_another_name_another_root_or_none() -> None:
    site, twin, key = ROOT.site("north"), Authority.fresh().site("north"), fresh_key()
    itself = issued("north", key, "north", key)
    for name, certificate, message in (
        ("south", site.certificate, "'south' is in another name"),
        ("north", twin.certificate, "was not issued by this federation's root"),
        ("north", itself, "was not issued by this federation's root"),
        ("confide", ROOT.root, "is an authority's"),
        ("north", site.certificate + twin.certificate, "not one certificate in PEM"),
        ("north", "", "not one certificate in PEM"),
        ("north", site.certificate[:300], "not one certificate in PEM"),
        ("north", site.certificate + " " * 20_000, "not one certificate in PEM"),
        ("north", "ü", "not one certificate in PEM"),
    ):
        with pytest.raises(FederationError, match=message):
            Peer.verified(name, certificate, ROOT.root, at=NOW)


def test_a_site_cannot_issue_certificates() -> None:
    """A site's own key signs one for another name: as the site is no authority, calling it the root does not help."""
    site, key = ROOT.site("north"), fresh_key()
    forged = issued("south", key, "north", site.key)
    with pytest.raises(FederationError, match="was not issued by this federation's root"):
        Peer.verified("south", forged, ROOT.root, at=NOW)
    with pytest.raises(FederationError, match="root certificate may not issue"):
        Peer.verified("south", forged, site.certificate, at=NOW)


def test_two_names_in_one_certificate_are_none() -> None:
    key = fresh_key()
    names = [x509.NameAttribute(x509.NameOID.COMMON_NAME, name) for name in ("north", "south")]
    builder = x509.CertificateBuilder(
        issuer_name=x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, ROOT.name)]),
        subject_name=x509.Name(names),
        public_key=key.public_key(),
        serial_number=1,
        not_valid_before=NOW - DAY,
        not_valid_after=NOW + DAY,
    )
    assert isinstance(ROOT.key, ec.EllipticCurvePrivateKey)
    certificate = builder.sign(ROOT.key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()
    for name in ("north", "south"):
        with pytest.raises(FederationError, match="is in another name"):
            Peer.verified(name, certificate, ROOT.root, at=NOW)


def test_weak_certificates() -> None:
    weak = issued("north", rsa_key(1, 1024), ROOT.name, ROOT.key)
    with pytest.raises(FederationError, match="RSA of 2048 bits or more"):
        Peer.verified("north", weak, ROOT.root, at=NOW)
    curve = issued("north", ec.generate_private_key(ec.SECP256K1()), ROOT.name, ROOT.key)
    with pytest.raises(FederationError, match="a NIST curve"):
        Peer.verified("north", curve, ROOT.root, at=NOW)
    short = issued("north", fresh_key(), ROOT.name, ROOT.key, digest=hashes.SHA224())
    with pytest.raises(FederationError, match="was not issued"):
        Peer.verified("north", short, ROOT.root, at=NOW)


def test_a_root_that_expired() -> None:
    site = ROOT.site("north", until=NOW + 800 * DAY)
    with pytest.raises(FederationError, match="root certificate has expired"):
        Peer.verified("north", site.certificate, ROOT.root, at=NOW + 700 * DAY)


def test_a_minted_twin_passes() -> None:
    """Who holds the root's key can be any site; that is why sites have keys of their own, which others pin."""
    minted = ROOT.site("north")
    assert Peer.verified("north", minted.certificate, ROOT.root, at=NOW).name == "north"


def test_times_have_a_zone() -> None:
    with pytest.raises(ParameterError, match="time zone"):
        Peer.verified("north", ROOT.site("north").certificate, ROOT.root, at=NOW.replace(tzinfo=None))


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    site, other = ROOT.site("north"), ROOT.site("south")
    certificate, key, root, own = written(tmp_path, replace(site, key=other.key))
    with pytest.raises(FederationError, match="does not belong to"):
        Identity.load(certificate, key, root, own)
    with pytest.raises(FederationError, match="cannot be read"):
        Identity.load(certificate, tmp_path / "none", root, own)
    with pytest.raises(FederationError, match="holds no RSA, EC or Ed25519 key"):
        Identity.load(certificate, certificate, root, own)
    key.write_bytes(private_pem(site.key, BestAvailableEncryption(b"secret")))
    with pytest.raises(FederationError, match="without a password"):
        Identity.load(certificate, key, root, own)
    key.write_bytes(b"\xff\xfe")
    with pytest.raises(FederationError, match="is not in PEM"):
        Identity.load(certificate, key, root, own)
    key.write_bytes(private_pem(site.key))
    with pytest.raises(FederationError, match=r"the site's own key is missing at .*`confide site request`"):
        Identity.load(certificate, key, root, tmp_path / "none")
    assert Identity.load(certificate, key, root, own).fingerprint() == fingerprint(SiteKey.load(own).public)


def test_nothing_secret_is_shown() -> None:
    site = ROOT.site("north")
    assert isinstance(site.key, ec.EllipticCurvePrivateKey)
    shown = repr(replace(site, certificate="", root=""))
    assert "key" not in shown
    assert "own" not in shown
