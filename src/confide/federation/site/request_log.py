"""A site's log of requests, one JSON object a line."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from confide.federation.site.site_folder import SiteFolder


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
    return plain if isinstance(plain, dict) else None
