"""What tests of the commands share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.commands import confide
from tests.cli.desk import Desk
from tests.noises import seeded

if TYPE_CHECKING:
    from tests.cli.hospitals import Hospitals


@pytest.fixture
def desk(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    few_simulated_tables: None,
    unpadded_ledgers: None,
) -> Iterator[Desk]:
    monkeypatch.chdir(tmp_path)
    for variable, value in (("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config")):
        monkeypatch.setenv(variable, str(tmp_path.with_name(f"{tmp_path.name}-{value}")))
    monkeypatch.setenv("CONFIDE_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.delenv("CONFIDE_LEDGER_KEY", raising=False)
    made = Desk(tmp_path, capsys, monkeypatch)
    made.hear(seeded(0))  # what is said of drawn values must not depend on luck
    yield made
    made.hear_the_system_again()


@pytest.fixture(scope="session")
def provisioned(tmp_path_factory: pytest.TempPathFactory) -> Hospitals:
    """Three sites that were set up by command and asked nothing yet; copy it to ask something."""
    from tests.cli.hospitals import NAMES, Hospitals, write_rows

    made = Hospitals(tmp_path_factory.mktemp("hospitals"))
    named = [option for name in NAMES for option in ("--site", name)]
    assert confide("federation", "init", made.coordinator, "--name", "stroke", *named).code == 0
    for seed, name in enumerate(NAMES):
        write_rows(made.rows(name), seed)
        answer = made.set_up(name)
        assert answer.code == 0, answer.err
    return made


@pytest.fixture
def hospitals(provisioned: Hospitals, tmp_path: Path) -> Hospitals:
    """Three sites of one's own; their rows lie where they did."""
    return provisioned.copy(tmp_path / "copied")
