"""What tests of sources share: less simulation, as they are about form, and quiet about others' warnings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sources.readers import QUIET


@pytest.fixture(autouse=True)
def form_alone(few_simulated_tables: None) -> None:
    """How wide intervals are does not matter here."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings that the engine's own dependencies give are not ours to fail on."""
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(here):
            for line in QUIET:
                item.add_marker(pytest.mark.filterwarnings(line))
