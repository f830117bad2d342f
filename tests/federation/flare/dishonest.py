"""A server whose replies give a coordinator's session orders: FLARE's own engine, with replies that a test chooses.

`install` is called at the start of every process in tests and changes a server that was given a file of orders.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ORDERS = "CONFIDE_TEST_REPLIES"


@dataclass(frozen=True, kw_only=True)
class Orders:
    """What a server tells a session.

    Parameters
    ----------
    commands
        Commands that the server announces as work of the session's own, each with the function of FLARE's client.
    replies
        The meta data of a reply, by command; all other commands are answered honestly.
    job
        The identifier that a submitted job gets; empty for an honest one.
    nonce
        What the session is to sign at its login; empty for an honest challenge.
    source
        A file of the server's, sent wherever a reply names files.
    loot
        Where an upload is kept.
    """

    commands: dict[str, str] = field(default_factory=dict)
    replies: dict[str, dict[str, Any]] = field(default_factory=dict)
    job: str = ""
    nonce: str = ""
    source: str = ""
    loot: str = ""

    def write(self, path: Path) -> None:
        """Write them where a server finds them, also while it runs."""
        path.write_text(json.dumps(asdict(self)))


def install() -> None:
    """Obey in this process, if it is FLARE's own server and has orders."""
    if ORDERS in os.environ and any(word.endswith("server_train") for word in sys.orig_argv):
        _announce()
        _reply()
        _challenge()


def _orders() -> Orders:
    path = Path(os.environ[ORDERS])
    return Orders(**json.loads(path.read_text())) if path.exists() else Orders()


def _announce() -> None:
    from nvflare.fuel.hci.server.builtin import BuiltInCmdModule

    honest = BuiltInCmdModule.handle_list_commands

    def listed(self: Any, conn: Any, args: list[str]) -> None:
        commands = _orders().commands
        for entries in (scope.entries for scope in self.reg.scopes.values()):
            for name in entries.keys() & commands.keys():
                entries[name].client_cmd = commands[name]
        honest(self, conn, args)

    BuiltInCmdModule.handle_list_commands = listed


def _reply() -> None:
    from nvflare.fuel.hci.server.hci import AdminServer, CellMessage

    honest_reply, honest_upload = AdminServer._process_admin_request, AdminServer._process_upload

    def process(self: Any, request: Any) -> Any:
        orders = _orders()
        _, command, conn = self._create_conn(request.payload, request.headers)
        meta = orders.replies.get(_name(command))
        if meta is None:
            return honest_reply(self, request)
        return CellMessage(payload=_closed(conn, {**meta, **_files(self.cell, meta, orders.source)}))

    def upload(self: Any, stream_ctx: Any, fl_ctx: Any, **kwargs: Any) -> Any:
        from nvflare.app_common.streamers.file_streamer import FileStreamer

        orders = _orders()
        if orders.loot:
            shutil.copyfile(FileStreamer.get_file_location(stream_ctx), f"{orders.loot}{len(_loot(orders.loot))}")
        if not orders.job:
            return honest_upload(self, stream_ctx, fl_ctx, **kwargs)
        return _closed(self._create_conn(stream_ctx.get("conn_data"))[2], {"job_id": orders.job})

    AdminServer._process_admin_request, AdminServer._process_upload = process, upload


def _challenge() -> None:
    from nvflare.private.fed.server.fed_server import FederatedServer, IdentityChallengeKey, MessageHeaderKey

    honest = FederatedServer.client_challenge

    def challenge(self: Any, request: Any) -> Any:
        reply = honest(self, request)
        nonce = _orders().nonce
        if nonce:
            self.name_to_reg[request.get_header(MessageHeaderKey.ORIGIN)].nonce = nonce
            reply.payload[IdentityChallengeKey.NONCE] = nonce
        return reply

    FederatedServer.client_challenge = challenge


def _name(command: str) -> str:
    return command.split(" ")[0].rpartition(".")[2]


def _loot(prefix: str) -> list[Path]:
    return list(Path(prefix).parent.glob(f"{Path(prefix).name}*"))


def _closed(conn: Any, meta: dict[str, Any]) -> Any:
    from nvflare.fuel.hci.proto import make_meta

    conn.append_string("OK", meta=make_meta("ok", extra=meta))
    return conn.close()


def _files(cell: Any, meta: dict[str, Any], source: str) -> dict[str, Any]:
    """Offer a file for download under every name that a reply lists."""
    from nvflare.fuel.f3.streaming.file_downloader import ObjectDownloader, add_file

    if "files" not in meta:
        return {}
    downloader = ObjectDownloader(num_receivers=1, cell=cell, timeout=60)
    named = [[name, add_file(downloader, file_name=source)] for name in meta["files"]]
    return {"files": named, "source_fqcn": "server", "tx_id": "t"}
