"""Keys are made where they are used: requests, signatures, and renewal without loss."""

from __future__ import annotations

import base64
import json
import shutil
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from confide.errors import FederationError, ParameterError, UsageError
from confide.federation.crypto.certificates import Revocations, SiteRequest, fresh_tls_key
from confide.federation.crypto.identity import Peer, SiteKey
from confide.federation.flare.authority import CertificateDates, federation_certificates, site_fingerprints
from confide.federation.flare.job import SignedQuestion, write_job
from confide.federation.flare.kits import (
    make_request,
    renew_site,
    site_home,
    site_identity,
    take_revocations,
    unpack_site_kit,
)
from confide.federation.flare.signing import Federation, provision, read_request, renew_all, revoke_site, sign_request
from confide.federation.question import Question
from confide.federation.site.config import SiteFolder
from tests.federation.joining import join, signed_kit


@pytest.fixture
def made(tmp_path: Path, first: Federation) -> Federation:
    shutil.copytree(first.folder, tmp_path / "net")
    return Federation.load(tmp_path / "net")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return provision(tmp_path_factory.mktemp("made") / "net", name="Stroke", sites=("a", "b"))


def private_keys(folder: Path) -> list[str]:
    """Files that hold a private key."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes())


def test_no_private_key_leaves_a_site(made: Federation, tmp_path: Path) -> None:
    place = SiteFolder(tmp_path / "a")
    before = private_keys(made.folder)
    request, file = make_request(place, "a")
    assert b"PRIVATE" not in file.read_bytes()
    kit = sign_request(made, read_request(file), compared=True).kit
    assert private_keys(made.folder) == before == ["client.key", "root.key", "server.key"]
    key = place.new_key.read_bytes()
    unpack_site_kit(kit, place)
    assert (place.kit / "startup" / "client.key").read_bytes() == key
    assert not place.new_key.exists()
    assert site_identity(place).fingerprint() == request.fingerprint() == site_fingerprints(made)["a"]


def test_nothing_is_signed_before_fingerprints_were_compared(made: Federation, tmp_path: Path) -> None:
    request, _ = make_request(SiteFolder(tmp_path / "a"), "a")
    with pytest.raises(UsageError, match="Telephone the site"):
        sign_request(made, request, compared=False)
    assert not made.site_kit("a").exists()
    sign_request(made, request, compared=True)
    again, _ = make_request(SiteFolder(tmp_path / "a"), "a")
    assert sign_request(made, again, compared=False).known, "the same own key needs no second telephone call"
    stranger, _ = make_request(SiteFolder(tmp_path / "stranger"), "a")
    with pytest.raises(UsageError, match="as before"):
        sign_request(made, stranger, compared=False)


def test_a_request_that_was_changed_on_its_way_is_refused(tmp_path: Path) -> None:
    _, file = make_request(SiteFolder(tmp_path / "a"), "a")
    other = SiteRequest.made("a", fresh_tls_key(), SiteKey.fresh(), at=datetime.now(UTC))
    plain = json.loads(file.read_text())
    swapped = {**plain, "csr": other.csr}
    renamed = {**plain, "site": "b"}
    versions: list[object] = [swapped, renamed]
    for changed in (*versions, {**plain, "own_key": other.own_key.hex()}, {"schema": plain["schema"]}, []):
        file.write_text(json.dumps(changed))
        with pytest.raises(FederationError, match="request"):
            read_request(file)
    with pytest.raises(UsageError, match="there is no file"):
        read_request(tmp_path / "absent")


def test_a_request_of_a_stranger_is_refused(made: Federation, tmp_path: Path) -> None:
    request, _ = make_request(SiteFolder(tmp_path / "c"), "c")
    with pytest.raises(ParameterError, match="add-site"):
        sign_request(made, request, compared=True)
    with pytest.raises(ParameterError, match="give `name`"):
        make_request(SiteFolder(tmp_path / "d"))


def test_certificates_that_end_soon_are_renewed_and_everything_else_stays(made: Federation, tmp_path: Path) -> None:
    place = SiteFolder(tmp_path / "a")
    unpack_site_kit(signed_kit(made, "a", place, days=10), place)
    for name in ("site.db", "policy.toml"):
        (place.path / name).write_text(f"content of {name}")
    before = site_identity(place)
    old = federation_certificates(made)
    assert old["a"].ends_soon
    assert old["a"].days in (9, 10)
    assert not old["server"].ends_soon
    renewed = renew_all(made)
    assert renewed.sites == ("a",)
    assert not federation_certificates(made)["a"].ends_soon
    assert CertificateDates.until(before.ends).ends_soon, "the site has its old certificate until it takes the kit in"
    renew_site(made.site_kit("a"), place)
    after = site_identity(place)
    assert CertificateDates.until(after.ends).days >= 358
    assert after.fingerprint() == before.fingerprint()
    assert after.root_fingerprint() == before.root_fingerprint()
    for name in ("site.db", "policy.toml"):
        assert (place.path / name).read_text() == f"content of {name}"
    Peer.verified("a", after.certificate, before.root, at=old["a"].now)


def test_a_site_can_have_a_new_key_for_tls(made: Federation, tmp_path: Path) -> None:
    place = SiteFolder(tmp_path / "a")
    join(made, "a", place)
    before, key = site_identity(place), (place.kit / "startup" / "client.key").read_bytes()
    request, _ = make_request(place)
    assert (place.kit / "startup" / "client.key").read_bytes() == key, "the present key stays until the kit comes"
    renew_site(sign_request(made, request, compared=False).kit, place)
    assert (place.kit / "startup" / "client.key").read_bytes() != key
    assert site_identity(place).fingerprint() == before.fingerprint()
    with pytest.raises(ParameterError, match="is the site 'a'"):
        make_request(place, "b")


def test_a_kit_of_another_site_or_root_is_not_taken_in(made: Federation, tmp_path: Path) -> None:
    place, other = SiteFolder(tmp_path / "a"), SiteFolder(tmp_path / "b")
    join(made, "a", place)
    before = (place.kit / "startup" / "client.crt").read_bytes()
    with pytest.raises(FederationError):
        renew_site(signed_kit(made, "b", other), place)
    foreign = provision(tmp_path / "foreign", name="Stroke", sites=("a",))
    request, _ = make_request(place)
    kit = sign_request(foreign, request, compared=True).kit
    with pytest.raises(FederationError, match="from another root"):
        renew_site(kit, place)
    assert (place.kit / "startup" / "client.crt").read_bytes() == before
    renew_site(kit, place, compared=True)
    assert site_identity(place).root == foreign.root


def test_a_server_can_move(made: Federation, tmp_path: Path) -> None:
    place = SiteFolder(tmp_path / "a")
    join(made, "a", place)
    moved = renew_all(made, server="hub.example.org", port=443).federation
    assert Federation.load(made.folder) == moved == replace(made, server="hub.example.org", port=443)
    moved.check_kit(moved.server_settings)
    moved.check_kit(moved.coordinator_settings)
    renew_site(moved.site_kit("a"), place)
    assert (site_home(place).server, site_home(place).port) == ("hub.example.org", 443)


def test_without_the_roots_key_nothing_is_signed(made: Federation, tmp_path: Path) -> None:
    shutil.move(made.authority, tmp_path / "locked-away")
    request, _ = make_request(SiteFolder(tmp_path / "a"), "a")
    for sign in (lambda: sign_request(made, request, compared=True), lambda: renew_all(made)):
        with pytest.raises(FederationError, match="locked away"):
            sign()


def test_a_revoked_site_is_signed_for_again_only_with_a_new_key_and_a_telephone_call(
    made: Federation, tmp_path: Path
) -> None:
    place, peer = SiteFolder(tmp_path / "a"), SiteFolder(tmp_path / "b")
    with pytest.raises(ParameterError, match="nothing was signed"):
        revoke_site(made, "a")
    request, _ = make_request(place, "a")
    unpack_site_kit(sign_request(made, request, compared=True).kit, place)
    join(made, "b", peer)
    stolen = site_identity(place).certificate
    first = revoke_site(made, "a")
    assert (first.number, set(first.before)) == (1, {"a"})
    take_revocations(peer, first.to_text())
    known = site_identity(peer).revoked
    with pytest.raises(FederationError, match="was revoked"):
        Peer.verified("a", stolen, made.root, at=datetime.now(UTC), revoked=known)
    assert renew_all(made, days=30).sites == ("b",), "a renewed certificate would be for the same key"
    with pytest.raises(FederationError, match="make a new request"):
        sign_request(made, request, compared=True)
    again, _ = make_request(place)
    with pytest.raises(UsageError, match="Telephone the site"):
        sign_request(made, again, compared=False)
    time.sleep(1.1)  # certificates begin at whole seconds
    renew_site(sign_request(made, again, compared=True).kit, place)
    Peer.verified("a", site_identity(place).certificate, made.root, at=datetime.now(UTC), revoked=known)
    second = revoke_site(made, "b")
    assert (second.number, second.before["a"]) == (2, first.before["a"])
    take_revocations(place, second.to_text())
    take_revocations(place, first.to_text())
    assert set(site_identity(place).revoked) == {"a", "b"}


def test_questions_bring_the_list_to_sites(made: Federation, tmp_path: Path) -> None:
    join(made, "a", SiteFolder(tmp_path / "a"))
    question = Question.checked(study="first", model="m", mode="disclosure-control", sites=("a",))
    signed = SignedQuestion.sign(question, made.coordinator_kit / "startup")

    def arguments(name: str) -> dict[str, str]:
        folder = write_job(tmp_path / name, question, signed, at=("a",), timeout=9.0, revoked=made.revocations())
        config = json.loads((folder / "app" / "config" / "config_fed_client.json").read_text())
        return config["executors"][0]["executor"]["args"]  # type: ignore[no-any-return]

    assert "revoked" not in arguments("before")
    revoke_site(made, "a")
    sent = base64.b64decode(arguments("after")["revoked"]).decode()
    assert Revocations.parse(sent, made.root) == made.revocations()
