"""Making federations and taking kits in."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from confide.errors import FederationError, ParameterError, UsageError
from confide.federation.crypto.identity import Peer, SiteKey, fingerprint
from confide.federation.flare.kits import Home, make_request, renew_site, site_home, site_identity, unpack_site_kit
from confide.federation.flare.processes import delete_runs, find_running, start_server, start_site
from confide.federation.flare.session import open_session
from confide.federation.flare.signing import Federation, add_site, provision
from confide.federation.site.config import SiteFolder
from tests.federation.joining import join, signed_kit


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return provision(tmp_path_factory.mktemp("made") / "federation", name="Stroke 2026", sites=("a", "b-2"))


def with_members(kit: Path, target: Path, change: dict[str, bytes | None]) -> Path:
    """A copy of a kit with some files changed, added or left out."""
    with zipfile.ZipFile(kit) as source:
        members: dict[str, bytes | None] = {name: source.read(name) for name in source.namelist()}
    with zipfile.ZipFile(target, "w") as copy:
        for name, content in {**members, **change}.items():
            if content is not None:
                copy.writestr(name, content)
    return target


def test_a_federation_is_read_as_it_was_made(made: Federation) -> None:
    assert Federation.load(made.folder) == made
    assert (made.name, made.server, made.sites) == ("Stroke 2026", "localhost", ("a", "b-2"))
    assert made.coordinator == "coordinator@stroke-2026.confide"
    assert made.root.startswith("-----BEGIN CERTIFICATE-----")
    with pytest.raises(ParameterError, match="no site 'c' in this federation; its sites are a, b-2"):
        made.site_kit("c")


def test_nobody_else_can_read_anything(made: Federation) -> None:
    for parent, folders, files in os.walk(made.folder):
        for name in (*folders, *files):
            mode = stat.S_IMODE((Path(parent) / name).stat().st_mode)
            assert not mode & 0o077, f"{parent}/{name}"


def test_the_authority_keeps_no_keys_of_sites(made: Federation) -> None:
    assert {path.name for path in made.authority.iterdir()} == {"root.crt", "root.key"}
    found = [file.name for file in made.folder.rglob("*.key")]
    assert sorted(found) == ["client.key", "root.key", "server.key"]


def test_a_kit_makes_a_site(made: Federation, tmp_path: Path) -> None:
    place = SiteFolder(tmp_path / "site")
    assert join(made, "b-2", place) == "b-2"
    identity = site_identity(place)
    assert identity.fingerprint() == fingerprint(SiteKey.load(place.key).public)
    assert stat.S_IMODE(place.key.stat().st_mode) == 0o600
    assert Peer.verified("b-2", identity.certificate, made.root, at=datetime.now(UTC)).name == "b-2"
    assert site_home(place) == Home(federation="Stroke 2026", server="localhost", port=made.port)
    settings = json.loads((place.kit / "startup" / "fed_client.json").read_text())
    assert settings["client"]["connection_security"] == "mtls"
    assert settings["require_signed_jobs"] is True
    with pytest.raises(ParameterError, match="is a site already"):
        unpack_site_kit(made.site_kit("b-2"), place)


@pytest.mark.parametrize(
    "change",
    [
        {"../outside.txt": b"x"},
        {"startup/../../outside.txt": b"x"},
        {"local/resources.json": b"{}"},
        {"startup/client.crt": None},
        {"startup/client.key": b"a key that the coordinator made"},
        {"startup/fed_client.json": b"no JSON"},
        {"startup/fed_client.json": b"{}"},
        {"startup/client.crt": b"x" * 200_000},
    ],
)
def test_what_is_no_kit_is_refused(made: Federation, tmp_path: Path, change: dict[str, bytes | None]) -> None:
    place = SiteFolder(tmp_path / "site")
    broken = with_members(signed_kit(made, "a", place), tmp_path / "kit.zip", change)
    with pytest.raises(FederationError, match="is not a site's kit; ask the coordinator"):
        unpack_site_kit(broken, place)
    assert not (tmp_path / "site" / "kit").exists()
    assert not (tmp_path / "outside.txt").exists()


def test_a_kit_is_for_the_request_that_it_answers(made: Federation, tmp_path: Path) -> None:
    first, second = SiteFolder(tmp_path / "site"), SiteFolder(tmp_path / "thief")
    kit = signed_kit(made, "a", first)
    content = kit.read_bytes()
    signed_kit(made, "a", second)
    (tmp_path / "kit.zip").write_bytes(content)
    with pytest.raises(FederationError, match="does not belong to"):
        unpack_site_kit(tmp_path / "kit.zip", second)
    assert unpack_site_kit(tmp_path / "kit.zip", first) == "a"


def certified(federation: Federation, kit: Path, days: tuple[int, int]) -> bytes:
    """Return a certificate for the key in a kit, from a federation's root, valid from one day to another from now."""
    root = load_pem_private_key((federation.authority / "root.key").read_bytes(), None)
    assert isinstance(root, rsa.RSAPrivateKey)
    with zipfile.ZipFile(kit) as packed:
        old = x509.load_pem_x509_certificate(packed.read("startup/client.crt"))
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(
        subject_name=old.subject, issuer_name=old.issuer, public_key=old.public_key(), serial_number=1
    )
    dated = builder.not_valid_before(now + timedelta(days[0])).not_valid_after(now + timedelta(days[1]))
    return dated.sign(root, hashes.SHA256()).public_bytes(Encoding.PEM)


