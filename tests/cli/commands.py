"""Run `confide`: in this process, or, where that is what matters, in one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from confide.cli import main

# Warnings are errors, but for one that Ibis 12 causes in DuckDB.
STRICT = ("-W", "error", "-W", "ignore:fetch_record_batch:DeprecationWarning")

PLAIN = {"COLUMNS": "200", "NO_COLOR": "1"}


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


def confide(*arguments: object, folder: Path | None = None) -> Answer:
    """Run the command as its script does, without the second or two that a process takes to load everything."""
    return run_here(main.run, "confide", *arguments, folder=folder)


def run_here(run: Callable[[], None], *arguments: object, folder: Path | None = None) -> Answer:
    """Run a command line in this process; the first of the arguments is the program's name."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    before, code = Path.cwd(), 0
    with (
        patch.object(sys, "argv", [str(argument) for argument in arguments]),
        patch.dict(os.environ, PLAIN),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        os.chdir(folder or before)
        try:
            run()
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            os.chdir(before)
    return Answer(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def confide_process(*arguments: object, given: bytes | None = None, folder: Path | None = None) -> Answer:
    """Run it in a process of its own, with what it is given on standard input."""
    finished = subprocess.run(
        [sys.executable, *STRICT, "-m", "confide", *(str(argument) for argument in arguments)],
        input=given,
        capture_output=True,
        cwd=folder,
        env={**os.environ, **PLAIN},
        check=False,
        timeout=600,
    )
    return Answer(finished.returncode, finished.stdout.decode(), finished.stderr.decode())
