"""Death of a process before any one of its changes to files, simulated in this process or by a real signal.

Python reports every change of a file to audit hooks before it is made. From the chosen change on, each one raises
`Died`: also those in `finally`, which a killed process does not run. So the files are left as SIGKILL leaves them.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from itertools import count

_CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.link", "os.symlink", "os.truncate"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class DiedError(BaseException):
    """The simulated process is dead; no handler of ordinary errors catches this."""


class _Watch:
    """Number of changes that may still be made; None if all may."""

    left: int | None = None
    installed = False


def _is_change(event: str, arguments: tuple[object, ...]) -> bool:
    if event != "open":
        return event in _CHANGES
    flags = arguments[2]
    return isinstance(flags, int) and bool(flags & _WRITING)


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _Watch.left is None or not _is_change(event, arguments):
        return
    if _Watch.left == 0:
        raise DiedError
    _Watch.left -= 1


def dies(action: Callable[[], object], changes: int) -> bool:
    """Let an action make so many changes to files; return whether it died then, or False if it was done before."""
    if not _Watch.installed:
        sys.addaudithook(_hook)
        _Watch.installed = True
    _Watch.left = changes
    try:
        action()
    except DiedError:
        return True
    finally:
        _Watch.left = None
    return False


def every_death(run: Callable[[int], bool]) -> int:
    """Call `run` with 0, 1, 2, ... changes until nobody dies any more; return how many deaths there were."""
    for changes in count():
        if not run(changes):
            return changes
    raise AssertionError("never reached")


def kill_before(event: str, number: int = 1, *, of: str = "") -> None:
    """Let SIGKILL end this process before its n-th change of one kind, counted from 1, to a file of that name."""
    seen = count(1)

    def hook(name: str, arguments: tuple[object, ...]) -> None:
        named = name == event and any(str(argument).endswith(of) for argument in arguments)
        if named and next(seen) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
