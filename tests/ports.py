"""Ports of this machine for servers that tests start."""

from __future__ import annotations

import os
import random
import socket
from contextlib import suppress
from itertools import count

FIRST, EACH = 10_000, 1_000
"""The first port, and how many each worker of pytest has. All lie below those that the system gives away by itself,
and below those that `confide.ports` draws."""

_NUMBERS = count(random.randrange(EACH))  # noqa: S311


def free_port() -> int:
    """Return a port that nobody uses, and that nobody else takes before a server listens at it.

    The system's own choice may be given to another process as soon as it is let go, seconds before a server has
    started. Each worker of pytest takes ports of its own instead, one after the other.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10
    for _ in range(EACH):
        port = FIRST + worker * EACH + next(_NUMBERS) % EACH
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("all ports of this worker are used")
