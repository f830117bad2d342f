"""Run a program in a process of its own."""

from __future__ import annotations

import subprocess
import sys


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
