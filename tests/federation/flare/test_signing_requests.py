"""Which requests a coordinator signs: those by their own two keys, for RSA, and newer than the last one."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding

from confide.errors import ConfideError, FederationError, ParameterError
from confide.federation.crypto.certificates import SiteRequest
from confide.federation.crypto.identity import Peer, PrivateKey, SiteKey
from confide.federation.flare.authority import SiteRecord, site_record
from confide.federation.flare.kits import make_request, renew_site, unpack_site_kit
from confide.federation.flare.signing import Federation, provision, read_request, renew_all, sign_request
from confide.federation.site.config import SiteFolder
from tests.federation.certificates import fresh_key, issued, rsa_key
from tests.federation.flare.deaths import dies, every_death

SECOND = timedelta(seconds=1)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return provision(tmp_path_factory.mktemp("made") / "net", name="Stroke", sites=("a", "b"))


@pytest.fixture
def made(tmp_path: Path, first: Federation) -> Federation:
    shutil.copytree(first.folder, tmp_path / "net")
    return Federation.load(tmp_path / "net")


def certificate_request(name: str, key: PrivateKey) -> bytes:
    """Return a certificate request (PKCS #10) in DER."""
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    digest = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    signed = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, digest)
    return signed.public_bytes(Encoding.DER)


def as_pem(der: bytes) -> str:
    return x509.load_der_x509_csr(der).public_bytes(Encoding.PEM).decode("ascii")


def well_signed(csr: bytes, *, site: str = "a", own: SiteKey | None = None, at: datetime | None = None) -> SiteRequest:
    """Return a request with any certificate request in it, signed by its own key."""
    own = own or SiteKey.fresh()
    time = at or datetime.now(UTC)
    unsigned = SiteRequest(site=site, csr=as_pem(csr), own_key=own.public, made_at=time, signature=b"")
    return replace(unsigned, signature=own.sign(unsigned._signed))


def record_of(federation: Federation, site: str = "a") -> SiteRecord:
    record = site_record(federation, site)
    assert record is not None
    return record


def certificate_in(kit: Path) -> bytes:
    with zipfile.ZipFile(kit) as packed:
        return packed.read("startup/client.crt")


def is_for(certificate: str, key: PrivateKey) -> bool:
    return x509.load_pem_x509_certificate(certificate.encode()).public_key() == key.public_key()


def test_a_request_signed_by_both_of_its_keys_is_read() -> None:
    request = well_signed(certificate_request("a", rsa_key()))
    assert SiteRequest.parse(request.to_text(), "file") == request
    assert request.public_key == rsa_key().public_key()


def test_a_certificate_request_that_its_key_did_not_sign_is_refused() -> None:
    """Somebody who has not got the private key asks for a certificate of the public one."""
    theirs, mine = certificate_request("a", rsa_key(0)), certificate_request("a", rsa_key(1))
    spliced = theirs[:-256] + mine[-256:]
    assert x509.load_der_x509_csr(spliced).public_key() == rsa_key(0).public_key()
    with pytest.raises(FederationError, match="is not a site's request"):
        SiteRequest.parse(well_signed(spliced).to_text(), "file")


@pytest.mark.parametrize("name", ["b", "A", "a "])
def test_a_certificate_request_in_another_name_is_refused(name: str) -> None:
    with pytest.raises(FederationError, match="is not a site's request"):
        SiteRequest.parse(well_signed(certificate_request(name, rsa_key())).to_text(), "file")


def test_the_time_of_a_request_is_signed() -> None:
    request = well_signed(certificate_request("a", rsa_key()))
    plain = json.loads(request.to_text())
    later = (request.made_at + SECOND).isoformat()
    for time in (later, "2026-11-17T12:00:00", "yesterday", None, 1):
        with pytest.raises(FederationError, match="request"):
            SiteRequest.parse(json.dumps({**plain, "made_at": time}), "file")
    del plain["made_at"]
    with pytest.raises(FederationError, match="is not a site's request"):
        SiteRequest.parse(json.dumps(plain), "file")
    with pytest.raises(ParameterError, match="time zone"):
        SiteRequest.made("a", rsa_key(), SiteKey.fresh(), at=datetime(2026, 1, 1))


def test_a_time_is_the_same_in_every_time_zone() -> None:
    request = well_signed(certificate_request("a", rsa_key()))
    there = request.made_at.astimezone(timezone(timedelta(hours=9)))
    again = SiteRequest.parse(json.dumps({**json.loads(request.to_text()), "made_at": there.isoformat()}), "file")
    assert again.digest == request.digest


