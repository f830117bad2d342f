"""Settings of FLARE that limit what an engine may run and do; they are written anew at every start.

A site runs one class, ours, which is installed there. It runs no code that comes with a job, lets nobody read logs or
files or run shell commands, and accepts only jobs signed by a user of the federation. FLARE does not check the classes
of jobs that may bring their own code, so nobody has that right, neither at a site nor at the server. A site's job
process and its parent also use certificates over the loopback interface. FLARE checks rights only if a sender asks it
to: `confide.federation.flare.guard` decides which messages an engine answers at all.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from confide.federation.site_files import make_owned, write_json

EXECUTOR = "confide.federation.flare.executor.ConfideExecutor"
CONTROLLER = "confide.federation.flare.controller.ConfideController"

HEARTBEAT_SECONDS = 2.0
"""Seconds between the heartbeats of a site."""

SILENT_SECONDS = 10
"""Seconds without a heartbeat after which the server takes a site for gone."""

RIGHTS = (
    "submit_job",
    "clone_job",
    "manage_job",
    "download_job",
    "view",
    "operate",
    "shell_commands",
    "byoc",
    "server-predeployed-flwr",
    "app_command",
)
ROLES = ("project_admin", "org_admin", "lead", "member")
SITE_RIGHTS = ("submit_job",)
SERVER_RIGHTS = ("submit_job", "manage_job", "view", "app_command")

_LOG_BYTES = 2_000_000


def harden_site(kit: Path) -> None:
    """Write a site's settings, whatever was there before."""
    _write_local(kit, _site_resources(), SITE_RIGHTS)


def harden_server(kit: Path) -> None:
    """Write the server's settings, whatever was there before; its stores lie inside its own folder."""
    _write_local(kit, _server_resources(kit.absolute()), SERVER_RIGHTS)


def _write_local(kit: Path, resources: dict[str, Any], rights: tuple[str, ...]) -> None:
    local = kit / "local"
    shutil.rmtree(local, ignore_errors=True)
    make_owned(local)
    make_owned(kit / "transfer")
    write_json(local / "resources.json", resources)
    write_json(local / "authorization.json", authorization(rights))
    write_json(local / "comm_config.json", _COMMUNICATION)
    write_json(local / "log_config.json", _LOGGING)


def authorization(rights: tuple[str, ...]) -> dict[str, Any]:
    """Give the coordinator's role these rights and no others, and all other roles none."""
    permissions = {role: dict.fromkeys(RIGHTS, "none") for role in ROLES}
    permissions["project_admin"] |= dict.fromkeys(rights, "any")
    return {"format_version": "1.0", "permissions": permissions}


def _site_resources() -> dict[str, Any]:
    gpus = {"num_of_gpus": 0, "mem_per_gpu_in_GiB": 0, "expiration_period": 300}
    return {
        "format_version": 2,
        "class_list_enforcement_mode": "enforce",
        "class_allow_list": [EXECUTOR],
        "allow_log_streaming": False,
        "client": {"retry_timeout": 30, "compression": "Gzip"},
        "components": [
            _part("resource_manager", "resource_managers.gpu_resource_manager.GPUResourceManager", gpus),
            _part("resource_consumer", "resource_consumers.gpu_resource_consumer.GPUResourceConsumer"),
            {"id": "process_launcher", "path": f"{_LAUNCHERS}.SiteRunLauncher", "args": {}},
        ],
    }


def _server_resources(kit: Path) -> dict[str, Any]:
    storage = "storages.filesystem_storage.FilesystemStorage"
    snapshots = {"root_dir": str(kit / "snapshots"), "uri_root": "/"}
    one_by_one = {"max_jobs": 1, "max_schedule_count": 3, "min_schedule_interval": 0.5, "max_schedule_interval": 2.0}
    return {
        "format_version": 2,
        "class_list_enforcement_mode": "enforce",
        "class_allow_list": [CONTROLLER],
        "servers": [
            {
                "admin_storage": "transfer",
                "max_num_clients": 1000,
                "heart_beat_timeout": SILENT_SECONDS,
                "download_job_url": "http://localhost/",
                "admin_timeout": 20.0,
                "check_engine_frequency": 0.2,
            }
        ],
        "snapshot_persistor": {
            "path": f"{_COMMON}.state_persistors.storage_state_persistor.StorageStatePersistor",
            "args": {"uri_root": "/", "storage": {"path": f"{_COMMON}.{storage}", "args": snapshots}},
        },
        "components": [
            _part("job_scheduler", "job_schedulers.job_scheduler.DefaultJobScheduler", one_by_one),
            {
                "id": "job_manager",
                "path": "nvflare.apis.impl.job_def_manager.SimpleJobDefManager",
                "args": {"uri_root": str(kit / "jobs"), "job_store_id": "job_store"},
            },
            _part("job_store", storage),
            {"id": "process_launcher", "path": f"{_LAUNCHERS}.ServerRunLauncher", "args": {}},
        ],
    }


_COMMON = "nvflare.app_common"
_LAUNCHERS = "confide.federation.flare.entry"


def _part(name: str, path: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"id": name, "path": f"{_COMMON}.{path}", "args": args or {}}


_COMMUNICATION: dict[str, Any] = {
    "allow_adhoc_conns": False,
    "internal": {"scheme": "tcp", "resources": {"host": "localhost", "connection_security": "mtls"}},
}


def _log_file(name: str, level: str) -> dict[str, Any]:
    return {
        "class": "logging.handlers.RotatingFileHandler",
        "level": level,
        "formatter": "plain",
        "filename": name,
        "mode": "a",
        "maxBytes": _LOG_BYTES,
        "backupCount": 1,
    }


_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "nvflare.fuel.utils.log_utils.BaseFormatter",
            "fmt": "%(asctime)s - %(name)s - %(levelname)s - %(fl_ctx)s - %(message)s",
        }
    },
    "handlers": {
        "logFileHandler": _log_file("log.txt", "INFO"),
        "errorFileHandler": _log_file("error_log.txt", "ERROR"),
    },
    "loggers": {"root": {"level": "INFO", "handlers": ["logFileHandler", "errorFileHandler"]}},
}
