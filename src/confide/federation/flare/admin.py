"""Coordinator's login at the server: a fixed table of commands, and one transfer of files, the upload of a job.

FLARE's client asks the server for its commands. The server's list says which of them the client carries out with its
own files, and the server's replies say under which names files are written. So a server could read, sign and overwrite
files of whoever logs in. This session has its own list and asks for none. It writes no file that a server sends, and
sends no folder but the job that it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from nvflare.fuel.flare_api.flare_api import Session
from nvflare.fuel.hci.client.api_status import APIStatus
from nvflare.fuel.hci.client.file_transfer import FileTransferModule
from nvflare.fuel.hci.proto import ProtoKey
from nvflare.fuel.hci.reg import CommandModuleSpec, CommandRegister, CommandSpec

from confide.errors import FederationError
from confide.federation.flare.flows import is_run

COMMANDS = ("check_status", "get_job_meta", "app_command", "abort_job")
"""Commands that are sent to the server unchanged, beside the submission of a job."""

_SUBMIT = "submit_job"
_SCOPE = "job_mgmt"
_FOREIGN = "this session sends no folder but its own job"


class JobUpload(FileTransferModule):  # type: ignore[misc]
    """Signs and sends the one folder that it was given; of FLARE's other transfers it has none."""

    def __init__(self, folder: str) -> None:
        super().__init__(upload_dir=folder, download_dir=folder)
        self.job: Path | None = None

    def get_spec(self) -> CommandModuleSpec:
        """Offer the submission of a job."""
        submit = CommandSpec(name=_SUBMIT, description="", usage="", handler_func=self.push_folder, visible=False)
        return CommandModuleSpec(name=_SCOPE, cmd_specs=[submit])

    def generate_module_spec(self, server_cmd_spec: CommandSpec) -> None:
        """Make no command of what a server announces."""

    def push_folder(self, args: Sequence[str], ctx: Any) -> Any:
        """Send the job; refuse any other folder."""
        if self.job is None or list(args[1:]) != [str(self.job)]:
            return {ProtoKey.STATUS: APIStatus.ERROR_RUNTIME, ProtoKey.DETAILS: _FOREIGN}
        return super().push_folder(args, ctx)

    def pull_folder(self, args: Sequence[str], ctx: Any) -> Any:
        """Fail: no file is fetched from a server."""
        raise FederationError("a session fetches no files from a server")

    pull_binary_file = pull_folder


class AdminSession(Session):  # type: ignore[misc]
    """FLARE's session of an administrator, which takes no orders from the server's replies."""

    def __init__(self, name: str, kit: Path) -> None:
        super().__init__(username=name, startup_path=str(kit), secure_mode=True)
        self._upload = JobUpload(self.download_dir)
        self.api.cmd_modules = [self._upload]
        self.api._get_command_list_from_server = self._take_commands

    def _take_commands(self) -> bool:
        """Register the commands that are used here, in place of those that a server would list."""
        register = CommandRegister(app_ctx=self.api)
        for name in COMMANDS:
            register.add_command(_SCOPE, name, "", "", handler=None, authz_func=None, visible=False, confirm=None)
        register.finalize()
        self.api.server_cmd_reg = register
        return True

    def submit(self, job: Path) -> str:
        """Submit a job and return the identifier of its run, which is safe in paths and commands."""
        self._upload.job = job
        try:
            run = self.submit_job(str(job))
        finally:
            self._upload.job = None
        if not is_run(run):
            raise FederationError("the server named a run by something else than a UUID")
        return str(run)


def log_in(name: str, kit: Path, timeout: float) -> AdminSession:
    """Log in at the server that a coordinator's kit is for; `timeout` is how many seconds to try."""
    session = AdminSession(name, kit)
    try:
        session.try_connect(timeout)
    except BaseException:
        with suppress(Exception):
            session.api.close()  # the session's own method would log out first, and wait for a reply
        raise
    return session
