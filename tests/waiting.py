"""Waiting for what other processes and threads do, on machines that may be overloaded."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

PATIENCE = 120.0
"""Seconds that something may take where nothing is slow on purpose."""


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until a condition holds; fail after some time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "this did not come true in time"
        time.sleep(0.05)


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended, also if nobody has asked how."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
