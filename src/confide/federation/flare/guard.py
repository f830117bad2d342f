"""Guard that installs a gate in FLARE, below everything that reads messages, and starts only with the expected FLARE.

FLARE gives every message that arrives in a process to a receiver, which it registers once. The guard wraps each
receiver as it is registered: a message that the gate refuses is dropped before its payload is decoded, and gets no
answer. On the channel from the server to a site the topic lies inside the payload, so the guard checks that again where
FLARE looks the topic up.

An engine listens for its runs on the loopback interface, where every local user can connect. FLARE accepts a connection
and finishes its TLS handshake in one loop, so a connection that stays silent keeps all others waiting. The guard lets
each connection shake hands in its own thread, for a limited time.

The guard depends on FLARE's internals; `known_flare` checks that these are the expected ones, or nothing starts.
"""

from __future__ import annotations

import io
import json
import logging
import socket
import ssl
import threading
import zipfile
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from confide.errors import FederationError
from confide.federation.flare.flows import ADMIN, SITE_TOPICS, Envelope, Gate, Hop, Member, Party, is_run
from confide.federation.flare.job import FILES, FOLDER
from confide.federation.flare.known_flare import require_known

_MOST_BYTES = 1_000_000
"""Most bytes of a job, and of the headers of a message; a question has at most about 100,000 characters."""

HANDSHAKE_SECONDS = 10.0
"""Seconds that a connection to an engine's loopback port may take to show its certificate."""

MOST_HANDSHAKES = 64
"""Most connections that may be without a certificate at once; of more, the oldest is closed."""

_DEPLOY = "train.deploy"
_MOST_LOGGED = 1000
_LONGEST = 60
_logger = logging.getLogger(__name__)


def install(gate: Gate) -> None:
    """Guard every message that arrives in this process from now on; call it before FLARE starts."""
    require_known(gate.me.party)

    def gate_of(receiver: Any) -> Gate | None:
        return gate if Member.parse(receiver.get_fqcn()) == gate.me else None

    _guard_receivers(gate_of)
    guard_handshakes()
    if gate.me.party is Party.SITE:
        _guard_topics()
        _guard_login()


@cache
def guard_sessions() -> None:
    """Guard every message to a coordinator's session in this process, against the server that the session is with."""
    require_known(Party.COORDINATOR)

    def gate_of(receiver: Any) -> Gate | None:
        me = Member.parse(receiver.get_fqcn())
        server = receiver.identity_resolver.resolve("server")
        return Gate(me=me, server=server) if me is not None and me.party is Party.COORDINATOR else None

    _guard_receivers(gate_of)
    _guard_login()


def _guard_receivers(gate_of: Callable[[Any], Gate | None]) -> None:
    """Wrap every receiver as FLARE registers it; those without a gate are refused."""
    from nvflare.fuel.f3.sfm.conn_manager import ConnManager

    register = ConnManager.register_message_receiver

    def register_guarded(self: Any, app_id: int, receiver: Any) -> None:
        gate = gate_of(receiver)
        if gate is None:
            raise FederationError(f"FLARE opens a cell {receiver.get_fqcn()!r} that this process should not have")
        register(self, app_id, GuardedReceiver(gate, receiver))

    ConnManager.register_message_receiver = register_guarded


def guard_handshakes() -> None:
    """Let no silent connection to the loopback port keep others waiting, nor hold a thread for long."""
    from nvflare.fuel.f3.drivers.socket_conn import ConnectionHandler
    from nvflare.fuel.f3.drivers.tcp_driver import TcpStreamServer

    accept, handle = TcpStreamServer.get_request, ConnectionHandler.handle
    handshakes = Handshakes()

    def accept_at_once(self: Any) -> Any:
        if isinstance(self.socket, ssl.SSLSocket):
            self.socket.do_handshake_on_connect = False  # type: ignore[attr-defined]
        return accept(self)

    def handle_after_handshake(self: Any) -> None:
        if not isinstance(self.request, ssl.SSLSocket) or handshakes.finish(self.request):
            handle(self)

    TcpStreamServer.get_request = accept_at_once
    ConnectionHandler.handle = handle_after_handshake


class Handshakes:
    """Finishes TLS handshakes of connections that were accepted; limits their time and their number."""

    def __init__(self, *, seconds: float = HANDSHAKE_SECONDS, most: int = MOST_HANDSHAKES) -> None:
        self._seconds, self._most = seconds, most
        self._waiting: deque[ssl.SSLSocket] = deque()
        self._lock = threading.Lock()

    def finish(self, connection: ssl.SSLSocket) -> bool:
        """Return whether the other end showed a certificate of the federation in time; its socket then waits again.

        A run shakes hands in milliseconds. So if too many wait, the oldest is a silent one, and is closed.
        """
        with self._lock:
            oldest = self._waiting.popleft() if len(self._waiting) >= self._most else None
            self._waiting.append(connection)
            if oldest is not None:
                _shut(oldest)
        late = threading.Timer(self._seconds, _shut, (connection,))  # a socket's own timeout begins anew with each byte
        late.daemon = True
        late.start()
        try:
            connection.do_handshake()
        except (OSError, ValueError):
            return False
        finally:
            late.cancel()
            with self._lock, suppress(ValueError):
                self._waiting.remove(connection)
        return True


