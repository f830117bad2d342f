"""Server of `confide contest demo`: a process of its own, on a free port of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

from confide.errors import ConfideError, UsageError
from confide.ports import free_port

if TYPE_CHECKING:
    from confide.tasks.contest_demo import ContestDemo

_READY_SECONDS = 60.0
_STOP_SECONDS = 20.0
_ATTEMPTS = 3


@contextmanager
def serving(demo: ContestDemo) -> Iterator[str]:
    """Serve the demonstration's contest and yield the address; stop the server however the block is left."""
    log = demo.folder / "server.log"
    process, url = _started(demo, log)
    try:
        yield url
    finally:
        _stop(process)


def require_server() -> None:
    """Refuse the demonstration if packages of the server are missing."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("fastapi", "uvicorn", "alembic")):
        raise UsageError("the server needs more packages: pip install 'confide[serve]'")


def _started(demo: ContestDemo, log: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start a server and wait until it is ready; take another port if somebody else got the first."""
    for _ in range(_ATTEMPTS):
        port = free_port()
        process = _start(demo, port, log)
        url = f"http://127.0.0.1:{port}"
        try:
            if _ready(process, url):
                return process, url
        except BaseException:
            _stop(process)
            raise
        _stop(process)
    raise ConfideError(f"the server ended by itself; its log says why: {log}")


def _start(demo: ContestDemo, port: int, log: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "confide",
        "serve",
        str(demo.bundle),
        "--home",
        str(demo.home),
        "--port",
        str(port),
    ]
    environment = {name: value for name, value in os.environ.items() if name != "CONFIDE_ORACLE_DATABASE"}
    with log.open("ab") as out:
        return subprocess.Popen(  # noqa: S603  # our own command
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment,
            start_new_session=True,  # Ctrl-C reaches this process, which then stops the server
        )


def _ready(process: subprocess.Popen[bytes], url: str) -> bool:
    """Wait until the server answers; return False if it ended."""
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            return False
        try:
            with urlopen(f"{url}/readyz", timeout=5) as answer:  # noqa: S310  # of this machine
                return bool(answer.status == 200)
        except (URLError, OSError):
            time.sleep(0.1)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the server to stop, and end it if it does not."""
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
