"""Silent connections to an engine's loopback port do not keep its runs from connecting."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from nvflare.fuel.f3.drivers.connector_info import ConnectorInfo, Mode
from nvflare.fuel.f3.drivers.socket_conn import ConnectionHandler
from nvflare.fuel.f3.drivers.tcp_driver import TcpDriver, TcpStreamServer

from confide.federation.flare import guard
from tests.federation.certificates import DAY, Authority, fresh_key, issued
from tests.ports import free_port
from tests.waiting import wait_until

SECONDS = 5.0
END = datetime.now(UTC) + DAY
DEFAULTS = {"seconds": guard.HANDSHAKE_SECONDS, "most": guard.MOST_HANDSHAKES}


class Listener:
    """FLARE's listener for runs on the loopback interface, with the certificates of a site."""

    def __init__(self, folder: Path) -> None:
        authority = Authority.fresh()
        (folder / "root.pem").write_text(authority.root)
        key = fresh_key()
        (folder / "site.crt").write_text(issued("north", key, authority.name, authority.key, until=END))
        (folder / "site.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        self.port, self._folder, self.driver = free_port(), folder, TcpDriver()
        files = {"ca_cert": "root.pem", "client_cert": "site.crt", "client_key": "site.key"}
        params = {name: str(folder / file) for name, file in files.items()}
        params |= {"scheme": "stcp", "host": "127.0.0.1", "port": str(self.port), "secure": "true"}
        self.driver.register_conn_monitor(SimpleNamespace(state_change=lambda connection: None))
        stopped = threading.Event()
        self._connector = ConnectorInfo("CH1", self.driver, params, Mode.PASSIVE, 0, 0, False, stopped)

    def __enter__(self) -> Listener:
        threading.Thread(target=self.driver.listen, args=(self._connector,), daemon=True).start()
        wait_until(lambda: self.driver.server is not None)
        return self

    def __exit__(self, *error: object) -> None:
        self.driver.shutdown()
        self.driver.server.server_close()

    def silent(self) -> socket.socket:
        """Connect as any local user can, and say nothing."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def run_connects(self) -> bool:
        """Connect as a run does, and return whether the listener takes it."""
        context = ssl.create_default_context(cafile=str(self._folder / "root.pem"))
        context.check_hostname = False
        context.load_cert_chain(self._folder / "site.crt", self._folder / "site.key")
        before = len(self.driver.connections)
        with self.silent() as plain:
            try:
                with context.wrap_socket(plain):
                    wait_until(lambda: len(self.driver.connections) == before + 1, seconds=SECONDS)
                    return True
            except (OSError, AssertionError):
                return False


@pytest.fixture
def listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Listener]]:
    """Make a guarded listener; FLARE's classes are put back afterwards."""
    monkeypatch.setattr(TcpStreamServer, "get_request", TcpStreamServer.get_request)
    monkeypatch.setattr(ConnectionHandler, "handle", ConnectionHandler.handle)
    with ExitStack() as stack:

        def make(*, guarded: bool = True, **limits: float) -> Listener:
            if guarded:
                monkeypatch.setattr(guard.Handshakes.__init__, "__kwdefaults__", {**DEFAULTS, **limits})
                guard.guard_handshakes()
            return stack.enter_context(Listener(tmp_path))

        yield make


def test_without_the_guard_one_silent_connection_blocks_runs(
    listener: Callable[..., Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.SECONDS", 0.5)
    plain = listener(guarded=False)
    with plain.silent():
        assert not plain.run_connects()


def test_a_run_connects_beside_silent_connections(listener: Callable[..., Listener]) -> None:
    guarded = listener()
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(guarded.silent())
        assert guarded.run_connects()


def test_a_run_connects_beside_more_silent_connections_than_may_wait(listener: Callable[..., Listener]) -> None:
    guarded = listener(most=4)
    with ExitStack() as stack:
        silent = [stack.enter_context(guarded.silent()) for _ in range(12)]
        assert guarded.run_connects()
        assert [closed(one) for one in silent[:8]] == [True] * 8


def test_a_silent_or_dripping_connection_is_closed_in_time(listener: Callable[..., Listener]) -> None:
    guarded = listener(seconds=0.5)
    with guarded.silent() as silent, guarded.silent() as dripping:
        began = time.monotonic()
        while time.monotonic() < began + 1.0:
            with suppress(OSError):  # it is closed at some time
                dripping.send(b"\x16")
            time.sleep(0.1)
        assert closed(silent)
        assert closed(dripping)
        assert not guarded.driver.connections


def test_a_connection_without_a_certificate_is_not_taken(listener: Callable[..., Listener], tmp_path: Path) -> None:
    guarded = listener()
    context = ssl.create_default_context(cafile=str(tmp_path / "root.pem"))
    context.check_hostname = False
    with guarded.silent() as plain, suppress(OSError), context.wrap_socket(plain) as stranger:
        assert stranger.recv(1) == b""
    assert not guarded.driver.connections


def closed(connection: socket.socket) -> bool:
    """Return whether the other end closed a connection."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