@pytest.mark.parametrize(
    "key", [fresh_key("ec"), fresh_key("ed25519"), rsa_key(0, 1024)], ids=["ec", "ed25519", "short"]
)
def test_a_key_that_cannot_be_renewed_is_not_signed(made: Federation, tmp_path: Path, key: PrivateKey) -> None:
    (tmp_path / "a.request").write_text(well_signed(certificate_request("a", key)).to_text())
    with pytest.raises(FederationError, match=r"not for an RSA key of 2048 bits.*`confide site request`"):
        sign_request(made, read_request(tmp_path / "a.request"), compared=True)
    assert site_record(made, "a") is None
    assert not made.site_kit("a").exists()
    assert renew_all(made).sites == ()


def test_a_request_is_signed_only_if_it_is_newer_than_the_last_one(made: Federation) -> None:
    own, now = SiteKey.fresh(), datetime.now(UTC)
    old, new = certificate_request("a", rsa_key(0)), certificate_request("a", rsa_key(1))
    sign_request(made, well_signed(old, own=own, at=now), compared=True)
    assert sign_request(made, well_signed(new, own=own, at=now + SECOND), compared=False).known
    before = record_of(made)
    assert is_for(before.certificate, rsa_key(1))
    kit = certificate_in(made.site_kit("a"))
    for request in (
        well_signed(old, own=own, at=now),
        well_signed(old, own=own, at=now + SECOND),
        well_signed(old, own=SiteKey.fresh(), at=now),
    ):
        for compared in (False, True):
            with pytest.raises(FederationError, match=r"was signed already.*Let the site make a new request"):
                sign_request(made, request, compared=compared)
    assert record_of(made) == before
    assert certificate_in(made.site_kit("a")) == kit
    sign_request(made, well_signed(old, own=own, at=now + 2 * SECOND), compared=False)


def test_an_old_request_that_is_sent_again_does_not_undo_a_new_key(made: Federation, tmp_path: Path) -> None:
    place = SiteFolder(tmp_path / "a")
    _, file = make_request(place, "a")
    shutil.copyfile(file, tmp_path / "replayed.request")
    unpack_site_kit(sign_request(made, read_request(file), compared=True).kit, place)
    _, file = make_request(place)
    renew_site(sign_request(made, read_request(file), compared=False).kit, place)
    with pytest.raises(FederationError, match="was signed already"):
        sign_request(made, read_request(tmp_path / "replayed.request"), compared=False)
    renew_site(renew_all(made).federation.site_kit("a"), place)


def test_the_times_of_sites_are_apart(made: Federation) -> None:
    now = datetime.now(UTC)
    sign_request(made, well_signed(certificate_request("a", rsa_key()), at=now), compared=True)
    sign_request(made, well_signed(certificate_request("b", rsa_key()), site="b", at=now - SECOND), compared=True)


def test_the_same_request_gives_the_same_certificate(made: Federation) -> None:
    request = well_signed(certificate_request("a", rsa_key()))
    sign_request(made, request, compared=True)
    before, kit = record_of(made), certificate_in(made.site_kit("a"))
    made.site_kit("a").unlink()
    assert sign_request(made, request, compared=False).known
    assert record_of(made) == before
    assert certificate_in(made.site_kit("a")) == kit
    renew_all(made)
    renewed = record_of(made)
    assert renewed.certificate != before.certificate
    sign_request(made, request, compared=False)
    assert record_of(made) == renewed


def test_the_same_request_can_have_other_dates(made: Federation) -> None:
    request = well_signed(certificate_request("a", rsa_key()))
    sign_request(made, request, compared=True)
    before = record_of(made)
    sign_request(made, request, compared=False, days=20)
    after = record_of(made)
    assert is_for(after.certificate, rsa_key())
    Peer.verified("a", after.certificate, made.root, at=datetime.now(UTC) + timedelta(days=19))
    with pytest.raises(FederationError, match="expired"):
        Peer.verified("a", after.certificate, made.root, at=datetime.now(UTC) + timedelta(days=21))
    assert before.lasts(360, at=datetime.now(UTC))
    assert not before.lasts(360, at=datetime.now(UTC) + timedelta(days=361)), "an expired one is issued anew"


def test_a_request_from_the_future_is_refused(made: Federation) -> None:
    """It would keep all requests out until then."""
    csr, now = certificate_request("a", rsa_key()), datetime.now(UTC)
    with pytest.raises(FederationError, match=r"still to come\. Compare the clocks"):
        sign_request(made, well_signed(csr, at=now + timedelta(hours=2)), compared=True)
    assert site_record(made, "a") is None
    sign_request(made, well_signed(csr, at=now + timedelta(minutes=50)), compared=True)


def test_a_record_without_a_time_is_older_than_any_request(made: Federation) -> None:
    own, path = SiteKey.fresh(), made.site_record("a")
    request = well_signed(certificate_request("a", rsa_key()), own=own)
    sign_request(made, request, compared=True)
    plain = json.loads(path.read_text())
    path.write_text(json.dumps({key: plain[key] for key in ("certificate", "own_key")}))
    assert sign_request(made, request, compared=False).known
    assert json.loads(path.read_text()).keys() == plain.keys()


