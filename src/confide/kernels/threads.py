"""Compilation and threads of kernels: compiled code is cached on disk, and a call sets its own number of threads.

Kernels are serial and release the interpreter lock; threads run them on slices. (numba's ``parallel=True`` is no
faster here and takes several times as long to compile.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from confide.blocks import Threads, available_workers
from confide.errors import UsageError

try:
    from numba import njit
except ModuleNotFoundError:
    raise UsageError("this takes compiled loops, and numba compiles them: pip install 'confide[fast]'") from None

__all__ = ["Counts", "Keys", "Labels", "Scores", "Threads", "available_workers", "compiled", "frozen"]

Labels = NDArray[np.uint8]
Scores = NDArray[np.float64]
Counts = NDArray[np.int64]
Keys = NDArray[np.uint64]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Scalar = TypeVar("_Scalar", np.uint8, np.float64)


def compiled(function: _Function) -> _Function:
    """Compile a kernel at its first call, and keep the machine code on disk; type checkers see the original."""
    return cast(_Function, njit(cache=True, nogil=True)(function))


def frozen(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return a contiguous, read-only view: numba compiles a kernel anew for arrays that differ in either."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
