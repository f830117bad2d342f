"""`confide site init` that is killed at any moment: the same command finishes its work, and nothing is lost."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from confide.errors import FederationError, UsageError
from confide.federation.flare.kits import site_identity
from confide.federation.flare.signing import provision
from confide.federation.policy import Policy
from confide.federation.site.config import SiteConfig, SiteFolder
from confide.federation.site.records import REQUESTS, SiteRecords
from confide.ledger.ledger import Ledger
from confide.tasks.site import add_model, check_site, init_site
from confide.tasks.site_status import site_status
from tests.federation.flare.deaths import dies, every_death
from tests.federation.joining import signed_kit
from tests.federation.key_files import private_keys

WHOLE = {
    *("kit", "policy.toml", "site.key", "site.toml"),
    *("site.db", "site.db.key", "site.db.anchor", "site.db.anchor.lock"),
}


@dataclass(frozen=True)
class Requested:
    """A folder with the keys of a request, the kit that was signed for it, and rows."""

    folder: Path
    kit: Path
    rows: Path

    def copy(self, target: Path) -> SiteFolder:
        shutil.copytree(self.folder, target)
        return SiteFolder(target)

    def init(self, place: SiteFolder, **options: str) -> None:
        given = {"model_name": "m", "data": self.rows, "label": "y", "score": "s", **options}
        init_site(self.kit, place.path, **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def requested(tmp_path_factory: pytest.TempPathFactory) -> Requested:
    folder = tmp_path_factory.mktemp("requested")
    place, rows = SiteFolder(folder / "a"), folder / "rows.csv"
    kit = signed_kit(provision(folder / "net", name="Stroke", sites=("a",)), "a", place)
    rows.write_text("y,s\n" + "1,0.7\n0,0.2\n" * 10, encoding="utf-8")
    return Requested(place.path, kit, rows)


def require_whole(requested: Requested, place: SiteFolder) -> None:
    """Check that a site has all its files and no others, the key that it made first, and an account with all caps."""
    assert {path.name for path in place.path.iterdir()} == WHOLE
    assert private_keys(place.path) == {"site.key", "kit/startup/client.key"}
    for mine, name in ((place.key, "site.key"), (place.kit / "startup" / "client.key", "request.key")):
        assert mine.read_bytes() == (requested.folder / name).read_bytes()
    assert site_identity(place).name == SiteConfig.load(place.path).name == "a"
    with Ledger(place.database) as ledger:
        assert [account.caps.total.epsilon for account in ledger.accounts()] == [3]
    assert Policy.load(place.policy).studies == ("Stroke",)


@pytest.mark.long
@pytest.mark.usefixtures("unpadded_ledgers")
def test_the_same_call_finishes_what_a_killed_one_began(requested: Requested, tmp_path: Path) -> None:
    unfinished = 0

    def run(changes: int) -> bool:
        nonlocal unfinished
        place = requested.copy(tmp_path / str(changes))
        died = dies(lambda: requested.init(place), changes)
        if place.config.exists():
            check_site(place.path)
        else:
            unfinished += place.kit.exists()
            requested.init(place)
        require_whole(requested, place)
        with pytest.raises(UsageError, match="is a site already"):
            requested.init(place)
        shutil.rmtree(place.path)
        return died

    assert every_death(run) > 20
    assert unfinished > 5


@pytest.mark.few(1)
@pytest.mark.processes
@pytest.mark.parametrize(
    ("before", "there"),
    [("kit", {"kit": False}), ("policy.toml", {"kit": True}), ("site.toml", {"policy.toml": True, "site.db": True})],
)
def test_a_real_process_that_is_killed_between_two_files_loses_nothing(
    requested: Requested, tmp_path: Path, before: str, there: dict[str, bool]
) -> None:
    place = requested.copy(tmp_path / "a")
    code = (
        "import sys\n"
        "from confide.tasks.site import init_site\n"
        "from tests.federation.flare.deaths import kill_before\n"
        f"kill_before('os.rename', of='/a/{before}')\n"
        "init_site(sys.argv[1], sys.argv[2], model_name='m', data=sys.argv[3], label='y', score='s')\n"
    )
    words = [sys.executable, "-c", code, *map(str, (requested.kit, place.path, requested.rows))]
    ended = subprocess.run(words, check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert {name: (place.path / name).exists() for name in there} == there
    assert not place.config.exists()
    requested.init(place)
    require_whole(requested, place)


@pytest.mark.parametrize("step", ["Ledger", "SiteConfig"])
def test_a_step_that_fails_can_be_repeated(
    requested: Requested, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A full disk, for example."""
    place = requested.copy(tmp_path / "a")

    def fail(*given: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        module = {"Ledger": "confide.ledger.ledger.Ledger", "SiteConfig": "confide.federation.site.config.SiteConfig"}
        patch.setattr(module[step], fail)
        with pytest.raises(OSError, match="No space left"):
            requested.init(place)
    with pytest.raises(UsageError, match="is not a site's folder; make one with `confide site init`"):
        site_status(place.path)
    requested.init(place)
    require_whole(requested, place)


def test_another_kit_may_finish_what_was_begun(requested: Requested, tmp_path: Path) -> None:
    """The coordinator made the federation anew while the site was half set up."""
    place = requested.copy(tmp_path / "a")
    requested.init(place)
    place.config.unlink()
    other = signed_kit(provision(tmp_path / "net", name="Stroke", sites=("a",)), "a", place)
    root = site_identity(place).root
    Requested(requested.folder, other, requested.rows).init(place)
    assert site_identity(place).root != root
    assert {path.name for path in place.path.iterdir()} == WHOLE


def test_rules_that_stand_in_a_policy_are_not_replaced(requested: Requested, tmp_path: Path) -> None:
    place = requested.copy(tmp_path / "a")
    requested.init(place)
    place.config.unlink()
    place.policy.write_text(place.policy.read_text() + "# ours\n")
    with pytest.raises(UsageError, match="with other rules than these options give"):
        requested.init(place)
    assert place.policy.read_text().endswith("# ours\n")
    assert not place.config.exists()


@pytest.mark.parametrize("used", ["asked", "started", "damaged"])
def test_a_site_that_was_used_is_not_set_up_again(requested: Requested, tmp_path: Path, used: str) -> None:
    """Its configuration was lost: its records stay as they are."""
    place = requested.copy(tmp_path / "a")
    requested.init(place)
    if used == "asked":
        SiteRecords(place).append(REQUESTS, {"state": "refused"})
    elif used == "started":
        (place.path / "run").mkdir()
    else:
        place.database.write_text("damaged")
    place.config.unlink()
    kept = {path.name: path.read_bytes() for path in place.path.glob("site.db*")}
    with pytest.raises(FederationError, match=r"site\.toml is missing; put that file back from a backup"):
        requested.init(place)
    assert {path.name: path.read_bytes() for path in place.path.glob("site.db*")} == kept


def test_a_site_that_was_finished_meanwhile_is_left_alone(
    requested: Requested, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people set up one folder: who reads the data for longer comes too late."""
    from confide.federation.site import checks as data_check

    place, check = requested.copy(tmp_path / "a"), data_check.check_data

    def slow(*given: object) -> object:
        monkeypatch.setattr(data_check, "check_data", check)
        requested.init(place)
        add_model(place.path, "n", same_as="m")
        return check(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(data_check, "check_data", slow)
    with pytest.raises(UsageError, match="is a site already"):
        requested.init(place)
    assert SiteConfig.load(place.path).names == ("m", "n")
