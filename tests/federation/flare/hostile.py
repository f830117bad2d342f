"""Engines of FLARE's own, without our guard, that send whatever they are told to: hostile sites and servers.

A hostile engine is a real process with its own kit and certificate. It looks for orders in a folder, sends every
message of an order at once, and writes down what was answered.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from confide.federation.flare.hardening import harden_server, harden_site
from confide.federation.flare.job import FILES

FOLDER = "CONFIDE_TEST_ORDERS"
SILENCE = "timeout"
"""The return code of a message that nobody answered."""

_ORIGIN = "forged_origin"
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True)
class Shot:
    """A message to be sent; `inner` is the topic inside a message on the channel from the server to a site."""

    target: str
    channel: str
    topic: str
    inner: str = ""
    body: str = ""
    run: str = ""
    streamed: bool = False
    origin: str = ""


@dataclass(frozen=True)
class Answer:
    code: str
    text: str

    @property
    def silent(self) -> bool:
        return self.code == SILENCE


@dataclass(frozen=True)
class Attacker:
    """A hostile engine under way."""

    process: subprocess.Popen[bytes]
    orders: Path

    def fire(self, shots: Sequence[Shot], *, seconds: float = 3.0, patience: float = 180.0) -> dict[Shot, Answer]:
        """Let it send messages, and return what was answered to each within some seconds."""
        name = f"{time.monotonic_ns()}"
        written = self.orders / f"{name}.new"
        written.write_text(json.dumps({"seconds": seconds, "shots": [asdict(shot) for shot in shots]}))
        written.rename(self.orders / f"{name}.order")
        done, end = self.orders / f"{name}.done", time.monotonic() + patience
        while not done.exists():
            assert time.monotonic() < end, "the hostile engine did not do as it was told"
            assert self.process.poll() is None, "the hostile engine ended"
            time.sleep(_PAUSE_SECONDS)
        return {shot: Answer(*found) for shot, found in zip(shots, json.loads(done.read_text()), strict=True)}


@contextmanager
def flare_engine(kind: str, kit: Path, path: str, *settings: str) -> Iterator[Attacker]:
    """Run one of FLARE's own engines, as it comes: a `client` or a `server`."""
    (harden_site if kind == "client" else harden_server)(kit)
    orders = kit.parent / "orders"
    orders.mkdir()
    module = f"nvflare.private.fed.app.{kind}.{kind}_train"
    command = [sys.executable, "-u", "-m", module, "-m", str(kit), "-s", f"fed_{kind}.json", "--set"]
    command += ["secure_train=true", "config_folder=config", *settings]
    environment = {**os.environ, "PYTHONPATH": path, FOLDER: str(orders), "PYTHONWARNINGS": "ignore"}
    with (kit.parent / "hostile.txt").open("wb") as log:
        process = subprocess.Popen(command, cwd=kit, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield Attacker(process, orders)
    finally:
        process.kill()
        process.wait()


def flare_site(name: str, kit: Path, path: str) -> Any:
    """Run a site on FLARE's own engine."""
    return flare_engine("client", kit, path, f"uid={name}", f"org={name}", "heart_beat_interval=2.0")


def install() -> None:
    """Obey orders in this process, if it was given a folder for them and is an engine of FLARE's own."""
    folder = os.environ.get(FOLDER)
    if folder and any(word.endswith(("client_train", "server_train")) for word in sys.orig_argv):
        _let_forge()
        threading.Thread(target=_obey, args=(Path(folder),), daemon=True).start()


def _obey(folder: Path) -> None:
    while True:
        for order in folder.glob("*.order"):
            wanted = json.loads(order.read_text())
            order.unlink()
            with ThreadPoolExecutor(len(wanted["shots"])) as pool:
                shoot = partial(_shoot, seconds=wanted["seconds"])
                found = list(pool.map(shoot, [Shot(**shot) for shot in wanted["shots"]]))
            order.with_suffix(".part").write_text(json.dumps(found))
            order.with_suffix(".part").rename(order.with_suffix(".done"))
        time.sleep(_PAUSE_SECONDS)


def _shoot(shot: Shot, seconds: float) -> tuple[str, str]:
    from nvflare.fuel.f3.cellnet.core_cell import CoreCell
    from nvflare.fuel.f3.message import Message
    from nvflare.fuel.utils.fobs import FOBSContextKey

    core = next(iter(CoreCell.ALL_CELLS.values()))
    message = Message({}, _payload(shot))
    if shot.origin:
        message.headers[_ORIGIN] = shot.origin
    try:
        if shot.streamed:
            reply = core.fobs_ctx[FOBSContextKey.CELL]._send_request(
                channel=shot.channel, target=shot.target, topic=shot.topic, request=message, timeout=seconds
            )
        else:
            reply = core.send_request(
                channel=shot.channel, target=shot.target, topic=shot.topic, request=message, timeout=seconds
            )
    except Exception as error:
        return f"{type(error).__name__}: {error}", ""
    content = getattr(reply.payload, "body", reply.payload)
    return str(reply.get_header("cn__return_code")), str(content)[:2000]


def _payload(shot: Shot) -> Any:
    from nvflare.apis.shareable import Shareable
    from nvflare.private.admin_defs import Message

    if not shot.inner:
        return Shareable()
    content = Message(topic=shot.inner, body=_unsigned_job() if shot.inner == "train.deploy" else shot.body)
    if shot.run:
        content.set_headers({"job_id": shot.run, "job_meta": {"job_id": shot.run}, "app_name": "app"})
    return content


def _unsigned_job() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as job:
        for name in FILES:
            job.writestr(name, "{}")
    return packed.getvalue()


def _let_forge() -> None:
    """Send a message in another's name where it has a header that says so."""
    from nvflare.fuel.f3.cellnet.core_cell import CoreCell

    send = CoreCell._send_to_endpoint

    def send_forged(self: Any, to_endpoint: Any, message: Any) -> Any:
        origin = message.headers.pop(_ORIGIN, None)
        if origin:
            message.headers["cn__origin"] = origin
        return send(self, to_endpoint, message)

    CoreCell._send_to_endpoint = send_forged
