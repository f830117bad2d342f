"""Time that says next to nothing about the noise that was drawn in it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def steady(step: float) -> Iterator[None]:
    """Let work take a whole number of steps of time, so that its duration says next to nothing about it."""
    started = time.perf_counter()
    yield
    spent = time.perf_counter() - started
    time.sleep(step * math.ceil(spent / step) - spent)
