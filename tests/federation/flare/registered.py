"""Records every channel and topic that FLARE registers in the engines of a test."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

WANTED = "CONFIDE_TEST_TOPICS"
FOLDER = "topics"
ROLES = ("site_engine", "site_run", "server_engine", "server_run")


def install() -> None:
    """Record in this process, if it is an engine of ours, beside its kit: it may write nowhere else."""
    role = next((role for word in sys.orig_argv for role in ROLES if word.endswith(f".{role}")), None)
    if role is None or WANTED not in os.environ:
        return
    kit = Path(sys.orig_argv[len(sys.orig_argv) - sys.orig_argv[::-1].index("-m")])
    folder = kit.parent / FOLDER
    folder.mkdir(exist_ok=True)
    from nvflare.fuel.f3.cellnet.core_cell import CoreCell
    from nvflare.fuel.f3.streaming.byte_receiver import ByteReceiver
    from nvflare.private.aux_runner import AuxRunner
    from nvflare.private.fed.client.admin import FedAdminAgent

    notes = (folder / f"{role}.{os.getpid()}").open("a", buffering=1)

    def record(owner: Any, name: str, kind: str, keys: tuple[str, ...]) -> None:
        original = getattr(owner, name)

        def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
            named = dict(zip(keys, args, strict=False)) | kwargs
            notes.write(" ".join([kind, *(str(named[key]) for key in keys)]) + "\n")
            return original(self, *args, **kwargs)

        setattr(owner, name, recorded)

    record(CoreCell, "register_request_cb", "request", keys=("channel", "topic"))
    record(ByteReceiver, "register_callback", "stream", keys=("channel", "topic"))
    record(AuxRunner, "register_aux_message_handler", "aux", keys=("topic",))

    processor = FedAdminAgent.register_processor

    def register(self: Any, one: Any) -> None:
        for topic in one.get_topics():
            notes.write(f"admin {topic}\n")
        processor(self, one)

    FedAdminAgent.register_processor = register


def read(*places: Path) -> dict[str, list[str]]:
    """What was registered by the engines of some folders, by role."""
    found: dict[str, set[str]] = {role: set() for role in ROLES}
    for notes in (notes for place in places for notes in (place / FOLDER).iterdir()):
        found[notes.name.partition(".")[0]] |= set(notes.read_text().splitlines())
    return {role: sorted(lines) for role, lines in found.items()}
