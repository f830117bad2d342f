"""Run a server: one process, until it is told to stop."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import socket
import sys
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from confide.errors import UsageError
from confide.service.app import create_app
from confide.service.home import Home
from confide.service.oracle import Oracle
from confide.service.problems import LOG
from confide.service.protocol import LARGEST_HEADERS, Protocol
from confide.service.settings import Settings

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
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=type(
            "TimedProtocol",
            (Protocol,),
            {"header_seconds": settings.header_seconds, "idle_seconds": settings.idle_seconds},
        ),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # its lines hold query strings; the middleware writes others
        server_header=False,
        h11_max_incomplete_event_size=LARGEST_HEADERS,
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
    for name, level in (("confide.service", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger: Any = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
