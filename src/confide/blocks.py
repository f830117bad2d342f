"""Work on arrays of millions of entries a block at a time: temporaries stay in the cache, and threads share the blocks.

Blocks do not depend on the number of threads, and what they return is put together in their order: neither do results.
An array of one block is worked on as a whole, in the calling thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

BLOCK = 1 << 15
"""Entries of a block: some arrays of them fit in a processor's second cache."""

_ROWS_PER_WORKER = 1 << 17  # with fewer rows a thread costs more than it saves


def available_workers(rows: int) -> int:
    """Return how many threads are worth starting for this many rows on the processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # absent on macOS and Windows
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(processors, rows // _ROWS_PER_WORKER))


class Threads:
    """Threads for the duration of one call; with one worker, the calling thread.

    They are not kept for the next call: a pool that outlives a call is dead in a forked child.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = _pool(workers) if workers > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def map(self, function: Callable[[_Task], _Result], tasks: Iterable[_Task]) -> list[_Result]:
        """Return ``function`` of each task, in the order of the tasks."""
        return list(map(function, tasks) if self._pool is None else self._pool.map(function, tasks))

    def slices(self, size: int) -> list[slice]:
        """Split ``range(size)`` into one slice per worker."""
        edges = [size * worker // self.workers for worker in range(self.workers + 1)]
        return [slice(first, last) for first, last in pairwise(edges)]


def _pool(workers: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(workers)


def in_threads(function: Callable[[_Task], _Result], tasks: Sequence[_Task], *, rows: int) -> list[_Result]:
    """Return ``function`` of each task, in threads if the tasks have enough rows in all."""
    with Threads(min(available_workers(rows), len(tasks)) or 1) as threads:
        return threads.map(function, tasks)


def blocks(size: int) -> list[slice]:
    """Split ``range(size)`` into blocks; an empty range is one empty block."""
    return [slice(first, min(first + BLOCK, size)) for first in range(0, size, BLOCK)] or [slice(0, 0)]


def map_blocks(function: Callable[[slice], _Result], size: int) -> list[_Result]:
    """Return ``function`` of each block of ``range(size)``."""
    return in_threads(function, blocks(size), rows=size)


def sum_blocks(function: Callable[[slice], Sequence[float]], size: int) -> list[float]:
    """Add up the numbers that ``function`` returns for each block of ``range(size)``, place by place."""
    return [float(total) for total in np.sum(map_blocks(function, size), axis=0)]


def scan_blocks(function: Callable[..., _Result], *arrays: NDArray[Any], descending: bool = False) -> list[_Result]:
    """Return ``function`` of each block, and of the sum of each array over all blocks before it.

    With `descending` the sums are over all blocks after it. Results are in the order of the blocks all the same.
    """
    parts = blocks(arrays[0].size)
    sums = np.array(in_threads(lambda part: [array[part].sum() for array in arrays], parts, rows=arrays[0].size))
    through = np.cumsum(sums[::-1], axis=0)[::-1] if descending else np.cumsum(sums, axis=0)
    others = (through - sums).tolist() if sums.dtype.kind == "i" else _exclusive(through, descending=descending)
    tasks = list(zip(parts, others, strict=True))
    return in_threads(lambda task: function(task[0], *task[1]), tasks, rows=arrays[0].size)


def _exclusive(through: NDArray[Any], *, descending: bool) -> list[list[float]]:
    """Turn running sums of floats into those before each place, without subtracting."""
    nothing = np.zeros((1, through.shape[1]))
    parts = (through[1:], nothing) if descending else (nothing, through[:-1])
    before: list[list[float]] = np.concatenate(parts).tolist()
    return before


def dot(left: NDArray[Any], right: NDArray[Any]) -> float:
    """Return the inner product in double precision, without the linear algebra library.

    That one starts threads for some ten thousand entries already, which wait for each other in loops.
    """
    first, second = (np.asarray(array, dtype=np.float64) for array in (left, right))
    return float(np.einsum("i,i->", first, second))
