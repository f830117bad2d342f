"""Engines do not start on a FLARE that the guard was not written for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from confide.errors import FederationError
from confide.federation.flare import guard
from confide.federation.flare.flows import Party
from confide.federation.flare.guard import HOOKS, TESTED, fingerprint, require_version
from confide.federation.flare.signing import Federation, provision

CHANGED = """
import sys
if any(word.startswith("confide.federation.flare.") for word in sys.orig_argv):
    from nvflare.fuel.f3.cellnet.core_cell import CoreCell

    def process_message(self, endpoint, connection, app_id, message):
        self._process_received_msg(endpoint, connection, message)

    CoreCell.process_message = process_message
"""


KNOWN = """
from confide.federation.flare.guard import HOOKS, require_known
for party in HOOKS:
    require_known(party)
"""


@pytest.mark.processes
def test_the_installed_flare_is_known() -> None:
    """In a process of its own: sessions of other tests guard this one."""
    assert set(HOOKS) == set(Party)
    subprocess.run([sys.executable, "-c", KNOWN], check=True)


@pytest.mark.parametrize("found", ["2.8.4", "2.10.0", "2.90.0", "3.0"])
def test_other_versions_are_refused(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "version", lambda name: found)
    with pytest.raises(
        FederationError, match=rf"{found} is installed; install it with `pip install nvflare=={TESTED}`"
    ):
        require_version()


def test_a_hook_that_is_gone_is_noticed() -> None:
    assert fingerprint("nvflare.fuel.f3.cellnet.core_cell:CoreCell.gone") == "absent"
    assert fingerprint("nvflare.gone:CoreCell.process_message") == "absent"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return provision(tmp_path_factory.mktemp("made") / "federation", name="Made", sites=("a",))


@pytest.mark.processes
def test_an_engine_does_not_start_where_flare_differs(made: Federation, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(CHANGED)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "confide.federation.flare.server_engine", "-m", str(made.server_kit)]
    ended = subprocess.run(
        [*command, "-s", "fed_server.json", "--set", "secure_train=true", "org=coordinator", "config_folder=config"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600.0,
    )
    assert ended.returncode == 1
    assert (
        "differs where confide guards it (nvflare.fuel.f3.cellnet.core_cell:CoreCell.process_message)" in ended.stderr
    )
    assert f"pip install nvflare=={TESTED}" in ended.stderr
