"""Site's side of a run: the only class that a site's engine may start.

Each run has a process of its own at the site, and one `Site` in it. The coordinator signed the run's question; what the
server then asks must be that question, so that nobody asks in another's name.
"""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.apis.workspace import Workspace
from nvflare.lighter.utils import verify_folder_signature_and_get_signers

from confide.errors import FederationError, RecordsError, RefusedError
from confide.federation.flare.channel import TEXT
from confide.federation.flare.confinement import require_confinement
from confide.federation.flare.job import COORDINATOR_ROLE, FILES, SignedQuestion, job_files, read_question
from confide.federation.flare.kits import site_identity, take_revocations
from confide.federation.protocol import ANSWER, OFFER
from confide.federation.question import PROTOCOL
from confide.federation.site.config import SiteFolder
from confide.federation.site.records import REQUESTS, SiteRecords, round_of
from confide.federation.site.site import Site
from confide.federation.site_state import SiteState

_PAUSE_SECONDS = 0.1
_UNREADABLE = "the request cannot be read; install the same version of confide at the coordinator and at every site"
_NOBODY = "the run is not signed by one coordinator of this federation; ask with `confide validate`"
_NOT_SIGNED = "the server asks another question than the one that the coordinator signed; ask with `confide validate`"
_BROKEN = "something unexpected went wrong at the site; its administrator finds more in the log of its engine"
_UNCONFINED = "this site answers only where its engine is confined (require_confinement); ask its administrator"
_NOT_OPEN = "this site's settings cannot be read; its administrator finds the reason in the site's log of requests"


class ConfideExecutor(Executor):  # type: ignore[misc]
    """Passes requests to a site and its replies back. It always replies, and ends when the run is aborted.

    Parameters
    ----------
    question, signature, certificate, until
        Signed question, signature, the coordinator's certificate and the end, as in `SignedQuestion`.
    revoked
        List of revoked certificates as one word; empty if there is none.
    """

    def __init__(self, question: str, signature: str, certificate: str, until: str = "", revoked: str = "") -> None:
        super().__init__()
        self._revoked = revoked
        self._signed = SignedQuestion(question=question, until=until, signature=signature, certificate=certificate)
        self._site: Site | None = None
        self._scratch: str | None = None
        self._last: tuple[str, str, str] | None = None

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Keep temporary files of reading rows in one folder and delete it at the end: FLARE kills processes."""
        if event_type == EventType.START_RUN:
            self._scratch = tempfile.tempdir = tempfile.mkdtemp()
        elif event_type == EventType.END_RUN and self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def execute(self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal) -> Shareable:
        """Reply to a request; the last one has the same reply again, should FLARE deliver it twice.

        The site itself repeats its answer, after it has looked whether a person has withdrawn the approval.
        """
        asked = (task_name, str(shareable.get(TEXT, "")))
        if self._last is None or self._last[:2] != asked or task_name == ANSWER:
            text = self._worked(asked, fl_ctx.get_workspace(), str(fl_ctx.get_job_id()), abort_signal)
            if text is None:
                return make_reply(ReturnCode.TASK_ABORTED)
            self._last = (*asked, text)
        reply = Shareable()
        reply[TEXT] = self._last[2]
        return reply

    def _worked(self, asked: tuple[str, str], workspace: Workspace, job: str, abort_signal: Signal) -> str | None:
        """Make the reply in a thread, so that a run can be aborted; return None if it was."""
        made: list[str] = []

        def work() -> None:
            try:
                reply = json.dumps(self._reply(*asked, workspace, job))
            except Exception as error:  # a log that cannot be written, for example; what it says may hold anything
                self.logger.error(f"{_BROKEN} [{type(error).__name__}]")
                reply = json.dumps(_no(workspace.site_name, SiteState.FAILED, _BROKEN))
            made.append(reply)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(_PAUSE_SECONDS)
            if abort_signal.triggered:
                return None
        return made[0]

    def _reply(self, topic: str, text: str, workspace: Workspace, job: str) -> dict[str, Any]:
        folder = SiteFolder(Path(workspace.get_root_dir()).parent)
        name, coordinator, number = workspace.site_name, None, _round(topic, text)
        try:
            coordinator = signer(workspace, job, self._signed)
            if coordinator is None:
                return _said(folder, name, None, number, SiteState.REFUSED, _NOBODY)
            self._signed.check_end(at=datetime.now(UTC))
            request = json.loads(text)
            if topic == OFFER and request["question"] != read_question(self._signed.question):
                return _said(folder, name, coordinator, number, SiteState.REFUSED, _NOT_SIGNED)
        except RefusedError as over:
            return _said(folder, name, coordinator, number, SiteState.REFUSED, str(over))
        except (ValueError, TypeError, KeyError, RecursionError):
            return _said(folder, name, coordinator, number, SiteState.FAILED, _UNREADABLE)
        try:
            if self._site is None:
                if self._revoked:
                    take_revocations(folder, base64.b64decode(self._revoked, validate=True).decode())
                self._site = Site.open(folder.path, site_identity(folder), coordinator=coordinator)
        except Exception as error:  # a site must reply; what is wrong with its own files is for its administrator
            _log(folder, coordinator, number, SiteState.FAILED, f"{_NOT_OPEN}: {error}")
            return _no(name, SiteState.FAILED, _NOT_OPEN)
        try:
            require_confinement(self._site.policy)
        except RefusedError:
            return _said(folder, name, coordinator, number, SiteState.REFUSED, _UNCONFINED)
        return self._site.reply(topic, request)


def signer(workspace: Workspace, job: str, signed: SignedQuestion) -> str | None:
    """Return the coordinator who signed a run's files and its question, by a certificate of this federation's root.

    Return None where there is not one such coordinator, or where the run has other files than those of a question.
    """
    app, root = workspace.get_app_dir(job), workspace.get_file_path_in_startup("rootCA.pem")
    verified, signers = verify_folder_signature_and_get_signers(app, root)
    if not verified or len(signers) != 1 or job_files(Path(app)) != FILES:
        return None
    name, _, role = signers[0]
    try:
        asking = signed.signer(Path(root).read_text(encoding="ascii"), at=datetime.now(UTC))
    except (FederationError, OSError):
        return None
    return asking if (name, role) == (asking, COORDINATOR_ROLE) else None


def _round(topic: str, text: str) -> int | None:
    """Return the number of a request's round, for the log; the request may be anything."""
    try:
        request = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        request = None
    return round_of(topic, request if isinstance(request, dict) else {})


def _said(
    folder: SiteFolder, name: str, coordinator: str | None, number: int | None, state: SiteState, message: str
) -> dict[str, Any]:
    _log(folder, coordinator, number, state, message)
    return _no(name, state, message)


def _no(name: str, state: SiteState, message: str) -> dict[str, Any]:
    return {"site": name, "protocol": PROTOCOL, "state": state, "message": message}


def _log(folder: SiteFolder, coordinator: str | None, number: int | None, state: SiteState, message: str) -> None:
    entry = {"coordinator": coordinator, "round": number, "state": state, "message": message}
    with suppress(RecordsError):  # `confide site verify` tells what is wrong with the records
        SiteRecords(folder).append(REQUESTS, entry)
