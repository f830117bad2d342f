"""Run `python -m studies` in this process."""

from __future__ import annotations

from pathlib import Path

from studies import __main__ as main
from tests.cli.commands import Answer, run_here


def studies(*arguments: object, folder: Path | None = None) -> Answer:
    return run_here(main.run, "studies", *arguments, folder=folder)
