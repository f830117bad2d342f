"""Processes of engines and of their runs, as the operating system lists them.

A process that is ending has no command line any more for a moment, while it may still hold ports and locks. So it is
not found by its command line, although it still exists; only whoever knew it before can wait for it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

STOP_SECONDS = 8.0
"""Seconds that a process may take to end."""

_ENGINES = ("confide.federation.flare.", "nvflare.private.fed.app.")
"""Modules whose processes are engines; those of FLARE itself were started by earlier versions."""

_PAUSE_SECONDS = 0.02


def working_in(kit: Path) -> list[psutil.Process]:
    """Find the processes of this user's engines whose workspace is this kit; root finds everybody's."""
    found = []
    for process in psutil.process_iter(["cmdline", "uids"]):
        words = process.info["cmdline"] or []
        uids = process.info["uids"]
        engine = str(kit) in words and any(word.startswith(_ENGINES) for word in words)
        if engine and uids is not None and os.getuid() in (0, uids.real):
            found.append(process)
    return found


def descendants(process: psutil.Process) -> list[psutil.Process]:
    """Return the processes that a process started, and those that they started, also if they are ending."""
    with suppress(psutil.Error):
        return process.children(recursive=True)
    return []


def end(processes: Collection[psutil.Process]) -> None:
    """Kill processes, and wait until they are gone."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(list(processes), timeout=STOP_SECONDS)


def ends_by_itself(process: psutil.Process) -> bool:
    """Wait for a process that is ending; return False at once for one that is not."""
    last = time.monotonic() + STOP_SECONDS
    while time.monotonic() < last:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
            if process.cmdline():
                return False
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            return False
        time.sleep(_PAUSE_SECONDS)
    return False


def connections(process: psutil.Process) -> Sequence[Any]:
    """Return the TCP connections of a process; the method's name depends on the version of psutil."""
    listed = getattr(process, "net_connections", None) or process.connections
    return list(listed(kind="tcp"))
