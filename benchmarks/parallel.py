"""Settings of a simulation, two at a time; each in a fresh process, so that no state is shared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

WORKERS = min(os.cpu_count() or 1, 2)

OUTPUT = Path(__file__).with_name("output")
"""What is too large to print, and pictures."""


def in_parallel(function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
    """Apply a module's function to every task, in order."""
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        return list(pool.map(function, tasks))


def output(name: str) -> Path:
    """A file to be written in the folder that Git ignores."""
    OUTPUT.mkdir(exist_ok=True)
    return OUTPUT / name


def shown(file: Path) -> str:
    """A file's name as seen from the repository."""
    return str(file.relative_to(OUTPUT.parents[1]))
