"""Guard that installs a gate in FLARE below everything that reads messages, for the one version it was written for.

The guard relies on FLARE's internals: where messages arrive, where topics are looked up, how a run is deployed, what a
session does with replies. `HOOKS` lists these functions with a hash of their source. An engine does not start where one
of them differs.

FLARE gives every message that arrives in a process to a receiver, which it registers once. The guard wraps each
receiver as it is registered: a message that the gate refuses is dropped before its payload is decoded, and gets no
answer. On the channel from the server to a site the topic lies inside the payload, so the guard checks that again where
FLARE looks the topic up.

An engine listens for its runs on the loopback interface, where every local user can connect. FLARE accepts a connection
and finishes its TLS handshake in one loop, so a connection that stays silent keeps all others waiting. The guard lets
each connection shake hands in its own thread, for a limited time.

The guard depends on FLARE's internals; a check shows that these are the expected ones, or nothing starts.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import io
import json
import logging
import socket
import ssl
import threading
import zipfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from confide.errors import FederationError
from confide.federation.flare.flows import ADMIN, SITE_TOPICS, Envelope, Gate, Hop, Member, Party, is_run
from confide.federation.flare.job import FILES, FOLDER

SERIES = "2.9"
"""Versions of FLARE that the guard was written for begin with this."""

TESTED = "2.9.0"

_ALL = {
    "nvflare.fuel.f3.sfm.conn_manager:ConnManager.register_message_receiver": "64a70070c8aa45ef",
    "nvflare.fuel.f3.sfm.conn_manager:ConnManager.process_frame_task": "fd26a42a36b2f004",
    "nvflare.fuel.f3.sfm.conn_manager:ConnManager.loopback_message_task": "0e698083b818933c",
    "nvflare.fuel.f3.sfm.conn_manager:ConnManager.update_endpoint": "a52c5747b52fac71",
    "nvflare.fuel.f3.drivers.tcp_driver:TcpStreamServer": "45e456281d4a32f8",
    "nvflare.fuel.f3.drivers.socket_conn:ConnectionHandler": "34a163ea131398b9",
    "nvflare.fuel.f3.cellnet.core_cell:CoreCell.process_message": "9ff6c55905497e88",
    "nvflare.fuel.f3.cellnet.core_cell:CoreCell._process_received_msg": "04cc7fbf264194d9",
    "nvflare.fuel.f3.cellnet.core_cell:CoreCell._process_request": "9fd9dacabcf64aa9",
    "nvflare.fuel.f3.cellnet.cell:Adapter.call": "6f7f93e4dbf9f656",
    "nvflare.fuel.f3.streaming.byte_receiver:ByteReceiver._data_handler": "cfa9781542a09348",
}

_LOGIN = {
    "nvflare.private.fed.authenticator:Authenticator._challenge_server": "00a2e4821ba71864",
    "nvflare.private.fed.authenticator:Authenticator.authenticate": "fd0667da15a03286",
}

_SESSION = {
    "nvflare.fuel.hci.client.api:AdminAPI.__init__": "e552b9a49b6c64f6",
    "nvflare.fuel.hci.client.api:AdminAPI.connect": "cc5488b548c7f865",
    "nvflare.fuel.hci.client.api:AdminAPI._after_login": "de7944208dd59f90",
    "nvflare.fuel.hci.client.api:AdminAPI._load_client_cmds_from_modules": "8caf2c556bc5e2ce",
    "nvflare.fuel.hci.client.api:AdminAPI._user_login": "e3148715777a5295",
    "nvflare.fuel.hci.client.api:AdminAPI._get_command_detail": "c4c18e21a040b1ce",
    "nvflare.fuel.hci.client.api:AdminAPI._do_client_command": "3b5e683e266223da",
    "nvflare.fuel.hci.client.api:AdminAPI.do_command": "1b8aa0b31c756807",
    "nvflare.fuel.hci.client.api:AdminAPI.server_execute": "9496f4c0d7ef45cd",
    "nvflare.fuel.hci.client.api:AdminAPI._try_command": "fbe3ad368b22b4b3",
    "nvflare.fuel.hci.client.api:AdminAPI._send_to_cell": "14e4f9d610fa37b7",
    "nvflare.fuel.hci.client.api:AdminAPI.upload_file": "ab62ed2a19b69e0e",
    "nvflare.fuel.hci.client.api:AdminAPI._handle_session_expired": "e67aad810cc9d145",
    "nvflare.fuel.hci.client.api:_ServerReplyJsonProcessor.process_server_reply": "90f79ddbcf43f2b5",
    "nvflare.fuel.hci.client.api:_DefaultReplyProcessor": "0f7cbac584d95f6b",
    "nvflare.fuel.hci.client.api:_LoginReplyProcessor": "01fc815cef889478",
    "nvflare.fuel.flare_api.flare_api:Session.__init__": "ac45d1f514e884b5",
    "nvflare.fuel.flare_api.flare_api:Session.try_connect": "1ecd348c1e780361",
    "nvflare.fuel.flare_api.flare_api:Session._do_command": "165e0e72f8c39ac4",
    "nvflare.fuel.flare_api.flare_api:Session.submit_job": "85e0e1fcce58e311",
    "nvflare.fuel.flare_api.flare_api:Session.get_job_meta": "950e3f228cee4300",
    "nvflare.fuel.flare_api.flare_api:Session.do_app_command": "1ee325b55bd3a744",
    "nvflare.fuel.flare_api.flare_api:Session.abort_job": "d8ba187802fc9107",
    "nvflare.fuel.flare_api.flare_api:Session._do_get_system_info": "3ffa2be8deb04c0a",
    "nvflare.fuel.hci.client.file_transfer:FileTransferModule.push_folder": "8d1713c0011f24a3",
    "nvflare.fuel.hci.client.file_transfer:_FileSender": "f3fad49bfab296e0",
    "nvflare.fuel.hci.reg:CommandRegister": "fad81de28acfbebf",
    "nvflare.lighter.utils:sign_folders": "e87f5161ab2b3ab5",
}

HOOKS: Mapping[Party, Mapping[str, str]] = {
    Party.SITE: _ALL
    | _LOGIN
    | {
        "nvflare.private.fed.app.client.client_train:main": "21d6cd8bb8b2ce43",
        "nvflare.private.fed.client.admin:FedAdminAgent._dispatch_request": "529e1bddf08c3425",
        "nvflare.private.fed.client.admin:FedAdminAgent.register_cell_cb": "ceb8eb8a081cced4",
        "nvflare.private.fed.client.training_cmds:DeployProcessor.process": "545f5cc3d6960a73",
        "nvflare.private.fed.utils.app_deployer:AppDeployer.deploy": "324c3c32d5fe2434",
        "nvflare.private.fed.client.scheduler_cmds:StartJobProcessor.process": "c5acbca6e3f02074",
    },
    Party.SITE_RUN: _ALL
    | {
        "nvflare.private.fed.app.client.worker_process:main": "12392e69cb7946a3",
        "nvflare.private.fed.client.command_agent:CommandAgent._execute_command": "eb88841c4a74c516",
        "nvflare.private.fed.client.command_agent:CommandAgent._aux_communication": "d8709d6ba82c0c00",
    },
    Party.SERVER: _ALL | {"nvflare.private.fed.app.server.server_train:main": "88900e04ebd09e66"},
    Party.SERVER_RUN: _ALL
    | {
        "nvflare.private.fed.app.server.runner_process:main": "e8fdacd26adf59d8",
        "nvflare.private.fed.server.server_command_agent:ServerCommandAgent.execute_command": "6cedaecc94667c05",
        "nvflare.private.fed.server.server_command_agent:ServerCommandAgent.aux_communicate": "ca484b8c60bf2174",
    },
    Party.COORDINATOR: _ALL | _LOGIN | _SESSION,
}
"""Functions of FLARE that each party's guard relies on, with the beginning of the hash of their source."""


