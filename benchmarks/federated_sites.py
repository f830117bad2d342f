"""Sites of a federation for benchmarks: certificates as NVIDIA FLARE issues them, folders as a site has them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding

from confide.federation.crypto.agreement import KeyPair, Offer
from confide.federation.crypto.identity import Identity, SiteKey
from confide.federation.modes.registry import MODES
from confide.federation.policy import default_policy
from confide.federation.site.config import SiteConfig, SiteFolder, SiteModel
from confide.federation.site.records import SiteRecords
from confide.federation.site.site import Site

MODEL = "risk"
SESSION = "0123456789abcdef" * 2

_ROOT = "benchmark"


@cache
def identity(name: str) -> Identity:
    """A site with a certificate of one and the same root; both have RSA keys of 2,048 bits, which take a while."""
    return Identity(name=name, certificate=_issued(name), root=_issued(_ROOT), key=_key(name), own=SiteKey.fresh())


@cache
def _key(name: str) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def _issued(name: str) -> str:
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(_named(_ROOT))
        .public_key(_key(name).public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
    )
    if name == _ROOT:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return builder.sign(_key(_ROOT), hashes.SHA256()).public_bytes(Encoding.PEM).decode("ascii")


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def open_site(folder: Path, owner: Identity, model: SiteModel) -> Site:
    """A new site with one model, whose policy allows the study `benchmark` and every mode."""
    place = SiteFolder(folder)
    place.path.mkdir(parents=True)
    SiteConfig(name=owner.name, models={MODEL: model}).write(place.path)
    place.policy.write_text(default_policy(studies=["benchmark"], modes=tuple(MODES)), encoding="utf-8")
    SiteRecords(place).begin()
    return Site.open(place.path, owner, coordinator="coordinator@benchmark")


def offers_of(names: Iterable[str], question: str) -> list[Offer]:
    """What sites offer that have accepted, each with a fresh key."""
    return [Offer.signed(identity(name), KeyPair.fresh(), session=SESSION, question=question) for name in names]
