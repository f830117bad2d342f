"""Waiting for what other processes and threads do, on machines that may be overloaded."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import psutil

PATIENCE = 120.0
"""Seconds that something may take where nothing is slow on purpose."""


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until a condition holds; fail after some time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "this did not come true in time"
        time.sleep(0.05)


@contextmanager
def seconds_at_most(seconds: float) -> Iterator[None]:
    """Interrupt what takes longer, and fail. Only for the main thread, as all signals."""

    def end(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"this took longer than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended, also if nobody has asked how."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
