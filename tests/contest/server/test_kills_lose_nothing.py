"""A server that is killed in mid submission loses nothing that it confirmed, and counts nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.oracle_kills import kill_repeatedly

from tests.contest.server.running import environment

pytestmark = [pytest.mark.processes, pytest.mark.long]


def test_kills_on_sqlite(tmp_path: Path) -> None:
    result = kill_repeatedly(tmp_path, 8, rows=2000)
    assert result.holds
    assert result.confirmed >= 4


def test_kills_on_postgresql(tmp_path: Path, new_database: str) -> None:
    with environment({"CONFIDE_ORACLE_DATABASE": new_database}):
        result = kill_repeatedly(tmp_path, 8, rows=2000)
    assert result.holds
    assert result.confirmed >= 4
