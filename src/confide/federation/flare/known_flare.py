"""Check that the installed FLARE is the version that the guard was written for, in every function it relies on.

The guard relies on FLARE's internals: where messages arrive, where topics are looked up, how a run is deployed, what a
session does with replies. `HOOKS` lists these functions with a hash of their source. An engine does not start where one
of them differs.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from confide.errors import FederationError
from confide.federation.flare.flows import Party

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
