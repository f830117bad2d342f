"""How long a user waits before anything happens, with an empty compilation cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.timing import seconds, table
from confide.examples import HEART_ATTACK


def run(*, quick: bool = False) -> None:
    confide = str(Path(sys.executable).with_name("confide"))
    evaluate = [confide, "evaluate", str(HEART_ATTACK), "--label", "died", "--score", "logistic"]
    cases = {
        "confide --help": ([confide, "--help"], "0.4 s"),
        "import confide": ([sys.executable, "-c", "import confide"], "0.3 s"),
        "confide evaluate, small file": (evaluate, "2 s"),
    }
    lines = []
    for name, (command, goal) in cases.items():
        first, *others = (_once(command) for _ in range(2 if quick else 4))
        lines.append((name, seconds(first), seconds(min(others)), goal))
    print("first run has an empty numba cache")
    table(("", "first run", "best later", "goal"), lines)


def _once(command: list[str]) -> float:
    with tempfile.TemporaryDirectory() as cache:
        started = time.perf_counter()
        subprocess.run(  # noqa: S603  # our own command
            command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "NUMBA_CACHE_DIR": cache}
        )
        return time.perf_counter() - started
