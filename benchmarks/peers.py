"""What benchmarks compare with that need not be there, and how both sides get the same processor."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def diffprivlib() -> Any:
    """The models of diffprivlib, or None."""
    try:
        return import_module("diffprivlib.models")
    except ImportError:
        return None


def one_thread() -> Any:
    """Let linear algebra use one thread, for all alike: on small problems several only wait for each other."""
    return import_module("threadpoolctl").threadpool_limits(1)
