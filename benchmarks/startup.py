"""How long a user waits before anything happens: commands on a small file, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.timing import seconds, table
from confide.examples import HEART_ATTACK

COLUMNS = (str(HEART_ATTACK), "--label", "died", "--score", "logistic")


def run(*, quick: bool = False) -> None:
    confide = str(Path(sys.executable).with_name("confide"))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        ledger = str(Path(folder) / "ledger.sqlite")
        cases = {
            "confide --help": ([confide, "--help"], "0.4 s"),
            "import confide": ([sys.executable, "-c", "import confide"], "0.3 s"),
            "confide evaluate, 500 rows": ([confide, "evaluate", *COLUMNS], "0.8 s"),
            "confide release, 500 rows": ([confide, "release", *COLUMNS, "--ledger", ledger], "1.2 s"),
            "confide plan": ([confide, "plan", "--metric", "auc", "--epsilon", "1", "--rows", "500"], "0.6 s"),
        }
        _once([confide, "ledger", "new", "trial", "--epsilon", "1000", "--data", str(HEART_ATTACK), "--ledger", ledger])
        for name, (command, goal) in cases.items():
            times = []
            for attempt in range(2 if quick else 4):
                # Another epsilon is another release: the same one would be answered from the ledger.
                more = ["--epsilon", f"0.{attempt + 1}"] if command[1] == "release" else []
                times.append(_once([*command, *more]))
            lines.append((name, seconds(times[0]), seconds(min(times[1:])), goal))
    table(("", "first run", "best later", "goal"), lines)


def _once(command: list[str]) -> float:
    with tempfile.TemporaryDirectory() as cache:
        started = time.perf_counter()
        subprocess.run(  # noqa: S603  # our own command
            command,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "NUMBA_CACHE_DIR": cache},
        )
        return time.perf_counter() - started
