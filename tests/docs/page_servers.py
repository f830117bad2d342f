"""Servers that a page starts in the background, and the variables that it sets for later commands."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

BACKGROUND = re.compile(r"confide (?P<words>serve .+) &")
EXPORT = re.compile(r"export (?P<name>\w+)=\$\((?P<command>confide .+)\)")
WITH_VARIABLE = re.compile(r"(?P<name>\w+)=\$(?P<from>\w+) (?P<command>confide .+)")
SECONDS = 300.0


class PageServers:
    """Background processes of one page."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, words: str, folder: Path) -> None:
        """Start a server and wait until its port answers."""
        arguments = shlex.split(words)
        port = int(arguments[arguments.index("--port") + 1])
        with (folder / f"server-{port}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "confide", *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=log
            )
        self._running.append(process)
        end = time.monotonic() + SECONDS
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError((folder / f"server-{port}.log").read_text())
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop every server."""
        for process in self._running:
            process.terminate()
        for process in self._running:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return True
    except OSError:
        return False
