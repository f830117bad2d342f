"""Messages that a run needs, by sender and receiver; every other message is refused.

Five parties take part in a run: the server, the process that it starts for a run, a site, the process that a site
starts for a run, and the coordinator's session. FLARE names each by a path (`server`, `server.RUN`, `north`,
`north.RUN`, `_admin_ID`). A `Gate` decides from the connection that delivered a message, and from the message's
headers, whether a process may read it. It uses nothing of FLARE but names, so a channel or topic that a later version
adds is refused until it is listed here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

_SITE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
_SESSION = "_admin_"
_SERVER = "server"


class Party(Enum):
    """A kind of process that takes part in runs."""

    SERVER = "server"
    SERVER_RUN = "server's run"
    SITE = "site"
    SITE_RUN = "site's run"
    COORDINATOR = "coordinator"


@dataclass(frozen=True, slots=True)
class Member:
    """A process: its party, its site and its run, read from FLARE's path."""

    party: Party
    site: str = ""
    run: str = ""

    @classmethod
    def parse(cls, path: object) -> Member | None:
        """Read FLARE's path of a process; return None for one that no run needs."""
        if not isinstance(path, str):
            return None
        if path.startswith(_SESSION):
            return cls(Party.COORDINATOR, site=path) if is_run(path.removeprefix(_SESSION)) else None
        root, dot, run = path.partition(".")
        if dot and not is_run(run):
            return None
        if root == _SERVER:
            return cls(Party.SERVER_RUN, run=run) if dot else cls(Party.SERVER)
        if not _SITE.fullmatch(root):
            return None
        return cls(Party.SITE_RUN, site=root, run=run) if dot else cls(Party.SITE, site=root)


def is_run(name: object) -> bool:
    """Tell whether a run's identifier is a UUID in its usual form, so that it is safe in paths and command lines."""
    try:
        return isinstance(name, str) and str(UUID(name)) == name
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Hop:
    """Connection that delivered a message: its other end, that end's certificate, and who opened it."""

    endpoint: str
    common_name: str | None
    accepted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Headers of a message that decide whether it is read; all of them are claims of its sender."""

    kind: str
    origin: str
    destination: str
    channel: str
    topic: str
    stream_channel: str = ""
    stream_topic: str = ""
    unusual: bool = False

    @classmethod
    def of(cls, headers: Mapping[str, Any] | None) -> Envelope:
        """Read the headers of one of FLARE's messages; what is no text counts as absent.

        `unusual` are messages that would make the receiver connect to an address of the sender's choice, or fetch a
        certificate to decrypt them; runs have none.
        """
        found = headers or {}
        texts = {key: value if isinstance(value, str) else "" for key, value in found.items()}
        return cls(
            kind=texts.get("cn__msg_type", ""),
            origin=texts.get("cn__origin", ""),
            destination=texts.get("cn__destination", ""),
            channel=texts.get("cn__channel", ""),
            topic=texts.get("cn__topic", ""),
            stream_channel=texts.get("sm__ch", ""),
            stream_topic=texts.get("sm__tp", ""),
            unusual=any(found.get(name) for name in ("cn__conn_url", "cn__secure", "cn__encrypted")),
        )


_STREAM, _DATA, _ACK, _ERROR = "sm__STREAM", "sm__DATA", "sm__ACK", "sm__ERROR"
_RETURNED = "return_only"
_BYE = ("cellnet.channel", "bye")

ADMIN = "admin"
"""FLARE's channel from the server to a site. Its topics lie inside the message; see `SITE_TOPICS`."""

SITE_TOPICS: Mapping[Party, frozenset[str]] = {
    Party.SERVER: frozenset(
        {"train.deploy", "train.start_job", "train.abort", "scheduler.check_resource", "scheduler.cancel_resource"}
    ),
    Party.SITE_RUN: frozenset({"train.notify_job_status"}),
}
"""Topics on the channel `ADMIN` that a site answers, by sender."""

_Pairs = Mapping[tuple[Party, Party], frozenset[tuple[str, str]]]

MESSAGES: _Pairs = {
    (Party.SITE, Party.SERVER): frozenset(
        ("task", topic) for topic in ("challenge", "register", "heart_beat", "quit", "report_job_failure")
    ),
    (Party.COORDINATOR, Party.SERVER): frozenset(("task", topic) for topic in ("challenge", "register", "quit")),
    (Party.SERVER, Party.SITE): frozenset({(ADMIN, "admin")}),
    (Party.SITE_RUN, Party.SITE): frozenset({(ADMIN, "train.notify_job_status")}),
    (Party.SITE, Party.SITE_RUN): frozenset({("client_command", "abort")}),
    (Party.SERVER_RUN, Party.SERVER): frozenset(
        ("server_parent_listener", topic) for topic in ("get_clients", "heartbeat", "update_run_status")
    ),
}
"""Channels and topics of messages that fit in one piece, by sender and receiver. Replies go the other way."""

