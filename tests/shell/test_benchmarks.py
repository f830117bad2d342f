"""The benchmarks of private releases run: their tables are what the documentation's numbers rest on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("private-auc", "targets missed by rank-sum in"),
        ("private-ap", "student-t"),
        ("coverage", "are LOW"),
    ],
)
def test_a_quick_run_prints_its_table(name: str, said: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "benchmarks", name, "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    assert said in finished.stdout
