"""Sites and servers that misbehave, as real processes: `install` is called at the start of every process in tests.

What a site does wrong stands in the file `unruly` in its folder: the round, and how. Without it the site is honest. A
site that is slow or stuck waits until the file is gone, and then sends a reply that nobody can read. In the server's
folder the file names a site that the server leaves out of the second round, whatever was signed. Processes of runs end
at once, where FLARE lets them linger for three seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

SLOW, GARBAGE, OLD, STUCK = "slow", "garbage", "old", "stuck"
FILE, REACHED = "unruly", "reached"
_FOREVER = 600.0


def behave(folder: Path, topic: str, how: str) -> None:
    """Let a site do something wrong in one of the rounds, from its next run on."""
    (folder / FILE).write_text(f"{topic} {how}")


def leave_out(kit: Path, site: str) -> None:
    """Let a server leave a site out of the second round, from its next run on."""
    (kit / FILE).write_text(site)


def behave_well(folder: Path) -> None:
    """Let a site be honest again."""
    for name in (FILE, REACHED):
        (folder / name).unlink(missing_ok=True)


def install() -> None:
    """Change how the processes of runs end and, at sites, how they reply; nothing happens in any other process."""
    if any(word.endswith((".site_run", ".server_run")) for word in sys.orig_argv):
        from nvflare.fuel.f3.mpm import MainProcessMonitor

        MainProcessMonitor.run = partial(MainProcessMonitor.run, shutdown_grace_time=0.1)
    if any(word.endswith(".site_run") for word in sys.orig_argv):
        _misbehave()
    if any(word.endswith(".server_run") for word in sys.orig_argv):
        for told in (Path(word) / FILE for word in sys.orig_argv):
            if told.is_file():
                _list_fewer(told.read_text())


def _list_fewer(left_out: str) -> None:
    from confide.federation.coordinator import rounds as coordinator

    honest = coordinator._second_requests

    def requests(*given: Any) -> dict[str, Mapping[str, Any]]:
        return {
            site: {**request, "offers": [offer for offer in request["offers"] if offer["site"] != left_out]}
            for site, request in honest(*given).items()
            if site != left_out
        }

    coordinator._second_requests = requests  # type: ignore[assignment]


def _misbehave() -> None:
    from confide.federation.site.site import Site

    honest = Site.reply

    def reply(self: Site, topic: str, request: Mapping[str, Any]) -> dict[str, Any]:
        told = self.folder.path / FILE
        wrong, _, how = told.read_text().partition(" ") if told.exists() else ("", "", "")
        if topic != wrong:
            return honest(self, topic, request)
        if how == GARBAGE:
            return {"state": [["answered"]], "offer": "0" * 1000, "site": {"name": self.name}}
        if how == OLD:
            return {**honest(self, topic, request), "protocol": 0}
        honest(self, topic, request)
        (self.folder.path / REACHED).touch()
        end = time.monotonic() + _FOREVER
        while told.exists() and time.monotonic() < end:
            time.sleep(0.1)
        return {}

    Site.reply = reply  # type: ignore[method-assign]
