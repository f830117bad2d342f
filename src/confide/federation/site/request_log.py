"""A site's log of requests: one sealed entry for every request and its outcome."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from confide.federation.channel import ANSWER, OFFER, SHARES, UNMASK, VOTE, Message
from confide.federation.site.sealed_log import SealedLog
from confide.federation.site.site_folder import SiteFolder

_CHAIN = ("n", "before", "seal")
_ROUNDS = {OFFER: 1, SHARES: 2, ANSWER: 2, VOTE: 4, UNMASK: 5}
_AFTER_SHARES = 3


def log_request(folder: SiteFolder, entry: Mapping[str, Any]) -> None:
    """Add an entry, with the time, to the site's log of requests."""
    SealedLog(folder.log).append({"at": datetime.now(UTC).isoformat(timespec="seconds"), **entry})


def round_of(topic: str, request: Message) -> int | None:
    """Return the number of a request's round, from 1; None for a request that is unknown here.

    A sum that survives dropouts asks for shares in round 2, and sends them with the request for the answer in round 3.
    Its vote in round 4 is left out if nobody dropped out; the last round is 5 all the same.
    """
    return _AFTER_SHARES if topic == ANSWER and "boxes" in request else _ROUNDS.get(topic)


def last_requests(folder: SiteFolder, wanted: int) -> tuple[dict[str, Any], ...]:
    """Return the last requests, the newest last. A line that was cut short is left out."""
    if not wanted or not folder.log.exists():
        return ()
    with folder.log.open(encoding="utf-8", errors="replace") as file:
        lines = deque(file, maxlen=wanted)
    return tuple(request for request in map(_request, lines) if request is not None)


def _request(text: str) -> dict[str, Any] | None:
    try:
        plain = json.loads(text)
    except ValueError:
        return None
    if not isinstance(plain, dict):
        return None
    return {name: value for name, value in plain.items() if name not in _CHAIN}
