"""HTTP connections: slow or huge headers and unread answers end one, and a malformed request gets a problem."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from confide.service.problems import MEDIA, Kind, Refused

LARGEST_HEADERS = 16 * 1024

_READ_BYTES = 16 * 1024
"""Bytes that are read from one connection before others have their turn: parsing tiny chunks takes time."""


class Protocol(H11Protocol):
    """Connection of one client."""

    header_seconds = 10.0
    idle_seconds = 10.0

    cycle: RequestResponseCycle | None  # type: ignore[assignment]  # None until headers are whole
    _waiting: asyncio.TimerHandle | None = None
    _checking: asyncio.TimerHandle | None = None
    _unread = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn declares it
        """Begin to wait for the first headers, and to look whether the client reads its answers."""
        super().connection_made(transport)
        with contextlib.suppress(AttributeError):  # a transport of another event loop
            transport.max_size = _READ_BYTES  # type: ignore[attr-defined]  # of asyncio's own transport
        self._wait()
        self._checking = self.loop.call_later(self.idle_seconds, self._check_reader)

    def data_received(self, data: bytes) -> None:
        """Handle bytes; wait for the rest of headers that have begun, of the first request and of later ones."""
        if not self.flow.write_paused:
            self._unread = False
        super().data_received(data)
        if not self._lacks_headers:
            self._stop_waiting()
        elif self._waiting is None:
            self._wait()

    @property
    def _lacks_headers(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.header_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def resume_writing(self) -> None:
        """Go on writing: the client has read most of what waited for it."""
        self._unread = False
        super().resume_writing()

    def _check_reader(self) -> None:
        """End a connection whose client left unread what waited at the last check. Closing alone would wait for it."""
        waiting = self.transport.get_write_buffer_size() > 0
        if waiting and self._unread:
            self.transport.abort()
            return
        self._unread = waiting
        self._checking = self.loop.call_later(self.idle_seconds, self._check_reader)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        if self._checking is not None:
            self._checking.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        self._waiting = None
        answering = self.cycle is not None and not self.cycle.response_complete
        if self._lacks_headers and not answering and not self.transport.is_closing():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that cannot be read, and close the connection."""
        huge = self._is_huge()
        kind = Kind.HEADERS if huge else Kind.MALFORMED
        step = "send fewer or shorter headers" if huge else "send a valid HTTP/1.1 request"
        body = Refused(kind, kind.title.lower(), step).problem.model_dump_json().encode()
        headers: list[Any] = [
            (b"content-type", MEDIA.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),
        ]
        for event in (
            h11.Response(status_code=kind.status, headers=headers, reason=b""),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _is_huge(self) -> bool:
        waiting, _ended = self.conn.trailing_data
        return len(waiting) > LARGEST_HEADERS