@pytest.mark.few(2)
@pytest.mark.parametrize("taken_in_by", ["init", "renew"])
@pytest.mark.parametrize(
    ("days", "foreign", "message"),
    [
        ((-1, 9), False, None),
        ((-9, -1), False, "has expired or is not valid yet"),
        ((1, 9), False, "has expired or is not valid yet"),
        ((-1, 9), True, "was not issued by this federation's root"),
    ],
)
def test_a_certificate_for_the_right_key_must_be_valid_and_of_the_root(
    made: Federation, tmp_path: Path, taken_in_by: str, days: tuple[int, int], foreign: bool, message: str | None
) -> None:
    place = SiteFolder(tmp_path / "site")
    signed = signed_kit(made, "a", place)
    if taken_in_by == "renew":
        unpack_site_kit(signed, place)
    issuer = provision(tmp_path / "foreign", name="Stroke 2026", sites=("a",)) if foreign else made
    kit = with_members(signed, tmp_path / "kit.zip", {"startup/client.crt": certified(issuer, signed, days)})
    take_in = renew_site if taken_in_by == "renew" else unpack_site_kit
    if message is None:
        assert take_in(kit, place) == "a"
        return
    before = sorted(place.path.rglob("*"))
    with pytest.raises(FederationError, match=message):
        take_in(kit, place)
    assert sorted(place.path.rglob("*")) == before


@pytest.mark.parametrize(("old", "new"), [(b'"mtls"', b'"clear"'), (b'"mtls"', b'"tls"'), (b'"http"', b'"tcp"')])
def test_a_server_without_mutual_tls_is_refused(made: Federation, tmp_path: Path, old: bytes, new: bytes) -> None:
    place = SiteFolder(tmp_path / "site")
    signed = signed_kit(made, "a", place)
    with zipfile.ZipFile(signed) as kit:
        settings = kit.read("startup/fed_client.json")
    assert old in settings
    weak = with_members(signed, tmp_path / "kit.zip", {"startup/fed_client.json": settings.replace(old, new)})
    with pytest.raises(FederationError, match="without certificates on both sides"):
        unpack_site_kit(weak, place)


def test_files_that_are_not_there_or_not_zip_are_refused(tmp_path: Path) -> None:
    place = SiteFolder(tmp_path / "site")
    with pytest.raises(ParameterError, match="has made no request"):
        unpack_site_kit(tmp_path / "absent.zip", place)
    make_request(place, "a")
    with pytest.raises(ParameterError, match="there is no file"):
        unpack_site_kit(tmp_path / "absent.zip", place)
    (tmp_path / "text.zip").write_text("text")
    with pytest.raises(FederationError, match="is not a site's kit"):
        unpack_site_kit(tmp_path / "text.zip", place)


