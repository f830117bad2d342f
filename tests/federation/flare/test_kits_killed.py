"""A site's keys and certificate survive a process that is killed at any moment, and no key is left lying about."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from confide.errors import ParameterError
from confide.federation.crypto.identity import Peer
from confide.federation.flare import kits
from confide.federation.flare.kits import make_request, renew_site, site_home, site_identity, unpack_site_kit
from confide.federation.flare.signing import Federation, provision, renew_all, sign_request
from confide.federation.site.config import SiteFolder
from confide.tasks.site import request_site
from tests.federation.certificates import rsa_key
from tests.federation.flare.deaths import dies, every_death
from tests.federation.joining import join, signed_kit
from tests.federation.key_files import private_keys

OLD_KEY, NEW_KEY = "the old key", "a new key"


@dataclass(frozen=True)
class Renewal:
    """A site that is about to take in a kit, and its certificate now."""

    federation: Federation
    folder: Path
    kit: Path
    before: str

    def copy(self, target: Path) -> SiteFolder:
        shutil.copytree(self.folder, target)
        return SiteFolder(target)


@pytest.fixture(scope="module", params=[OLD_KEY, NEW_KEY])
def renewal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Renewal:
    """Renew with another key that the site asked for, or with the same one and another address of the server."""
    folder = tmp_path_factory.mktemp("renewal")
    federation = provision(folder / "net", name="Stroke", sites=("a", "b"))
    place = SiteFolder(folder / "a")
    join(federation, "a", place)
    before = site_identity(place).certificate
    if request.param == NEW_KEY:
        kit = signed_kit(federation, "a", place)
    else:
        federation = renew_all(federation, server="hub.example.org").federation
        kit = federation.site_kit("a")
    shutil.copyfile(kit, folder / "a.zip")
    return Renewal(federation, place.path, folder / "a.zip", before)


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


PLACES = {"site.key", "kit/startup/client.key"}


@pytest.mark.long
def test_a_renewal_that_is_killed_leaves_the_old_certificate_or_the_new_one(renewal: Renewal, tmp_path: Path) -> None:
    done = renewal.copy(tmp_path / "done")
    renew_site(renewal.kit, done)
    after = site_identity(done)
    assert after.certificate != renewal.before
    assert private_keys(done.path) == PLACES
    seen = set()

    def run(changes: int) -> bool:
        place = renewal.copy(tmp_path / str(changes))
        died = dies(lambda: renew_site(renewal.kit, place), changes)
        found = site_identity(place)
        seen.add(found.certificate)
        Peer.verified("a", found.certificate, found.root, at=datetime.now(UTC))
        assert site_home(place).federation == "Stroke"
        waiting = {"request.key"} if found.certificate == renewal.before else set()
        assert private_keys(place.path) - waiting == PLACES
        assert not list(place.path.glob(".*"))
        return died

    assert every_death(run) > 12
    assert seen == {renewal.before, after.certificate}


@pytest.mark.long
def test_a_killed_renewal_can_be_repeated(renewal: Renewal, tmp_path: Path) -> None:
    done = renewal.copy(tmp_path / "done")
    renew_site(renewal.kit, done)

    def run(changes: int) -> bool:
        place = renewal.copy(tmp_path / str(changes))
        died = dies(lambda: renew_site(renewal.kit, place), changes)
        assert renew_site(renewal.kit, place) == "a"
        assert tree(place.path) == tree(done.path)
        assert private_keys(place.path) == PLACES
        assert (place.kit / "startup" / "client.crt").read_bytes() == (done.kit / "startup" / "client.crt").read_bytes()
        assert site_home(place) == site_home(done)
        return died

    assert every_death(run) > 12


@pytest.mark.long
def test_a_new_key_can_be_requested_after_any_killed_renewal(
    renewal: Renewal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kits, "fresh_tls_key", lambda: rsa_key(7))

    def run(changes: int) -> bool:
        place = renewal.copy(tmp_path / str(changes))
        died = dies(lambda: renew_site(renewal.kit, place), changes)
        request, _ = make_request(place)
        assert private_keys(place.path) == PLACES | {"request.key"}
        renew_site(sign_request(renewal.federation, request, compared=False).kit, place)
        assert private_keys(place.path) == PLACES
        return died

    assert every_death(run) > 12


@pytest.mark.few(1)
@pytest.mark.processes
def test_a_process_that_is_killed_between_the_two_folders_loses_nothing(renewal: Renewal, tmp_path: Path) -> None:
    """Kill a real process before each renaming; one of them leaves no startup folder."""
    missing = 0
    for number in range(1, 5):
        place = renewal.copy(tmp_path / str(number))
        killed_renewal(renewal, place, number)
        missing += not (place.kit / "startup").exists()
        assert site_identity(place).name == "a"
        assert renew_site(renewal.kit, place) == "a"
        assert site_identity(place).certificate != renewal.before
        assert private_keys(place.path) == PLACES
    assert missing == 1


def killed_renewal(renewal: Renewal, place: SiteFolder, number: int) -> None:
    """Renew in a process that is killed before its n-th renaming: of the settings, and of two folders."""
    code = (
        "import sys; from pathlib import Path\n"
        "from confide.federation.flare.kits import renew_site\n"
        "from confide.federation.site.config import SiteFolder\n"
        "from tests.federation.flare.deaths import kill_before\n"
        f"kill_before('os.rename', {number})\n"
        "renew_site(sys.argv[1], SiteFolder(Path(sys.argv[2])))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, renewal.kit, place.path], check=False, capture_output=True)
    assert ended.returncode == (-signal.SIGKILL if number < 4 else 0), ended.stderr


@pytest.mark.long
def test_a_first_kit_that_is_killed_can_be_taken_in_again(tmp_path: Path) -> None:
    federation = provision(tmp_path / "net", name="Stroke", sites=("a",))
    asked = SiteFolder(tmp_path / "asked")
    kit = signed_kit(federation, "a", asked)

    def run(changes: int) -> bool:
        place = SiteFolder(tmp_path / str(changes))
        shutil.copytree(asked.path, place.path)
        died = dies(lambda: unpack_site_kit(kit, place), changes)
        if not place.kit.exists():
            assert unpack_site_kit(kit, place) == "a"
        assert site_identity(place).name == "a"
        assert private_keys(place.path) == PLACES
        assert not list(place.path.glob(".*"))
        with pytest.raises(ParameterError, match="is a site already"):
            unpack_site_kit(kit, place)
        return died

    assert every_death(run) > 10


@pytest.mark.few(1)
@pytest.mark.parametrize("known", [False, True])
def test_a_request_that_is_killed_can_be_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    federation = provision(tmp_path / "net", name="Stroke", sites=("a",))
    site = SiteFolder(tmp_path / "site")
    join(federation, "a", site)
    monkeypatch.setattr(kits, "fresh_tls_key", lambda: rsa_key(7))

    def run(changes: int) -> bool:
        place = SiteFolder(tmp_path / str(changes))
        if known:
            shutil.copytree(site.path, place.path)
        died = dies(lambda: request_site(place.path, name="a"), changes)
        if known:
            assert site_identity(place).certificate == site_identity(site).certificate
        made = request_site(place.path, name="a")
        assert made.file.exists()
        assert private_keys(place.path) == {"site.key", "request.key"} | (PLACES if known else set())
        assert not list(place.path.glob(".*"))
        return died

    assert every_death(run) > 5


def test_a_request_that_waits_outlives_the_renewal_of_the_present_key(tmp_path: Path) -> None:
    federation = provision(tmp_path / "net", name="Stroke", sites=("a",))
    place = SiteFolder(tmp_path / "a")
    join(federation, "a", place)
    request, file = make_request(place)
    renew_site(renew_all(federation).federation.site_kit("a"), place)
    assert file.exists()
    key = place.new_key.read_bytes()
    renew_site(sign_request(federation, request, compared=False).kit, place)
    assert (place.kit / "startup" / "client.key").read_bytes() == key
    assert not file.exists()
    assert not place.new_key.exists()
