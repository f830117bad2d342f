"""A channel to sites in this process whose run is over only when every site has worked on every request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from confide.federation.protocol import InProcess, Message, Patience, Silence

Reply = Callable[[str, Message], Message]


class SettledChannel:
    """A coordinator does not wait for the slowest sites; `settle` does, so that tests can read what they did."""

    def __init__(self, sites: Mapping[str, Reply]) -> None:
        self._at_work = 0
        self._changed = threading.Condition()
        self._inner = InProcess({name: self._counted(reply) for name, reply in sites.items()})

    def ask(
        self, topic: str, requests: Mapping[str, Message], *, patience: Patience, heard: Callable[[str], None]
    ) -> Mapping[str, Message | Silence]:
        with self._changed:
            self._at_work += len(requests)
        return self._inner.ask(topic, requests, patience=patience, heard=heard)

    def settle(self, seconds: float = 120.0) -> None:
        """Wait until no site works on a request."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._at_work == 0, timeout=seconds), "a site never finished"

    def _counted(self, reply: Reply) -> Reply:
        def counted(topic: str, request: Message) -> Message:
            try:
                return reply(topic, request)
            finally:
                with self._changed:
                    self._at_work -= 1
                    self._changed.notify_all()

        return counted