def require_version() -> None:
    """Refuse versions of FLARE that the guard was not written for."""
    try:
        found = version("nvflare")
    except PackageNotFoundError:
        found = "none"
    if not found.startswith(f"{SERIES}."):
        raise FederationError(
            f"this version of confide guards NVIDIA FLARE {SERIES}, and {found} is installed; "
            f"install it with `pip install nvflare=={TESTED}`"
        )


def require_known(party: Party) -> None:
    """Refuse a FLARE whose internals differ from those that the guard was written for."""
    require_version()
    changed = sorted(_changed(HOOKS[party]))
    if changed:
        raise FederationError(
            f"NVIDIA FLARE {version('nvflare')} differs where confide guards it ({', '.join(changed)}), so no engine "
            f"starts; install the version that it was tested with: `pip install nvflare=={TESTED}`"
        )


def _changed(hooks: Mapping[str, str]) -> Iterator[str]:
    return (name for name, expected in hooks.items() if fingerprint(name) != expected)


def fingerprint(name: str) -> str:
    """Return the beginning of the hash of a function's source; the name is `module:Class.function`."""
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
        return hashlib.sha256(inspect.getsource(found).encode()).hexdigest()[:16]
    except (ImportError, AttributeError, OSError, TypeError):
        return "absent"


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
