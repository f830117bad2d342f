"""Warnings that the engine's own dependencies give are not ours to fail on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.readers import QUIET


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for line in QUIET:
                item.add_marker(pytest.mark.filterwarnings(line))
