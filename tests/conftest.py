"""What every test shares: the hypothesis profiles, the place of temporary files, and the folder of real data."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from confide.intervals import private_counts
from confide.releases import curve_numbers
from tests.memory import disk_in_memory

# Tests repeat themselves exactly; `--hypothesis-profile=explore` looks for new counterexamples.
settings.register_profile("confide", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("explore", deadline=None, max_examples=500)
settings.load_profile("confide")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let `tmp_path` be in memory, unless another place is asked for; workers get theirs from whom they work for."""
    if not hasattr(config, "workerinput") and config.option.basetemp is None and (memory := disk_in_memory()):
        config.option.basetemp = tempfile.mkdtemp(prefix="confide-tests-", dir=memory)
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


@pytest.fixture
def few_simulated_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals are simulated from fewer tables: as sound, but rougher. Whether they hold is tested without this."""
    monkeypatch.setattr(private_counts, "DRAWS", private_counts.FEWEST_DRAWS)
    monkeypatch.setattr(curve_numbers, "RISEN_DRAWS", 50)


@pytest.fixture
def unpadded_ledgers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ledgers answer as soon as they can. That answers are padded in time is tested without this."""
    from confide.ledger.ledger import Ledger

    defaults = Ledger.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "padding", 0.0)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data: `$CONFIDE_SHARED/data`, or `shared/data` beside the repository or above it."""
    repository = Path(__file__).resolve().parents[1]
    places = [folder / "shared" for folder in repository.parents]
    if "CONFIDE_SHARED" in os.environ:
        places.insert(0, Path(os.environ["CONFIDE_SHARED"]))
    for place in places:
        if (place / "data").is_dir():
            return place / "data"
    pytest.skip("the shared data are not here: set CONFIDE_SHARED to the folder that holds data/")
