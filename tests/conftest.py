"""What every test shares: the hypothesis profiles and the folder of real data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Tests repeat themselves exactly; `--hypothesis-profile=explore` looks for new counterexamples.
settings.register_profile("confide", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("explore", deadline=None, max_examples=500)
settings.load_profile("confide")


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
