"""Compiled loops over rows: imported only when the input is large enough to pay for them.

`sources`, `curves`, `intervals`, `evaluation` and `attacks` import them.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec


@cache
def compiler_installed() -> bool:
    """Return whether numba is installed, which compiles the loops: the extra `fast`. NumPy counts rows without it."""
    return find_spec("numba") is not None
