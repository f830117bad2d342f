"""Ports of this machine for servers that are started later."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress

from confide.errors import ConfideError

FIRST, LAST = 20_000, 32_767
"""Ports that operating systems do not give to other connections by themselves: Linux begins at 32768, others above."""

_ATTEMPTS = 100


def free_port() -> int:
    """Draw a port of the loopback interface that no program uses.

    It is not held. A port that the system chooses (`bind` to port 0) may be given to another connection as soon as it
    is let go; these are taken by somebody else only if they are asked for by number.
    """
    for _ in range(_ATTEMPTS):
        port = FIRST + secrets.randbelow(LAST - FIRST + 1)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise ConfideError(f"no port from {FIRST} to {LAST} of this machine is free; end other servers first")
