"""`confide federation init` that is killed at any moment: no key is left in a forgotten place, or readable."""

from __future__ import annotations

import shutil
import signal
import stat
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
from nvflare.lighter.impl import cert

from confide.errors import FederationError, ParameterError, UsageError
from confide.federation.flare import signing as making
from confide.federation.flare.authority import Authority
from confide.federation.flare.federation import UNFINISHED
from confide.federation.flare.signing import Federation, provision
from confide.tasks.federation import init_federation, start_server
from tests.federation.certificates import rsa_key
from tests.federation.flare.deaths import dies, every_death
from tests.federation.key_files import private_keys

KEYS = {"authority/root.key", "coordinator/startup/client.key", "server/startup/server.key"}


@pytest.fixture
def quick_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let FLARE use keys that were made before."""
    numbers = count()

    def keys() -> tuple[object, object]:
        key = rsa_key(next(numbers) % 3)
        return key, key.public_key()

    monkeypatch.setattr(cert, "generate_keys", keys)


def make(folder: Path) -> Federation:
    return init_federation(folder, name="Stroke", sites=("a", "b"))


def require_hidden(parent: Path) -> None:
    """Check that everything is in the federation's folder, which nobody else may enter."""
    assert {path.name for path in parent.iterdir()} <= {"net"}
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in parent.iterdir())


def require_whole(federation: Federation) -> None:
    assert Federation.load(federation.folder) == federation
    assert {path.name for path in federation.folder.iterdir()} == {
        "authority",
        "coordinator",
        "federation.toml",
        "server",
    }
    assert private_keys(federation.folder) == KEYS
    assert Authority.load(federation.authority).root_pem.strip() == federation.root.strip()


@pytest.mark.long
@pytest.mark.usefixtures("quick_keys")
def test_the_same_call_begins_anew_and_removes_all_keys_of_a_killed_one(tmp_path: Path) -> None:
    with_keys = 0

    def run(changes: int) -> bool:
        nonlocal with_keys
        parent = tmp_path / str(changes)
        parent.mkdir()
        died = dies(lambda: make(parent / "net"), changes)
        require_hidden(parent)
        if not (parent / "net" / "federation.toml").exists():
            with_keys += bool(private_keys(parent))
            with pytest.raises(UsageError, match=r"make .* with `confide federation init`"):
                start_server(parent / "net")
            require_whole(make(parent / "net"))
        else:
            assert private_keys(parent / "net") == KEYS
            with pytest.raises(UsageError, match="exists already"):
                make(parent / "net")
        require_hidden(parent)
        shutil.rmtree(parent)
        return died

    assert every_death(run) > 40
    assert with_keys > 20


@pytest.mark.few(1)
@pytest.mark.processes
@pytest.mark.parametrize("before", ["/net/server", "/net/authority/root.key", "/net/federation.toml"])
def test_a_real_process_that_is_killed_leaves_keys_nowhere_else(tmp_path: Path, before: str) -> None:
    code = (
        "import sys\n"
        "from confide.tasks.federation import init_federation\n"
        "from tests.federation.flare.deaths import kill_before\n"
        f"kill_before('os.rename', of='{before}')\n"
        "init_federation(sys.argv[1], name='Stroke', sites=('a', 'b'))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, tmp_path / "net"], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    require_hidden(tmp_path)
    old = [path.read_bytes() for path in tmp_path.rglob("*.key")]
    assert private_keys(tmp_path)
    made = make(tmp_path / "net")
    require_whole(made)
    assert not {path.read_bytes() for path in tmp_path.rglob("*.key")} & set(old)


@pytest.mark.usefixtures("quick_keys")
@pytest.mark.parametrize("existed", [False, True])
@pytest.mark.parametrize("step", ["_provisioned", "_keep_root", "harden_server", "write_whole"])
def test_a_step_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, existed: bool
) -> None:
    def fail(*given: object) -> None:
        raise FederationError("the disk is full")

    if existed:
        (tmp_path / "net").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(making, step, fail)
        with pytest.raises(FederationError, match="the disk is full"):
            make(tmp_path / "net")
    assert [path.name for path in tmp_path.rglob("*")] == (["net"] if existed else [])
    require_whole(make(tmp_path / "net"))


@pytest.mark.usefixtures("quick_keys")
def test_files_of_others_in_an_unfinished_folder_are_kept(tmp_path: Path) -> None:
    (tmp_path / UNFINISHED).mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ParameterError, match="exists already; give a new or empty folder"):
        provision(tmp_path, name="x", sites=("a",))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.usefixtures("quick_keys")
def test_a_federation_that_is_being_made_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two calls for one folder at a time: the second one takes nothing away from the first."""
    keep_root = making._keep_root

    def slow(*given: Path) -> None:
        with pytest.raises(ParameterError, match="another process is making a federation in"):
            make(tmp_path / "net")
        keep_root(*given)

    monkeypatch.setattr(making, "_keep_root", slow)
    require_whole(make(tmp_path / "net"))
