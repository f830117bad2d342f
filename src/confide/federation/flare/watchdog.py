"""End of a process when its parent ends, however that ended: also if it was killed.

A site in the foreground is a command that waits for an engine, and an engine starts a process for each run. If one of
them is killed with no chance to stop what it started, its children notice within a second and end themselves.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping

PARENT = "CONFIDE_PARENT"
"""Variable that names the process on which a child depends; a child without it stays when its parent ends."""

_PAUSE_SECONDS = 0.5


def depending(environment: Mapping[str, str], *, attached: bool) -> dict[str, str]:
    """Return the environment of a child that ends with this process, if it is attached, or that stays."""
    others = {name: value for name, value in environment.items() if name != PARENT}
    return others | ({PARENT: str(os.getpid())} if attached else {})


def watch_parent() -> None:
    """End this process soon after the one that it depends on; call it after the process was confined."""
    named = os.environ.get(PARENT, "")
    if named.isdecimal():
        threading.Thread(target=_watch, args=(int(named),), name="watch parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PAUSE_SECONDS)
    os._exit(1)
