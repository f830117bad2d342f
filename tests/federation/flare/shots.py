"""Messages that attackers send: every topic that FLARE registers, as `flare_topics.json` lists them by role."""

from __future__ import annotations

import json
from pathlib import Path

import psutil

from confide.federation.flare.flows import ADMIN
from tests.federation.flare.hostile import Answer, Shot

DOWNLOADS = [f"download_service__ download_service__{topic}" for topic in ("download", "source_failure")]
TOPICS: dict[str, list[str]] = json.loads((Path(__file__).parent / "flare_topics.json").read_text())
LATE = [f"{kind} {topic}" for kind in ("request", "stream") for topic in DOWNLOADS]
"""Topics that FLARE registers when a file is first sent."""


def topics_of(role: str, kind: str) -> list[str]:
    return [line.partition(" ")[2] for line in TOPICS[role] if line.startswith(f"{kind} ")]


def shots_at(target: str, role: str) -> list[Shot]:
    """Every message that an engine of some role has a handler for, and `bye` not: it only ends the own connection."""
    shots = []
    for kind in ("request", "stream"):
        for line in topics_of(role, kind):
            channel, topic = line.split(" ")
            for each in [topic] if topic != "*" else _every(channel, role):
                shots.append(Shot(target=target, channel=channel, topic=each, streamed=kind == "stream"))
    shots = [shot for shot in shots if shot.topic != "bye"]
    return shots + [
        Shot(target=target, channel=ADMIN, topic="admin", inner=topic) for topic in topics_of(role, "admin")
    ]


def _every(channel: str, role: str) -> list[str]:
    if channel == "aux_communication":
        return topics_of(role, "aux")
    if channel == "hci_channel":
        return ["command"]
    if channel == "return_only":
        return ["server_command:get_task"]
    return [] if channel == ADMIN else topics_of(role, "command")


def shell(target: str, path: Path, origin: str = "") -> Shot:
    return Shot(target=target, channel=ADMIN, topic="admin", inner="sys.shell", body=f"cat {path}", origin=origin)


def answered(answers: dict[Shot, Answer]) -> set[str]:
    return {shot.inner or f"{shot.channel} {shot.topic}" for shot, answer in answers.items() if not answer.silent}


def modules_of(run: str) -> set[str]:
    """The modules that the processes of a run were started with."""
    lines = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return {word for line in lines if run in line for word in line}
