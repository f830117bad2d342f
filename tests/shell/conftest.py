"""What tests of the commands share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from confide.cli import release
from tests.noises import seeded
from tests.shell.desk import Desk


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, few_simulated_tables: None
) -> Iterator[Desk]:
    monkeypatch.chdir(tmp_path)
    for variable, value in (("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config")):
        monkeypatch.setenv(variable, str(tmp_path.with_name(f"{tmp_path.name}-{value}")))
    monkeypatch.setenv("CONFIDE_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.delenv("CONFIDE_LEDGER_KEY", raising=False)
    monkeypatch.setattr(release, "STEP_SECONDS", 0.001)
    made = Desk(tmp_path, capsys, monkeypatch)
    made.hear(seeded(0))  # what is said of drawn values must not depend on luck
    yield made
    made.hear_the_system_again()
