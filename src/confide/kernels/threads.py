"""Compilation and threads of kernels: compiled code is cached on disk, and a call sets its own number of threads.

Kernels are serial and release the interpreter lock; threads run them on slices. (numba's ``parallel=True`` is no
faster here and takes several times as long to compile.)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Labels = NDArray[np.uint8]
Scores = NDArray[np.float64]
Counts = NDArray[np.int64]
Keys = NDArray[np.uint64]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
_Scalar = TypeVar("_Scalar", np.uint8, np.float64)

_ROWS_PER_WORKER = 1 << 17  # with fewer rows a thread costs more than it saves


def compiled(function: _Function) -> _Function:
    """Compile a kernel at its first call, and keep the machine code on disk; type checkers see the original."""
    return cast(_Function, njit(cache=True, nogil=True)(function))


def available_workers(rows: int) -> int:
    """Return how many threads are worth starting for this many rows on the processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # absent on macOS and Windows
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(processors, rows // _ROWS_PER_WORKER))


def frozen(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return a contiguous, read-only view: numba compiles a kernel anew for arrays that differ in either."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


class Threads:
    """Threads for the duration of one call; with one worker, the calling thread.

    They are not kept for the next call: a pool that outlives a call is dead in a forked child.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None

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
