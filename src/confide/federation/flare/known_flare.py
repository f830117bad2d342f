"""The version of FLARE that the guard was written for, and a check that the installed one is the same where it matters.

The guard relies on FLARE's internals: where messages arrive, where topics are looked up, how a run is deployed. `HOOKS`
lists these functions with a hash of their source. An engine does not start where one of them differs.
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
    "nvflare.fuel.f3.cellnet.core_cell:CoreCell.process_message": "9ff6c55905497e88",
    "nvflare.fuel.f3.cellnet.core_cell:CoreCell._process_received_msg": "04cc7fbf264194d9",
    "nvflare.fuel.f3.cellnet.core_cell:CoreCell._process_request": "9fd9dacabcf64aa9",
    "nvflare.fuel.f3.cellnet.cell:Adapter.call": "6f7f93e4dbf9f656",
    "nvflare.fuel.f3.streaming.byte_receiver:ByteReceiver._data_handler": "cfa9781542a09348",
}

HOOKS: Mapping[Party, Mapping[str, str]] = {
    Party.SITE: _ALL
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
    Party.COORDINATOR: _ALL,
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
