"""Run a server: the application with its API and its pages, over HTTP connections with limits."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import AsyncIterator
from importlib.metadata import version
from types import FrameType
from typing import Any, ClassVar

import h11
import uvicorn
from fastapi import APIRouter, FastAPI, Response
from fastapi.openapi.utils import get_openapi
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from confide.contest.server import problems
from confide.contest.server.api import contests, organiser, submissions
from confide.contest.server.home import Home, Settings
from confide.contest.server.middleware import Guard
from confide.contest.server.oracle import Oracle
from confide.contest.server.pages import organisers, participants, public
from confide.contest.server.pages.context import KeptPages, PageRoute, unknown_page
from confide.contest.server.problems import LOG, MEDIA, Kind, Problem, Refused
from confide.errors import UsageError

_rest = APIRouter(route_class=PageRoute, include_in_schema=False)


@_rest.get("/contests/{rest:path}")
async def show_nothing(rest: str) -> Response:
    """Say that there is no such page."""
    raise unknown_page()


def include_pages(app: FastAPI) -> None:
    """Add all pages to the application. None of them is part of the API that OpenAPI describes."""
    app.state.pages = KeptPages()
    for router in (public.router, participants.router, organisers.router, _rest):
        app.include_router(router)


TITLE = "confide evaluation oracle"


def create_app(settings: Settings) -> FastAPI:
    """Return the application of a server. Bundles are imported and the database is upgraded."""
    oracle = Oracle.start(settings)

    @contextlib.asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        refreshing = asyncio.create_task(oracle.boards.refresh())
        yield
        refreshing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await refreshing
        oracle.close()

    app = FastAPI(
        title=TITLE,
        version=version("confide"),
        description="Scores of submissions to contests whose labels stay secret. Errors are problems (RFC 9457).",
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        redirect_slashes=False,
        lifespan=life,
    )
    app.state.oracle = oracle
    problems.install(app)
    for router in (contests.router, submissions.router, organiser.router, contests.watching):
        app.include_router(router)
    include_pages(app)
    app.add_middleware(Guard, oracle=oracle)
    app.openapi = lambda: openapi(app)  # type: ignore[method-assign]  # FastAPI's own way to change it
    return app


def openapi(app: FastAPI) -> dict[str, Any]:
    """Return the description of the API, with problems and tokens."""
    if app.openapi_schema is None:
        plain = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        components = plain.setdefault("components", {})
        components.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = plain
    return app.openapi_schema


LARGEST_HEADERS = 16 * 1024

_READ_BYTES = 16 * 1024
"""Bytes that are read from one connection before others have their turn: parsing tiny chunks takes time."""


_MOST_CONNECTIONS = 2_000
"""Most connections, for the sake of memory: each may need some 100 kB."""


def most_connections() -> int:
    """Return how many connections there may be: at most a third of the files that this process may open.

    Each connection may upload a file; the last third is for the database and for processes that read files.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST_CONNECTIONS if files == resource.RLIM_INFINITY else max(1, min(files // 3, _MOST_CONNECTIONS))


class Protocol(H11Protocol):
    """Connection of one client."""

    header_seconds = 10.0
    idle_seconds = 10.0
    most = 100
    """Most connections; of more, the one is closed whose client the server has awaited longest."""
    awaited: ClassVar[dict[Protocol, None]] = {}
    """Connections whose request is not whole yet, or whose answer is not read on; those that wait longest first."""

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
        self.awaited[self] = None
        if len(self.connections) > self.most:
            oldest = next(iter(self.awaited))
            del self.awaited[oldest]
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Handle bytes; wait for the rest of headers that have begun, of the first request and of later ones."""
        if not self.flow.write_paused:
            self._unread = False
        super().data_received(data)
        if not self._lacks_headers:
            self._stop_waiting()
        elif self._waiting is None:
            self._wait()
        if not self._lacks_request:
            self.awaited.pop(self, None)

    def on_response_complete(self) -> None:
        """Await the next request."""
        super().on_response_complete()
        if self._lacks_request and not self.transport.is_closing():
            self.awaited.setdefault(self)

    @property
    def _lacks_request(self) -> bool:
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    @property
    def _lacks_headers(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.header_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def pause_writing(self) -> None:
        """Wait until the client has read most of what waits for it."""
        super().pause_writing()
        self.awaited.setdefault(self)

    def resume_writing(self) -> None:
        """Go on writing."""
        self._unread = False
        super().resume_writing()
        if not self._lacks_request:
            self.awaited.pop(self, None)

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
        self.awaited.pop(self, None)
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


DRAIN_SECONDS = 30
_SWITCH_SECONDS = 0.001
_ARENA_MAX, _ARENAS = -8, 2  # M_ARENA_MAX of malloc.h


class Server(uvicorn.Server):
    """Server that reports, as soon as it is told to stop, that it is not ready."""

    def __init__(self, config: uvicorn.Config, oracle: Oracle) -> None:
        super().__init__(config)
        self.oracle = oracle

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take no more submissions; those that have begun are finished, within seconds for each file."""
        LOG.info("stopping: %s", signal.Signals(sig).name)
        self.oracle.stop()
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True  # the second Ctrl-C does not wait
        self.should_exit = True


def serve(settings: Settings) -> None:
    """Serve contests until SIGTERM or SIGINT. Submissions that have begun are finished first."""
    _log_plainly()
    _keep_memory_small()
    _require_contests(settings)
    _require_port(settings)
    home = Home(settings.home)
    home.make()
    with home.occupied():
        app = create_app(settings)
        oracle: Oracle = app.state.oracle
        sys.setswitchinterval(_SWITCH_SECONDS)  # threads that compute let the event loop in sooner
        metrics = None if settings.metrics_port is None else oracle.metrics.serve(settings.metrics_port)
        LOG.info("contests: %s", ", ".join(oracle.contests))
        LOG.info("serving on http://%s:%d", settings.host, settings.port)
        Server(_config(app, settings), oracle).run()
        if metrics is not None:
            metrics.shutdown()


def _require_contests(settings: Settings) -> None:
    """Refuse to make a home folder where there is nothing to serve."""
    for bundle in settings.bundles:
        if not bundle.is_file():
            raise UsageError(f"{bundle} does not exist; give the server.zip that `confide contest new` wrote")
    if not settings.bundles and not settings.home.is_dir():
        raise UsageError("there is no contest to serve; give the server.zip that `confide contest new` wrote")


def _require_port(settings: Settings) -> None:
    """Refuse a port that cannot be had, before anything is made."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        with socket.socket(family) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((settings.host, settings.port))
    except OSError as error:
        reason = (error.strerror or "not possible").lower()
        raise UsageError(
            f"port {settings.port} of {settings.host} cannot be used ({reason}); give another one (`--port`)"
        ) from None


def _config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    most = most_connections()
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=type(
            "TimedProtocol",
            (Protocol,),
            {
                "header_seconds": settings.header_seconds,
                "idle_seconds": settings.idle_seconds,
                "most": most,
                "awaited": {},
            },
        ),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # its lines hold query strings; the middleware writes others
        server_header=False,
        h11_max_incomplete_event_size=LARGEST_HEADERS,
        backlog=max(1, most // 4),  # so many are accepted at once, before those in excess are closed
        timeout_keep_alive=15,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )


def _keep_memory_small() -> None:
    """Let threads share few heaps: each of its own would keep what a score file once needed."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # read when PyArrow is imported
    with contextlib.suppress(OSError, AttributeError):  # not glibc
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)


def _log_plainly() -> None:
    """Write one line an event to standard error: no token, no body, no query string."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("confide.contest.server", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger: Any = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
