"""Which messages a process reads: those that a run needs, from whom it needs them, by the right connection."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from confide.federation.flare.flows import (
    ADMIN,
    MESSAGES,
    SITE_TOPICS,
    STREAMS,
    Envelope,
    Gate,
    Hop,
    Member,
    Party,
    is_run,
)
from confide.federation.flare.guard import topic_refusal
from confide.federation.flare.job import FILES

RUN, OTHER = "5b1a3f5e-2f0c-4a54-9d6e-0c6f4f9a7e11", "9c2e8b7d-6a41-4e0b-8f13-2d5b6a7c8e90"
SERVER, COORDINATOR, SESSION = (
    "hub.example.org",
    "coordinator@heart.confide",
    "_admin_1f7d2c3b-4a5e-4b6c-9d8e-7f6a5b4c3d2e",
)
GATES = {
    path: Gate(me=member, server=SERVER, coordinator=COORDINATOR if path == "server" else "")
    for path in ("server", f"server.{RUN}", "north", f"north.{RUN}", SESSION)
    if (member := Member.parse(path)) is not None
}
NORTH = Hop("north", "north", accepted=True)
NORTH_RUN = Hop(f"north.{RUN}", "north", accepted=True)
HUB = Hop("server", SERVER, accepted=False)


def request(origin: str, destination: str, channel: str, topic: str, **more: Any) -> Envelope:
    return Envelope(kind="req", origin=origin, destination=destination, channel=channel, topic=topic, **more)


def data(origin: str, destination: str, channel: str, topic: str) -> Envelope:
    return request(origin, destination, "sm__STREAM", "sm__DATA", stream_channel=channel, stream_topic=topic)


SHELL = request("server", "north", ADMIN, "admin")
BEAT = request("north", "server", "task", "heart_beat")
END = data(f"server.{RUN}", f"north.{RUN}", "aux_communication", "__end_run__")
ABORT = request("north", f"north.{RUN}", "client_command", "abort")
TASK = data(f"north.{RUN}", f"server.{RUN}", "server_command", "get_task")


@pytest.mark.parametrize(
    ("me", "hop", "envelope"),
    [
        ("north", HUB, SHELL),
        ("north", HUB, replace(BEAT, kind="reply", origin="server", destination="north")),
        ("north", NORTH_RUN, request(f"north.{RUN}", "north", ADMIN, "train.notify_job_status")),
        ("server", NORTH, BEAT),
        ("server", NORTH_RUN, TASK),
        (f"server.{RUN}", HUB, TASK),
        (f"north.{RUN}", HUB, END),
        (f"north.{RUN}", HUB, data(f"server.{RUN}", f"north.{RUN}", "return_only", "server_command:get_task")),
        (f"north.{RUN}", HUB, request(f"server.{RUN}", f"north.{RUN}", "sm__STREAM", "sm__ACK")),
        (
            f"north.{RUN}",
            Hop("north", "north", accepted=False),
            request("north", f"north.{RUN}", "client_command", "abort"),
        ),
        ("server", Hop(SESSION, COORDINATOR, accepted=True), data(SESSION, "server", "hci_channel", "command")),
        (SESSION, HUB, data("server", SESSION, "return_only", "hci_channel:command")),
    ],
)
def test_what_a_run_needs_is_read(me: str, hop: Hop, envelope: Envelope) -> None:
    assert GATES[me].refusal(hop, envelope) is None


CONNECTION, CERTIFICATE = "the connection is not one that a run needs", "the certificate of the connection is another's"
ROUTE, TOPIC = "its route is not one that a run needs", "no run needs its topic"


@pytest.mark.parametrize(
    ("me", "hop", "envelope", "reason"),
    [
        pytest.param("north", HUB, replace(SHELL, origin="south"), ROUTE, id="a peer, passed on by the server"),
        pytest.param("north", HUB, replace(SHELL, origin=f"server.{RUN}"), ROUTE, id="a run of the server's"),
        pytest.param("north", HUB, replace(SHELL, destination=f"north.{RUN}"), ROUTE, id="a site passes nothing on"),
        pytest.param("north", HUB, replace(SHELL, channel="_net_manager", topic="stop"), TOPIC, id="net agent"),
        pytest.param("north", HUB, replace(SHELL, channel="cellnet.channel", topic="bulk"), TOPIC, id="bulk"),
        pytest.param("north", HUB, replace(SHELL, kind="return"), TOPIC, id="returned"),
        pytest.param("north", HUB, replace(SHELL, kind="reply"), TOPIC, id="a reply to what a site never asks"),
        pytest.param("north", HUB, replace(SHELL, unusual=True), TOPIC, id="a connection elsewhere"),
        pytest.param("north", replace(HUB, common_name="south"), SHELL, CERTIFICATE, id="a peer as the server"),
        pytest.param("north", replace(HUB, common_name=None), SHELL, CERTIFICATE, id="no certificate"),
        pytest.param("north", replace(HUB, accepted=True), SHELL, CONNECTION, id="a server that calls"),
        pytest.param("north", Hop("south", "south", accepted=True), SHELL, CONNECTION, id="a peer that calls"),
        pytest.param("north", Hop(f"south.{RUN}", "south", accepted=True), SHELL, CONNECTION, id="a peer's run"),
        pytest.param("north", Hop("north.south", "south", accepted=True), SHELL, CONNECTION, id="a relay"),
        pytest.param("server", NORTH, replace(BEAT, origin="south"), ROUTE, id="in a peer's name"),
        pytest.param("server", NORTH, replace(BEAT, destination="south"), ROUTE, id="to a peer"),
        pytest.param("server", NORTH, replace(TASK, origin=f"south.{RUN}"), ROUTE, id="in the name of a peer's run"),
        pytest.param("server", NORTH_RUN, replace(TASK, destination=f"south.{RUN}"), ROUTE, id="run to run"),
        pytest.param("server", NORTH_RUN, replace(TASK, destination=f"server.{OTHER}"), ROUTE, id="another run"),
        pytest.param("server", NORTH_RUN, replace(TASK, stream_topic="abort"), TOPIC, id="a site aborts a run"),
        pytest.param("server", Hop("south", "north", accepted=True), BEAT, CERTIFICATE, id="a peer's cell"),
        pytest.param("server", Hop(SESSION, "north", accepted=True), BEAT, CERTIFICATE, id="a site as coordinator"),
        pytest.param("server", Hop(f"server.{RUN}", "north", accepted=True), BEAT, CERTIFICATE, id="as a run"),
        pytest.param(f"north.{RUN}", HUB, replace(END, stream_topic="__do_task__"), TOPIC, id="a task out of turn"),
        pytest.param(f"north.{RUN}", HUB, replace(END, origin=f"south.{RUN}"), ROUTE, id="a peer's run ends it"),
        pytest.param(f"north.{RUN}", HUB, replace(ABORT, origin="server"), TOPIC, id="the server commands a run"),
        pytest.param(f"server.{RUN}", HUB, replace(TASK, origin=f"north.{OTHER}"), ROUTE, id="from another run"),
        pytest.param(SESSION, HUB, request("server", SESSION, "_net_manager", "stop"), TOPIC, id="ends a session"),
        pytest.param(SESSION, HUB, request("north", SESSION, "_net_manager", "stop"), ROUTE, id="a site, to a session"),
    ],
)
def test_everything_else_is_refused(me: str, hop: Hop, envelope: Envelope, reason: str) -> None:
    assert GATES[me].refusal(hop, envelope) == reason


def test_the_six_topics_are_all_that_a_site_answers() -> None:
    assert sorted(topic for topics in SITE_TOPICS.values() for topic in topics) == [
        "scheduler.cancel_resource",
        "scheduler.check_resource",
        "train.abort",
        "train.deploy",
        "train.notify_job_status",
        "train.start_job",
    ]
    to_sites = [pair for pair in (*MESSAGES, *STREAMS) if pair[1] is Party.SITE]
    assert to_sites == [(Party.SERVER, Party.SITE), (Party.SITE_RUN, Party.SITE)]
    assert all(channel == ADMIN for pair in to_sites for channel, _ in MESSAGES[pair])


@pytest.mark.parametrize("headers", [None, {}, {"cn__msg_type": ["req"], "cn__origin": {}, "cn__channel": 7}])
def test_headers_of_any_kind_are_refused_without_an_error(headers: dict[str, Any] | None) -> None:
    for gate in GATES.values():
        assert gate.refusal(HUB, Envelope.of(headers)) is not None


@pytest.mark.parametrize(
    "name", ["", "server.", "server.x", f"north.{RUN}.x", f"north.{RUN.upper()}", "no rth", "_admin_x", 7]
)
def test_paths_of_no_party_are_nobody(name: object) -> None:
    assert Member.parse(name) is None


@pytest.mark.parametrize("name", ["..", "", None, RUN.upper(), f"{RUN} --set a=b", RUN.replace("-", "")])
def test_runs_have_names_that_are_safe_in_paths_and_commands(name: object) -> None:
    assert is_run(RUN)
    assert not is_run(name)


def content(topic: Any, body: Any = "", **headers: Any) -> Any:
    from nvflare.private.admin_defs import Message

    message = Message(topic=topic, body=body)
    message.set_headers(headers)
    return message


def archive(size: int, names: Iterable[str] = FILES) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for name in names:
            made.writestr(name, bytes(size))
    return packed.getvalue()


@pytest.mark.parametrize(
    "body",
    [
        "",
        b"",
        b"no archive",
        archive(3_000_000),
        bytes(3_000_000),
        archive(1, [*FILES, "config/resources.json"]),
        archive(1, [*FILES, "config/app/.__nvfl_sig.json"]),
        archive(1, ["config/config_fed_client.conf", *(FILES - {"config/config_fed_client.json"})]),
        archive(1, FILES - {"config/config_fed_server.json"}),
    ],
)
def test_a_job_that_is_no_question_is_not_unpacked(body: Any) -> None:
    said = topic_refusal("server", content("train.deploy", body, job_id=RUN))
    assert said == "its job is not that of a question"


def test_messages_that_are_larger_than_those_of_a_run_are_refused() -> None:
    large = {"job_id": RUN, "x": "x" * 3_000_000}
    for message in (
        content("train.deploy", archive(100), job_id=RUN, job_meta=large),
        content("scheduler.check_resource", "x" * 3_000_000),
        content("train.start_job", job_id=RUN, more=large),
    ):
        assert topic_refusal("server", message) == "it is larger than those of a run"


def test_topics_inside_a_message_are_read_from_whom_a_run_needs_them() -> None:
    assert topic_refusal("server", content("train.abort", job_id=RUN)) is None
    assert topic_refusal("server", content("scheduler.check_resource")) is None
    assert topic_refusal("server", content("train.deploy", archive(100), job_id=RUN, job_meta={"job_id": RUN})) is None
    assert topic_refusal(f"north.{RUN}", content("train.notify_job_status", job_id=RUN)) is None


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ("server", content("sys.shell")),
        ("server", content("train.notify_job_status", job_id=RUN)),
        ("server", content(["train.abort"], job_id=RUN)),
        ("server", content("train.abort", job_id=[RUN])),
        ("server", content("train.deploy", job_id="../..")),
        ("server", content("train.start_job", job_id=RUN, job_meta={"job_id": "../.."})),
        ("server", content("train.start_job", job_id=RUN, job_meta="x")),
        ("server", content("scheduler.check_resource", job_id="../..")),
        ("server", "sys.shell"),
        (f"north.{RUN}", content("train.abort", job_id=RUN)),
        (f"north.{RUN}", content("train.notify_job_status", job_id=OTHER)),
        ("south", content("train.abort", job_id=RUN)),
        (None, content("train.abort", job_id=RUN)),
    ],
)
def test_other_topics_inside_a_message_are_refused(origin: object, message: Any) -> None:
    assert topic_refusal(origin, message) is not None
