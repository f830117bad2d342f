"""What tests of federations share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.federation.site_rows import DATA


@pytest.fixture(autouse=True)
def answers_at_once(unpadded_ledgers: None) -> None:
    """Sites in this process do not wait for the end of a step of time."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a site with a file of rows."""
    DATA.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path