STREAMS: _Pairs = {
    (Party.SITE_RUN, Party.SERVER_RUN): frozenset(
        {
            ("server_command", "get_task"),
            ("server_command", "submit_update"),
            ("aux_communication", "__sync_runner__"),
            ("aux_communication", "__task_check__"),
            ("aux_communication", "__job_heartbeat__"),
        }
    ),
    (Party.SERVER_RUN, Party.SITE_RUN): frozenset({("aux_communication", "__end_run__")}),
    (Party.SERVER, Party.SERVER_RUN): frozenset(
        ("server_command", topic) for topic in ("abort", "app_command", "handle_dead_job")
    ),
    (Party.COORDINATOR, Party.SERVER): frozenset(
        {
            ("hci_channel", "command"),
            ("aux_communication", "ObjectStreamer.Request"),
            ("aux_communication", "ObjectStreamer.Abort"),
        }
    ),
    (Party.SERVER, Party.COORDINATOR): frozenset({("hci_channel", "SESSION_EXPIRED")}),
}
"""Channels and topics of messages that FLARE sends in pieces."""

_NEIGHBOURS: Mapping[Party, frozenset[tuple[Party, bool]]] = {
    Party.SITE: frozenset({(Party.SERVER, False), (Party.SITE_RUN, True)}),
    Party.SITE_RUN: frozenset({(Party.SERVER, False), (Party.SITE, False)}),
    Party.SERVER: frozenset(
        (party, True) for party in (Party.SITE, Party.SITE_RUN, Party.COORDINATOR, Party.SERVER_RUN)
    ),
    Party.SERVER_RUN: frozenset({(Party.SERVER, False)}),
    Party.COORDINATOR: frozenset({(Party.SERVER, False)}),
}
"""Parties at the other end of a connection, and whether this process accepted the connection (or opened it)."""

_RELAYED = {(Party.SITE_RUN, Party.SERVER_RUN), (Party.SERVER_RUN, Party.SITE_RUN)}
"""Senders and receivers between whom the server passes messages on, within one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Decides which messages a process reads or passes on.

    Parameters
    ----------
    me
        This process.
    server
        Name in the server's certificate.
    coordinator
        Name in the coordinator's certificate; only the server needs it.
    """

    me: Member
    server: str
    coordinator: str = ""

    def refusal(self, hop: Hop, envelope: Envelope) -> str | None:
        """Return why a message is refused, or None where it is not."""
        sender, origin, destination = (
            Member.parse(path) for path in (hop.endpoint, envelope.origin, envelope.destination)
        )
        if sender is None or not self._is_neighbour(sender, hop):
            return "the connection is not one that a run needs"
        if hop.common_name is None or hop.common_name != self._common_name(sender):
            return "the certificate of the connection is another's"
        if origin is None or destination is None or not self._is_route(sender, origin, destination):
            return "its route is not one that a run needs"
        if envelope.unusual or not _is_flow(origin.party, destination.party, envelope):
            return "no run needs its topic"
        return None

    def _is_neighbour(self, sender: Member, hop: Hop) -> bool:
        if (sender.party, hop.accepted) not in _NEIGHBOURS[self.me.party]:
            return False
        kin = {self.me.party, sender.party} == {Party.SITE, Party.SITE_RUN}
        return not kin or sender.site == self.me.site

    def _common_name(self, sender: Member) -> str:
        if sender.party in (Party.SERVER, Party.SERVER_RUN):
            return self.server
        return self.coordinator if sender.party is Party.COORDINATOR else sender.site

    def _is_route(self, sender: Member, origin: Member, destination: Member) -> bool:
        """Check that a message comes from the other end of its connection, for this process; but for relays."""
        if (origin, destination) == (sender, self.me):
            return True
        if (origin.party, destination.party) not in _RELAYED or origin.run != destination.run:
            return False
        if self.me.party is Party.SERVER:
            return origin == sender
        return sender.party is Party.SERVER and destination == self.me


def _is_flow(origin: Party, destination: Party, envelope: Envelope) -> bool:
    there, back = (origin, destination), (destination, origin)
    subject = (envelope.channel, envelope.topic)
    relayed = there in _RELAYED
    if envelope.kind == "reply":
        return not relayed and (subject == _BYE or subject in MESSAGES.get(back, ()))
    if envelope.kind != "req":
        return False
    if envelope.channel == _STREAM:
        return _is_stream(there, back, envelope)
    return not relayed and (subject == _BYE or subject in MESSAGES.get(there, ()))


def _is_stream(there: tuple[Party, Party], back: tuple[Party, Party], envelope: Envelope) -> bool:
    if envelope.topic == _ACK:
        return there in STREAMS or back in STREAMS
    if envelope.topic == _ERROR:
        return there in STREAMS or back in STREAMS or there == (Party.SERVER, Party.SITE_RUN)
    if envelope.topic != _DATA:
        return False
    if envelope.stream_channel == _RETURNED:
        channel, _, topic = envelope.stream_topic.partition(":")
        return (channel, topic) in STREAMS.get(back, ())
    return (envelope.stream_channel, envelope.stream_topic) in STREAMS.get(there, ())
