"""Small real servers that answer as they are told, for the rules of the transport."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "cfd_" + "a" * 43


@dataclass(frozen=True)
class Seen:
    """A request as the server saw it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Told:
    """An answer; `hang_up` closes the connection instead, after the body was read."""

    status: int = 200
    content: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    hang_up: bool = False
    unread: bool = False  # answer before the body is read, and close


def told_json(plain: Any, status: int = 200, **headers: str) -> Told:
    kind = "application/problem+json" if status >= 400 else "application/json"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Told(status, json.dumps(plain).encode(), {"Content-Type": kind, **named})


@dataclass
class SmallServer:
    """Server on a free port of this machine, with what it saw."""

    url: str
    seen: list[Seen]


@contextmanager
def small_server(
    answer: Callable[[Seen, int], Told], *, wrap: Callable[[Any], Any] | None = None
) -> Iterator[SmallServer]:
    """Run a server; `answer` gets each request and how many came before it."""
    seen: list[Seen] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Seen(self.command, self.path, headers, b"")
            told = answer(request, len(seen))
            body = b"" if told.unread else self.rfile.read(int(headers.get("content-length", 0)))
            seen.append(Seen(self.command, self.path, headers, body))
            self.close_connection = True
            if told.hang_up:
                self.connection.close()
                return
            self.send_response(told.status)
            for name, value in told.headers.items():
                self.send_header(name, value)
            if not any(name.lower() == "content-length" for name in told.headers):
                self.send_header("Content-Length", str(len(told.content)))
            self.end_headers()
            self.wfile.write(told.content)

        def log_message(self, *words: Any) -> None:
            pass

    for method in ("GET", "POST", "PUT", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.handle_one)

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            pass

    server = Quiet(("127.0.0.1", 0), Handler)
    if wrap is not None:
        server.socket = wrap(server.socket)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        scheme = "http" if wrap is None else "https"
        yield SmallServer(f"{scheme}://127.0.0.1:{server.server_address[1]}", seen)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
