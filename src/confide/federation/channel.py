"""Channel between a coordinator and its sites: one request to each, and a reply or silence within a time limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

OFFER, ANSWER = "confide_offer", "confide_answer"
"""Topics of the two rounds."""

Message: TypeAlias = Mapping[str, Any]
"""Plain data, as JSON holds it."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Absence of a reply; `reason` explains it to people."""

    reason: str


class Channel(Protocol):
    """One request to each named site at once."""

    def ask(
        self, topic: str, requests: Mapping[str, Message], *, timeout: float, heard: Callable[[str], None]
    ) -> Mapping[str, Message | Silence]:
        """Return each site's reply, or a Silence, before the timeout; call `heard` with each site that replies."""
        ...


@dataclass(frozen=True, slots=True)
class InProcess:
    """Channel to sites that are functions in this process, each in its own thread: for tests and simulations."""

    sites: Mapping[str, Callable[[str, Message], Message]]

    def ask(
        self, topic: str, requests: Mapping[str, Message], *, timeout: float, heard: Callable[[str], None]
    ) -> Mapping[str, Message | Silence]:
        """Ask all sites at once."""
        pool = ThreadPoolExecutor(max_workers=max(len(requests), 1))
        asked = {site: pool.submit(self.sites[site], topic, request) for site, request in requests.items()}
        done, _ = wait(asked.values(), timeout=timeout)
        replies: dict[str, Message | Silence] = {}
        for site, future in asked.items():
            if future not in done:
                replies[site] = Silence("it did not reply in time")
            elif future.exception() is not None:
                replies[site] = Silence("it failed without a reply")
            else:
                replies[site] = future.result()
                heard(site)
        pool.shutdown(wait=False, cancel_futures=True)
        return replies