@pytest.mark.parametrize("time", ["soon", None, 5, "2026-11-17T12:00:00"])
def test_a_record_with_a_damaged_time_signs_nothing(made: Federation, time: object) -> None:
    own, path = SiteKey.fresh(), made.site_record("a")
    sign_request(made, well_signed(certificate_request("a", rsa_key()), own=own), compared=True)
    path.write_text(json.dumps({**json.loads(path.read_text()), "request_time": time}))
    with pytest.raises(FederationError, match="cannot be read; put it back from a backup"):
        sign_request(made, well_signed(certificate_request("a", rsa_key()), own=own), compared=True)


def test_signing_that_is_killed_can_be_repeated(made: Federation, tmp_path: Path) -> None:
    request = well_signed(certificate_request("a", rsa_key()))

    def run(changes: int) -> bool:
        folder = tmp_path / str(changes)
        shutil.copytree(made.folder, folder)
        federation = Federation.load(folder)
        died = dies(lambda: sign_request(federation, request, compared=True), changes)
        kit = sign_request(federation, request, compared=True).kit
        assert certificate_in(kit).decode() == record_of(federation).certificate
        assert is_for(record_of(federation).certificate, rsa_key())
        return died

    assert every_death(run) > 3


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder, but for those that a killed process had not finished."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def signed_sites(federation: Federation) -> None:
    for number, site in enumerate(federation.sites):
        csr = certificate_request(site, rsa_key(number))
        sign_request(federation, well_signed(csr, site=site), compared=True)


def with_other_key(federation: Federation) -> None:
    """Put a certificate that cannot be renewed into the record of the last site."""
    key = fresh_key("ec")
    replace(record_of(federation, "b"), certificate=issued("b", key, "b", key)).write(federation.site_record("b"))


def with_damaged_certificate(federation: Federation) -> None:
    replace(record_of(federation, "b"), certificate="none").write(federation.site_record("b"))


def with_damaged_record(federation: Federation) -> None:
    federation.site_record("b").write_text("{}")


def with_damaged_settings(federation: Federation) -> None:
    federation.coordinator_settings.write_text("{}")


def without_coordinator(federation: Federation) -> None:
    (federation.coordinator_kit / "startup" / "client.crt").unlink()


@pytest.mark.parametrize(
    "damage",
    [with_other_key, with_damaged_certificate, with_damaged_record, with_damaged_settings, without_coordinator],
)
def test_a_renewal_that_fails_changes_nothing(made: Federation, damage: Callable[[Federation], None]) -> None:
    signed_sites(made)
    damage(made)
    before = contents(made.folder)
    with pytest.raises(ConfideError, match=r"site 'b'|b\.json|fed_admin|client\.crt"):
        renew_all(made, days=3000, server="hub.example.org", port=443)
    assert contents(made.folder) == before


@pytest.mark.long
def test_a_renewal_that_is_killed_can_be_repeated(made: Federation, tmp_path: Path) -> None:
    signed_sites(made)
    sites = {}

    def run(changes: int) -> bool:
        folder = tmp_path / str(changes)
        shutil.copytree(made.folder, folder)
        federation = Federation.load(folder)
        died = dies(lambda: renew_all(federation, days=3650, server="hub.example.org", port=443), changes)
        sites[changes] = Federation.load(folder).server
        if died and sites[changes] != made.server:
            assert_whole(Federation.load(folder), "hub.example.org", 443)
        renew_all(Federation.load(folder), days=3650, server="hub.example.org", port=443)
        assert_whole(Federation.load(folder), "hub.example.org", 443)
        renew_all(Federation.load(folder), server=made.server, port=made.port)
        assert_whole(Federation.load(folder), made.server, made.port)
        return died

    assert every_death(run) > 15
    assert set(sites.values()) == {made.server, "hub.example.org"}


def assert_whole(federation: Federation, server: str, port: int) -> None:
    """Check that all certificates, settings and kits have this address, and are of one root."""
    assert (federation.server, federation.port) == (server, port)
    federation.check_kit(federation.server_settings)
    federation.check_kit(federation.coordinator_settings)
    now, startup = datetime.now(UTC), federation.server_kit / "startup"
    Peer.verified(server, (startup / "server.crt").read_text(), federation.root, at=now)
    for site in federation.sites:
        record = record_of(federation, site)
        Peer.verified(site, record.certificate, federation.root, at=now)
        with zipfile.ZipFile(federation.site_kit(site)) as kit:
            assert kit.read("startup/client.crt").decode() == record.certificate
            assert kit.read("startup/rootCA.pem").decode() == federation.root
            assert f'"{server}:{port}"' in kit.read("startup/fed_client.json").decode()
