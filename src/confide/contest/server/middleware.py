"""Middleware of every request: limits of bodies, security headers, log and metrics."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from confide.contest.server.home import Settings
from confide.contest.server.intake import too_large, too_slow
from confide.contest.server.oracle import Oracle
from confide.contest.server.problems import LOG, Refused, place_of, unexpected

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
"""Headers of every response that does not set them itself."""

_FRAME = 2**16
"""Bytes that a form may add to the file in it."""

_FILES = re.compile(r"/v1/contests/[^/]+/submissions|/contests/[^/]+/submit")
_FINAL = re.compile(r"/v1/contests/[^/]+/final")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_DRAIN_SECONDS = 5.0

_PIECE = 2**16
"""Bytes of an answer that are written at once: what a client does not read is copied, and the rest is not."""


class Guard:
    """Adds security headers, limits bodies, writes one line of log, and hides defects."""

    def __init__(self, app: ASGIApp, *, oracle: Oracle) -> None:
        self.app = app
        self.oracle = oracle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def secured(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if status >= 400:
                    await body.drain()
                headers = MutableHeaders(scope=message)
                if not body.ended:
                    headers["Connection"] = "close"  # the rest of the body cannot be told from a next request
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            for piece in _pieces(message):
                await send(piece)

        settings = self.oracle.settings
        most = largest_body(scope, settings)
        body = Body(scope, receive, idle=settings.idle_seconds, total=settings.body_seconds, most=most)
        try:
            await self.app(scope, body.receive, secured)
        except Exception as error:
            LOG.error("unexpected %s at %s", type(error).__name__, place_of(error))
            if status:
                raise
            await unexpected()(scope, receive, secured)
        finally:
            self._note(scope, status, time.perf_counter() - started)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        # Labels come from fixed sets: each new value would stay in memory for good.
        method = scope["method"] if scope["method"] in _METHODS else "other"
        metrics = self.oracle.metrics
        metrics.requests.labels(route, method if route != "none" else "none", str(status)).inc()
        metrics.seconds.labels(route).observe(seconds)
        metrics.waiting.set(self.oracle.queue.length)
        # Without the query string, which may hold anything.
        LOG.info("%s %s %d %.0f ms", scope["method"][:20], quote(scope["path"][:200]), status, 1e3 * seconds)


def _pieces(message: Message) -> Iterator[Message]:
    """Yield a message, a large body in several: before each the server waits until the client has read the last."""
    body = message.get("body", b"")
    if message["type"] != "http.response.body" or len(body) <= _PIECE:
        yield message
        return
    for start in range(0, len(body), _PIECE):
        last = start + _PIECE >= len(body)
        yield {
            **message,
            "body": body[start : start + _PIECE],
            "more_body": not last or message.get("more_body", False),
        }


class Body:
    """Body of a request: `receive` refuses one that is too large or too slow."""

    def __init__(self, scope: Scope, receive: Receive, *, idle: float, total: float, most: int) -> None:
        self._receive = receive
        self._idle = idle
        self._deadline = time.monotonic() + total
        self._most = most
        self._size = 0
        headers = Headers(scope=scope)
        self._ended = "content-length" not in headers and "transfer-encoding" not in headers
        self._late = False
        self._waits = headers.get("expect", "").lower() == "100-continue"

    async def receive(self) -> Message:
        """Return the next part of the body."""
        if self._ended:  # the wait for a client that goes away has no end of its own
            return await self._receive()
        self._waits = False
        try:
            async with asyncio.timeout(max(0.0, min(self._idle, self._deadline - time.monotonic()))):
                message = await self._receive()
        except TimeoutError:
            self._ended = self._late = True
            raise too_slow() from None
        self._size += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        if self._size > self._most:
            raise too_large(self._most, "send a smaller body; only score files and finals may be large")
        return message

    @property
    def ended(self) -> bool:
        """Return whether all of the body was read."""
        return self._ended and not self._late

    async def drain(self) -> None:
        """Read the rest of a refused body, within limits, so that the client reads the answer instead of a reset.

        A client that waits for the server's word before it sends the body sends none.
        """
        self._deadline = min(self._deadline, time.monotonic() + _DRAIN_SECONDS)
        with contextlib.suppress(Refused):
            while not self._ended and not self._waits:
                await self.receive()


def tagged_response(
    content: bytes, media: str, etag: str, known: str | None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return content with its entity tag; an empty answer if the caller has it, by the header If-None-Match.

    Caches may keep it, and must ask again before they show it.
    """
    sent = {"Cache-Control": "no-cache", **(headers or {}), "ETag": etag}
    tags = {one.strip().removeprefix("W/") for one in (known or "").split(",")}
    if etag in tags or "*" in tags:
        return Response(status_code=304, headers=sent)
    return Response(content, media_type=media, headers=sent)


def largest_body(scope: Scope, settings: Settings) -> int:
    """Return how many bytes the body of a request may have: much for score files and finals, little for the rest.

    The size of a score file is limited once more where it is read.
    """
    method, path = scope["method"], scope["path"]
    if method == "POST" and _FILES.fullmatch(path):
        return settings.largest_body + _FRAME
    return settings.largest_final if method == "PUT" and _FINAL.fullmatch(path) else settings.largest_request
