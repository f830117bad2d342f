"""Run `confide` as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Warnings are errors, but for one that Ibis 12 causes in DuckDB.
STRICT = ("-W", "error", "-W", "ignore:fetch_record_batch:DeprecationWarning")


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


def confide(*arguments: object, given: bytes | None = None, folder: Path | None = None) -> Answer:
    finished = subprocess.run(
        [sys.executable, *STRICT, "-m", "confide", *(str(argument) for argument in arguments)],
        input=given,
        capture_output=True,
        cwd=folder,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
        check=False,
        timeout=120,
    )
    return Answer(finished.returncode, finished.stdout.decode(), finished.stderr.decode())
