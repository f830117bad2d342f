"""What tests of federations share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def answers_at_once(unpadded_ledgers: None) -> None:
    """Sites in this process do not wait for the end of a step of time."""
