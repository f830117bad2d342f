"""Padding of time: an answer takes a whole number of steps, so that its duration tells next to nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

STEP_SECONDS = 0.25
"""The step by which answers are padded."""


@contextmanager
def padded(step: float = STEP_SECONDS) -> Iterator[None]:
    """Pad the duration of a block to a whole number of steps, also if it raises; a step of 0 pads nothing."""
    started = time.perf_counter()
    try:
        yield
    finally:
        if step > 0.0:
            spent = time.perf_counter() - started
            time.sleep(step * math.ceil(spent / step) - spent)
