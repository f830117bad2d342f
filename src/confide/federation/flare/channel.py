"""Channel from the coordinator to its sites: requests are FLARE tasks, one JSON text each way."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from confide.federation.protocol import LATE, Message, Patience, Silence, says_yes

TEXT = "confide"
"""Key under which a task and its result carry their JSON text."""

ABSENT = "it is not connected, or did not let the run start; see that it runs with `confide site status` there"
LEFT = "it left in the middle of the run"
ENDED = "it had not replied when the run was ended: its process there died, or somebody stopped the run"
WORDLESS = "it failed without a reply; its administrator finds more in the site's log"

_PAUSE_SECONDS = 0.1


@dataclass(slots=True)
class Round:
    """Replies of one round as they arrive; FLARE calls from threads of its own."""

    pending: set[str]
    heard: Callable[[str], None]
    replies: dict[str, Message | Silence] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def received(self, client_task: ClientTask, fl_ctx: FLContext) -> None:
        """Record the first reply of a site."""
        site = client_task.client.name
        reply = read_reply(client_task.result)
        client_task.result = None
        with self.changed:
            if site not in self.pending:
                return
            self.pending.discard(site)
            self.replies[site] = reply
            if says_yes(reply):
                self.times.append(time.monotonic())
            self.changed.notify_all()
        if not isinstance(reply, Silence):
            self.heard(site)

    def give_up(self, sites: set[str], reason: str) -> None:
        """Stop waiting for some sites."""
        with self.changed:
            for site in sites & self.pending:
                self.replies[site] = Silence(reason)
            self.pending -= sites


@dataclass(frozen=True, slots=True, kw_only=True)
class FlareChannel:
    """Asks the sites of a FLARE job; `present` are those that the job was started at."""

    controller: Controller
    context: FLContext
    abort: Signal
    present: frozenset[str]

    def ask(
        self, topic: str, requests: Mapping[str, Message], *, patience: Patience, heard: Callable[[str], None]
    ) -> Mapping[str, Message | Silence]:
        """Ask all sites at once; sites with the same request share a task."""
        start, timeout = time.monotonic(), patience.seconds
        around = Round(pending=set(requests), heard=heard)
        around.give_up(set(requests) - self.present, ABSENT)
        tasks = [self._send(topic, text, sites, timeout, around) for text, sites in self._by_text(requests).items()]
        self._wait(around, start, patience)
        for task in tasks:
            self.controller.cancel_task(task, fl_ctx=self.context)
        with around.changed:
            return dict(around.replies)

    def _by_text(self, requests: Mapping[str, Message]) -> dict[str, list[str]]:
        grouped: dict[str, list[str]] = {}
        for site in sorted(self.present & set(requests)):
            grouped.setdefault(json.dumps(requests[site]), []).append(site)
        return grouped

    def _send(self, topic: str, text: str, sites: list[str], timeout: float, around: Round) -> Task:
        data = Shareable()
        data[TEXT] = text
        task = Task(name=topic, data=data, timeout=math.ceil(timeout) + 1, result_received_cb=around.received)
        self.controller.broadcast(task, self.context, targets=sites, min_responses=len(sites))
        return task

    def _wait(self, around: Round, start: float, patience: Patience) -> None:
        """Wait until all sites have replied, left or run out of time."""
        while True:
            with around.changed:
                if not around.pending:
                    return
                around.changed.wait(_PAUSE_SECONDS)
                waiting, deadline = set(around.pending), patience.deadline(start, around.times)
            around.give_up({site for site in waiting if self.controller.get_client_disconnect_time(site)}, LEFT)
            if self.abort.triggered:
                around.give_up(waiting, ENDED)
            elif time.monotonic() >= deadline:
                around.give_up(waiting, LATE)


def read_reply(result: Any) -> Message | Silence:
    """Return the plain data in a result; an empty dictionary, which is no valid reply, if it cannot be read."""
    if not isinstance(result, Shareable) or result.get_return_code(ReturnCode.OK) != ReturnCode.OK:
        return Silence(WORDLESS)
    try:
        plain = json.loads(result.get(TEXT, ""))
    except (ValueError, TypeError, RecursionError):
        return {}
    return plain if isinstance(plain, dict) else {}
