"""Numbers for operators, in the format of Prometheus, on a port of their own."""

from __future__ import annotations

from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counters of a server. None of them is labelled by a participant."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "confide_requests",
            "Requests by route, method and status.",
            ["route", "method", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "confide_request_seconds",
            "Duration of requests by route.",
            ["route"],
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.submissions = Counter(
            "confide_submissions", "Files by contest and result.", ["contest", "result"], registry=self.registry
        )
        self.waiting = Gauge("confide_files_waiting", "Files that are read or wait.", registry=self.registry)

    def serve(self, port: int) -> WSGIServer:
        """Answer on a port of the loopback interface, in a thread."""
        server, _thread = start_http_server(port, addr="127.0.0.1", registry=self.registry)
        return server
