"""A confined process reads nothing but what it was given, even as root; so do the processes that it starts."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from confide.errors import ParameterError, RefusedError
from confide.federation.flare import site_engine
from confide.federation.flare.confinement import (
    can_confine,
    confine_site,
    data_folders,
    require_confinement,
    wide_folders,
)
from confide.federation.policy import Policy
from confide.federation.site.config import SiteConfig, SiteModel
from confide.report.validation.sites import engine_cautions

CONFINED = """
import subprocess, sys, threading
from pathlib import Path
from confide.federation.flare.confinement import confine_site

folder, *files = map(Path, sys.argv[1:])
confined = confine_site(folder)

def attempt(action):
    try:
        action()
        print("done")
    except PermissionError:
        print("denied")

print(confined)
for file in files:
    attempt(file.read_text)
thread = threading.Thread(target=lambda: attempt(files[-1].read_text))
thread.start()
thread.join()
print("denied" if subprocess.run(["cat", str(files[-1])], stderr=subprocess.DEVNULL).returncode else "done")
attempt(lambda: (folder / "new").write_text("x"))
attempt(lambda: (files[1].parent / "new").write_text("x"))
attempt(lambda: (folder.parent / "new").write_text("x"))
import numpy, scipy.stats, duckdb, socket
socket.getaddrinfo("localhost", 80)
"""


def has_landlock() -> bool:
    return sys.platform == "linux" and int(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)) > 0


@pytest.fixture
def site() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # not in memory, which a confined process may use
        yield _site(Path(folder))


def _site(folder: Path) -> Path:
    site, data, elsewhere = (folder / name for name in ("site", "data", "elsewhere"))
    for folder in (site, data, elsewhere):
        folder.mkdir()
        (folder / "rows.csv").write_text("y,risk\n")
    (elsewhere / "model.onnx").touch()
    outside = SiteModel(data="../data/rows.csv", label="y", score="risk")
    SiteConfig(name="north", models={"outside": outside}, folder=site).write(site)
    return site


def test_folders_of_data_and_models_are_found(site: Path) -> None:
    inside = SiteModel(data="rows.csv", label="y", model_file="../elsewhere/model.onnx", features=("a",))
    config = SiteConfig.load(site).with_model("inside", inside)
    config.write(site)
    found = {folder.name for folder in data_folders(site)}
    assert found == {"data", "site", "elsewhere"}
    (site / "site.toml").write_text("no TOML")
    assert list(data_folders(site)) == []


@pytest.mark.parametrize(("home", "wide"), [("data", True), ("data/someone", True), ("elsewhere", False)])
def test_data_in_a_home_folder_are_warned_of(
    site: Path, home: str, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(site.parent / home))
    assert wide_folders(site) == ((site.parent / "data",) if wide else ())
    cautions = " ".join(engine_cautions(site, as_root=False, wide_folders=wide_folders(site)))
    assert (f"lie directly in {site.parent / 'data'}" in cautions) == wide


def test_data_in_the_root_folder_are_warned_of(site: Path) -> None:
    SiteConfig(name="north", models={"top": SiteModel(data="/rows.csv", label="y", score="risk")}, folder=site).write(
        site
    )
    assert wide_folders(site) == (Path("/"),)


@pytest.mark.processes
@pytest.mark.skipif(not has_landlock(), reason="this kernel has no Landlock")
def test_a_confined_process_reads_its_folder_and_its_data_alone(site: Path) -> None:
    files = [site / "rows.csv", site.parent / "data" / "rows.csv", site.parent / "elsewhere" / "rows.csv"]
    ended = subprocess.run(
        [sys.executable, "-c", CONFINED, str(site), *map(str, files)], capture_output=True, text=True, check=True
    )
    confined, own, data, *others = ended.stdout.split()
    assert (confined, own, data) == ("True", "done", "done")
    assert others == ["denied", "denied", "denied", "done", "denied", "denied"]


class TestWithoutLandlock:
    """A site on a kernel that cannot confine it."""

    @pytest.fixture(autouse=True)
    def unconfined(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("confide.federation.flare.confinement._landlock", lambda: -1)

    def test_it_is_told_at_the_start(self, tmp_path: Path) -> None:
        assert not confine_site(tmp_path)
        (caution,) = engine_cautions(tmp_path, as_root=False, confined=can_confine())
        assert "no Landlock" in caution
        assert "require_confinement = true" in caution

    def test_a_policy_refuses_to_start_and_to_answer(self) -> None:
        require_confinement(Policy.from_toml(""))
        with pytest.raises(RefusedError, match=r"require_confinement = true, and this kernel has no Landlock; start"):
            require_confinement(Policy.from_toml("require_confinement = true"))

    def test_the_engine_does_not_start_where_the_policy_refuses(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "policy.toml").write_text("require_confinement = true\n")
        monkeypatch.setattr(sys, "argv", ["engine", "-m", str(tmp_path / "kit")])
        monkeypatch.setattr("confide.federation.flare.site_engine.serve_engine", lambda *given: pytest.fail("it runs"))
        with pytest.raises(SystemExit, match="require_confinement"):
            site_engine.main()


def test_with_landlock_the_policy_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.federation.flare.confinement._landlock", lambda: 1)
    require_confinement(Policy.from_toml("require_confinement = true"))
    with pytest.raises(ParameterError, match="require_confinement must be true or false"):
        Policy.from_toml('require_confinement = "yes"')