def _shut(connection: ssl.SSLSocket) -> None:
    """Wake whoever waits for a connection; its own thread closes it."""
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


class GuardedReceiver:
    """A receiver of messages that sees only those that a gate lets through."""

    def __init__(self, gate: Gate, receiver: Any) -> None:
        self._gate, self._receiver = gate, receiver
        self._refusals = Refusals()

    def process_message(self, endpoint: Any, connection: Any, app_id: int, message: Any) -> None:
        """Hand a message on, or drop it."""
        envelope = Envelope.of(message.headers)
        hop = _hop(endpoint, connection)
        reason = self._gate.refusal(hop, envelope)
        if reason is None:
            self._receiver.process_message(endpoint, connection, app_id, message)
        else:
            self._refusals.log(reason, hop.endpoint, envelope)


def _hop(endpoint: Any, connection: Any) -> Hop:
    """Describe the connection that a message came by."""
    from nvflare.fuel.f3.drivers.connector_info import Mode

    return Hop(
        endpoint=str(endpoint.name),
        common_name=connection.get_conn_properties().get("peer_cn"),
        accepted=connection.connector.mode == Mode.PASSIVE,
    )


class Refusals:
    """Logs refused messages, each kind once, so that nobody can fill the log."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, ...]] = set()
        self._lock = threading.Lock()

    def log(self, reason: str, endpoint: str, envelope: Envelope) -> None:
        """Note a refusal; what the sender wrote is shortened and quoted."""
        said = (endpoint, envelope.origin, envelope.destination, envelope.channel, envelope.topic)
        streamed = (envelope.stream_channel, envelope.stream_topic)
        line = tuple(repr(text[:_LONGEST]) for text in (envelope.kind, *said, *streamed))
        with self._lock:
            if line in self._seen or len(self._seen) >= _MOST_LOGGED:
                return
            self._seen.add(line)
        _logger.warning(
            "refused a message, as %s: %s by %s from %s to %s, channel %s, topic %s, stream %s %s", reason, *line
        )


def _guard_topics() -> None:
    """Let a site answer the few topics of the server's channel that a run needs, about runs alone."""
    from nvflare.private.fed.client.admin import FedAdminAgent

    dispatch = FedAdminAgent._dispatch_request

    def dispatch_guarded(self: Any, request: Any) -> Any:
        reason = topic_refusal(request.headers.get("cn__origin"), request.payload)
        if reason is None:
            return dispatch(self, request)
        _logger.warning("refused a message on the channel %s: %s", ADMIN, reason)
        return None

    FedAdminAgent._dispatch_request = dispatch_guarded


def _guard_login() -> None:
    """Sign a server's challenge only where it is a UUID: a longer text could be a job's file, or another message."""
    from nvflare.private.fed.authenticator import Authenticator

    challenge = Authenticator._challenge_server

    def challenge_guarded(self: Any) -> Any:
        nonce, verifier = challenge(self)
        if nonce is not None and not is_run(nonce):
            raise FederationError("the server asks for a signature of something else than a UUID; it is not trusted")
        return nonce, verifier

    Authenticator._challenge_server = challenge_guarded


def topic_refusal(origin: object, content: Any) -> str | None:
    """Return why a message on the server's channel to a site is refused, or None where it is not.

    The run that it is about must be named by a UUID: FLARE builds paths, deletes folders and writes command lines from
    it. A run's own process may speak of that run alone.
    """
    from nvflare.private.admin_defs import Message

    sender = Member.parse(origin)
    if sender is None or not isinstance(content, Message) or not isinstance(content.topic, str):
        return "it cannot be read"
    if content.topic not in SITE_TOPICS.get(sender.party, ()):
        return f"no run needs its topic {content.topic[:_LONGEST]!r}"
    if not _is_short(content.headers) or (content.topic != _DEPLOY and not _is_short(content.body)):
        return "it is larger than those of a run"
    run, meta = content.get_header("job_id"), content.get_header("job_meta")
    if run is None and content.topic.startswith("scheduler."):
        return None
    if not is_run(run) or (sender.run and sender.run != run):
        return "it names no run"
    if meta is not None and (not isinstance(meta, dict) or meta.get("job_id", run) != run):
        return "it names two runs"
    if content.topic == _DEPLOY and not _is_question(content.body):
        return "its job is not that of a question"
    return None


def _is_short(content: object) -> bool:
    """Tell whether a part of a message has a size that a run's may have."""
    try:
        return len(json.dumps(content, default=repr)) <= _MOST_BYTES
    except (TypeError, ValueError, RecursionError):
        return False


def _is_question(job: object) -> bool:
    """Tell whether a job's archive has the files of a question, no others, and is small: FLARE unpacks it unseen."""
    if not isinstance(job, bytes) or len(job) > _MOST_BYTES:
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(job)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError):
        return False
    names = sorted(member.filename for member in members if member.filename != FOLDER)
    return names == sorted(FILES) and sum(member.file_size for member in members) <= _MOST_BYTES