def test_the_own_key_is_not_made_anew_in_silence(made: Federation, tmp_path: Path) -> None:
    place = SiteFolder(tmp_path / "site")
    join(made, "a", place)
    place.key.unlink()
    for use in (site_identity, start_site):
        with pytest.raises(FederationError, match="site's own key is missing"):
            use(place)


def test_sites_can_be_added(made: Federation, tmp_path: Path) -> None:
    copy = tmp_path / "federation"
    shutil.copytree(made.folder, copy)
    larger = add_site(Federation.load(copy), "c")
    assert larger.sites == ("a", "b-2", "c")
    assert Federation.load(copy) == larger
    place = SiteFolder(tmp_path / "site")
    assert join(larger, "c", place) == "c"
    Peer.verified("c", site_identity(place).certificate, made.root, at=datetime.now(UTC))
    with pytest.raises(ParameterError, match="named once"):
        add_site(larger, "C")


@pytest.mark.parametrize(
    "wrong",
    [
        {"sites": ("a", "A")},
        {"sites": ()},
        {"sites": ("a/b",)},
        {"sites": ("server",)},
        {"sites": ("-a",)},
        {"sites": ("localhost",)},
        {"name": 'a"b'},
        {"name": ""},
        {"server": "http://x"},
        {"port": 0},
        {"sites": ("root",)},
        {"port": True},
    ],
)
def test_bad_names_are_refused_before_anything_is_made(tmp_path: Path, wrong: dict[str, object]) -> None:
    given: dict[str, object] = {"name": "x", "sites": ("a",), **wrong}
    with pytest.raises(ParameterError):
        provision(tmp_path / "federation", **given)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ParameterError, match="exists already"):
        provision(tmp_path, name="x", sites=("a",))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_damaged_settings_say_so(made: Federation, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a federation's folder; make one with `confide federation init`"):
        Federation.load(tmp_path)
    (tmp_path / "federation.toml").write_text('name = "x"\n')
    with pytest.raises(FederationError, match="is not as `confide federation init` wrote it"):
        Federation.load(tmp_path)


def test_a_port_in_use_is_said(made: Federation) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", made.port))
        other.listen()
        with pytest.raises(FederationError, match=f"port {made.port} is used by another program.*federation renew"):
            start_server(made)
    assert find_running(made) is None


def test_a_port_that_was_changed_by_hand_is_said_before_anything_starts(made: Federation) -> None:
    moved = replace(made, port=made.port + 1)
    said = f"all kits were made for localhost:{made.port}; put that back"
    with pytest.raises(FederationError, match=said):
        start_server(moved)
    with pytest.raises(FederationError, match=said), open_session(moved):
        pass
    assert find_running(made) is None


def test_old_runs_are_deleted_and_nothing_else(tmp_path: Path) -> None:
    run = "574bc575-df31-488f-8604-f2057c769ac1"
    kept = ("startup", "jobs", "local", "not-a-run-at-all", run.upper())
    for name in (run, f"jobs/{run}", f"transfer/{run}", *kept):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "log.txt").write_text("what was asked")
    delete_runs(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*kept, "transfer"}
    assert [path.name for path in (tmp_path / "jobs").iterdir()] == ["log.txt"]
    assert list((tmp_path / "transfer").iterdir()) == []


def test_a_folder_without_a_kit_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(FederationError, match="there is no kit in"):
        start_site(SiteFolder(tmp_path))


def test_a_process_number_that_another_program_has_now_is_not_ours(made: Federation) -> None:
    run = made.folder / "run"
    run.mkdir(exist_ok=True)
    note = {"pid": os.getpid(), "began": 0.0, "kit": str(made.server_kit)}
    (run / "engine.json").write_text(json.dumps(note))
    try:
        assert find_running(made) is None
    finally:
        (run / "engine.json").unlink()
