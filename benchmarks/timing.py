"""Timing two sides in one run: the best of several repetitions of each, taken in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

Result = TypeVar("Result")


def timed(function: Callable[[], Result]) -> tuple[Result, float]:
    """What a function returns, and the seconds that it took."""
    started = time.perf_counter()
    found = function()
    return found, time.perf_counter() - started


def best_of(repetitions: int, *functions: Callable[[], object], turn_seconds: float = 0.5) -> list[float]:
    """The least time of each function, the functions taking turns so that noise hits all alike.

    A function that is soon done is run several times a turn, for half a second in all unless said otherwise.
    """
    best = [float("inf")] * len(functions)
    for _ in range(repetitions):
        for i, function in enumerate(functions):
            turn = time.perf_counter()
            while True:
                started = time.perf_counter()
                function()
                ended = time.perf_counter()
                best[i] = min(best[i], ended - started)
                if ended - turn > turn_seconds:
                    break
    return best


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns, the first to the left and the others to the right."""
    widths = [max(len(str(row[i])) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        first, *others = (str(cell) for cell in row)
        print(
            "  " + first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        )


def seconds(value: float) -> str:
    return f"{value * 1e3:.1f} ms" if value < 1.0 else f"{value:.2f} s"
