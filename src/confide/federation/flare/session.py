"""Session of a coordinator with its server.

FLARE's client asks the server for its commands. The server's list says which of them the client carries out with its
own files, and the server's replies say under which names files are written. So a server could read, sign and overwrite
files of whoever logs in. This session has its own list and asks for none. It writes no file that a server sends, and
sends no folder but the job that it was given.
"""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from nvflare.fuel.flare_api.flare_api import Session
from nvflare.fuel.hci.client.api_status import APIStatus
from nvflare.fuel.hci.client.file_transfer import FileTransferModule
from nvflare.fuel.hci.proto import ProtoKey
from nvflare.fuel.hci.reg import CommandModuleSpec, CommandRegister, CommandSpec

from confide.errors import FederationError
from confide.federation.coordinator.rounds import DROP_SECONDS, checked_timeout
from confide.federation.coordinator.run_state import Progress, after_absence, needed, new_session
from confide.federation.flare.authority import site_fingerprints
from confide.federation.flare.federation import ANEW, Federation, no_engine_log, quiet
from confide.federation.flare.flows import is_run
from confide.federation.flare.guard import guard_sessions
from confide.federation.flare.job import VALID_DAYS, SignedQuestion, write_job
from confide.federation.flare.run_result import MOST_ROUNDS, printable, read_result
from confide.federation.protocol import Outcome, RunError, SiteReport
from confide.federation.question import Question
from confide.federation.site_state import ProgressState, SiteState

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


BEGIN_SECONDS, END_SECONDS = 60.0, 60.0
"""Seconds that a run may take before and after its rounds."""

LINGER_SECONDS = 15.0
"""Seconds that a run may go on after its result arrived: a process of it that missed the end is then stopped."""

_UNDER_WAY = ("SUBMITTED", "APPROVED", "DISPATCHED", "RUNNING")
_PAUSE_SECONDS = 0.25
_TRY_SECONDS = 5.0
_MISSED = 7
"""Most pauses between two requests to a run that does not reply; each request fills the server's log."""

_RESULT_SECONDS = 60.0
_STOPPED = "it is not connected; start it with `confide site start`"
_UNHEARD = "it had not answered when the run was ended, so it may have left in the middle of it"

_TOLD = {
    state.value: state for state in ProgressState if state not in (ProgressState.NOT_ASKED, ProgressState.NOT_CONNECTED)
}
"""States that a run may report of a site."""

_T = TypeVar("_T")


@contextmanager
def open_session(federation: Federation, timeout: float = 30.0) -> Iterator[FederationSession]:
    """Log in to a federation's server, and out again; `timeout` is how many seconds to try."""
    with no_engine_log():
        session = FederationSession(federation=federation, _engine=_logged_in(federation, checked_timeout(timeout)))
        try:
            yield session
        finally:
            with suppress(Exception), quiet():
                session._engine.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class FederationSession:
    """Open session; made by `open_session`."""

    federation: Federation
    _engine: Any = field(repr=False)

    def connected_sites(self) -> tuple[str, ...]:
        """Return the sites that are connected, in the federation's order; a site that died stays for some seconds."""
        there = [client.name for client in self._do(self._engine.get_connected_client_list)]
        return tuple(site for site in self.federation.sites if site in there)

    def wait_for(self, sites: tuple[str, ...], timeout: float) -> tuple[str, ...]:
        """Wait until some sites are connected, at most so many seconds; return those of them that are."""
        end = time.monotonic() + checked_timeout(timeout)
        while True:
            there = self.connected_sites()
            if set(sites) <= set(there) or time.monotonic() >= end:
                return tuple(site for site in sites if site in there)
            time.sleep(_PAUSE_SECONDS)

    def run(
        self,
        question: Question,
        *,
        timeout: float = 60.0,
        drop_after: float = DROP_SECONDS,
        valid_days: int = VALID_DAYS,
        progress: Progress = lambda site, state: None,
    ) -> Outcome:
        """Ask a question of its sites and return the outcome.

        Each round takes at most `timeout` seconds (the first with the time that sites need to begin). There are two,
        and up to five if sites may drop out; a run begins and ends within BEGIN_SECONDS and END_SECONDS more.
        Sites answer the question, as it is signed here, for `valid_days` days.
        `drop_after` and `progress` are as in `confide.federation.coordinator.rounds.validate`. Whatever ends the call,
        the run at the sites is ended, too.

        Raises RunError, with a report of each site, if there is no result.
        """
        timeout, drop_after = checked_timeout(timeout), checked_timeout(drop_after, "drop_after")
        there = tuple(site for site in question.sites if site in self.connected_sites())
        self._require(question, there)
        for site in question.sites:
            progress(site, ProgressState.NOT_ASKED if site in there else ProgressState.NOT_CONNECTED)
        watch = RunProgress(question=question, progress=progress)
        signed = SignedQuestion.sign(question, self.federation.coordinator_kit / "startup", days=valid_days)
        name = new_session()
        with tempfile.TemporaryDirectory(prefix="confide-") as scratch:
            times = {"timeout": timeout, "drop_after": drop_after}
            revoked = self.federation.revocations()
            job = write_job(Path(scratch) / "job", question, signed, at=there, session=name, revoked=revoked, **times)
            run = self._submitted(job)
        try:
            meta, result = self._finished(run, watch, timeout * (MOST_ROUNDS if question.threshold else 2))
        except BaseException:
            self._abort(run)
            raise
        return self._read(result, watch, meta, name)

    def _read(self, result: str | None, watch: RunProgress, meta: Mapping[str, Any], name: str) -> Outcome:
        """Work the outcome out of what the sites signed; the sites' own keys are those that were signed for."""
        watch.refused(meta.get("job_deploy_detail"))
        if result is None:
            raise watch.ended(f"The engine ended the run before it had a result ({printable(meta.get('status'), 60)}).")
        root = (self.federation.coordinator_kit / "startup" / "rootCA.pem").read_text(encoding="ascii")
        known = site_fingerprints(self.federation)
        pinned = known if set(watch.question.sites) <= set(known) else None
        revoked = self.federation.revocations().before
        return read_result(
            result, watch.question, watch.reports(), session=name, root=root, pinned=pinned, revoked=revoked
        )

    def _require(self, question: Question, there: tuple[str, ...]) -> None:
        """Refuse a run with too few connected sites before any site is asked."""
        if len(there) >= question.least_sites:
            return
        reports = tuple(
            SiteReport(name=site, state=SiteState.ANSWERED, message="connected")
            if site in there
            else SiteReport(name=site, state=SiteState.SILENT, message=_STOPPED)
            for site in question.sites
        )
        absent = [report for report in reports if report.state is SiteState.SILENT]
        verb = "is" if len(absent) == 1 else "are"
        what = f"{len(absent)} of {len(question.sites)} sites {verb} not connected, and {needed(question)} are needed:"
        then = f"Nobody was asked. {after_absence(question, absent, first='Start what is missing')}"
        raise RunError.naming([(what, absent)], then, reports, rounds=0)

    def _submitted(self, job: Path) -> str:
        return str(self._do(lambda: self._engine.submit(job)))

    def _finished(self, run: str, watch: RunProgress, seconds: float) -> tuple[Mapping[str, Any], str | None]:
        """Wait for a run's end and report its progress; return the engine's record of the run, and its result.

        The rounds of the run may take so many seconds.
        """
        begin_by = time.monotonic() + BEGIN_SECONDS
        end_by = begin_by + seconds + END_SECONDS
        result: str | None = None
        while True:
            meta = self._meta(run)
            status = str(meta.get("status"))
            if not status.startswith(_UNDER_WAY):
                return meta, result
            if status.startswith("RUNNING"):
                if result is None and watch.heard(self._told(run, "progress")):
                    result = self._fetched(run)
                    end_by = end_by if result is None else min(end_by, time.monotonic() + LINGER_SECONDS)
            elif time.monotonic() > begin_by:
                raise watch.ended("The server did not begin the run in time. It does one at a time: another may go on.")
            if time.monotonic() > end_by:
                if result is None:
                    raise watch.ended("The run did not end in time.")
                self._abort(run)
                return meta, result
            time.sleep(_PAUSE_SECONDS * (1 + min(watch.missed, _MISSED)))

    def _meta(self, run: str) -> Mapping[str, Any]:
        meta = self._do(lambda: self._engine.get_job_meta(run))
        return meta if isinstance(meta, Mapping) else {}

    def _told(self, run: str, what: str) -> Mapping[str, Any]:
        """Return the reply of a run's process to a command; an empty one while the run begins or ends."""
        try:
            with quiet():
                told = self._engine.do_app_command(run, what, {})
        except Exception:  # of many kinds, while there is nobody there to reply
            return {}
        return told if isinstance(told, Mapping) else {}

    def _fetched(self, run: str) -> str | None:
        """Fetch the result of a run and let it end; return None if it did not arrive, so that it is fetched again."""
        self._engine.set_timeout(_RESULT_SECONDS)
        try:
            result = self._told(run, "result").get("result")
        finally:
            self._engine.unset_timeout()
        if not isinstance(result, str):
            return None
        self._told(run, "done")
        return result

    def _abort(self, run: str) -> None:
        with suppress(Exception), quiet():
            self._engine.abort_job(run)

    def _do(self, action: Callable[[], _T]) -> _T:
        """Call the engine; turn its errors into a FederationError with the next step."""
        try:
            with quiet():
                return action()
        except Exception as error:  # FLARE raises many kinds, RuntimeError among them
            raise FederationError(
                f"the server did not do what was asked ({type(error).__name__}: {_line(error)}); see that it runs with "
                f"`confide federation status`, and {self.federation.server_kit / 'log.txt'}"
            ) from None


@dataclass(slots=True, kw_only=True)
class RunProgress:
    """State of each site in a run, as far as the session knows it."""

    question: Question
    progress: Progress
    states: dict[str, ProgressState] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    missed: int = 0

    def heard(self, told: Mapping[str, Any]) -> bool:
        """Record the states that a run reports, pass on new ones, and return whether the run has a result."""
        self.missed = 0 if told else self.missed + 1
        states = told.get("states")
        for site, state in states.items() if isinstance(states, Mapping) else ():
            known = _TOLD.get(state) if isinstance(state, str) and site in self.question.sites else None
            if known is not None and self.states.get(site) is not known:
                self.states[site] = known
                self.progress(site, known)
        return told.get("over") is True

    def refused(self, detail: object) -> None:
        """Record the sites at which the engine did not let a run start, and why."""
        for line in detail if isinstance(detail, list) else []:
            site, _, said = str(line).partition(": ")
            if site in self.question.sites and said != "OK":
                self.words[site] = f"its engine did not let the run start: {printable(said)}"

    def reports(self) -> tuple[SiteReport, ...]:
        """Return the report of each site, as far as its state is known."""
        return tuple(self._report(site) for site in self.question.sites)

    def _report(self, site: str) -> SiteReport:
        if site in self.words:
            return SiteReport(name=site, state=SiteState.FAILED, message=self.words[site])
        state = self.states.get(site)
        if state in (ProgressState.REPLIED, ProgressState.ACCEPTED):
            return SiteReport(name=site, state=SiteState.ANSWERED)
        if state in (ProgressState.FAILED, ProgressState.REFUSED, ProgressState.HELD):
            return SiteReport(name=site, state=SiteState(state.value))
        return SiteReport(name=site, state=SiteState.SILENT, message=_UNHEARD)

    def ended(self, what: str) -> RunError:
        """Return the error of a run that ended without a result."""
        reports = self.reports()
        missing = [report for report in reports if report.state is not SiteState.ANSWERED]
        then = "Nothing is released. Ask the same sites again: what was charged once is not charged twice."
        return RunError.naming([(what, missing)], then, reports, rounds=2)


def _logged_in(federation: Federation, timeout: float) -> Any:
    """Log in, trying again until the time is over: a server that has just started may miss the first attempt."""
    guard_sessions()

    _require_known(federation)
    end, patience = time.monotonic() + timeout, _TRY_SECONDS
    while True:
        left = max(end - time.monotonic(), _PAUSE_SECONDS)
        try:
            with quiet():
                return log_in(federation.coordinator, federation.coordinator_kit, timeout=min(patience, left))
        except FederationError:
            raise
        except Exception as error:  # FLARE raises many kinds
            if time.monotonic() + _PAUSE_SECONDS >= end:
                raise _shut_out(federation, type(error).__name__) from None
            patience *= 2
            time.sleep(_PAUSE_SECONDS)


def _require_known(federation: Federation) -> None:
    """Refuse a kit for another server, and a server whose name cannot be resolved here."""
    federation.check_kit(federation.coordinator_settings)
    try:
        socket.getaddrinfo(federation.server, federation.port)
    except OSError:
        raise FederationError(
            f"no machine called {federation.server!r} is known here; check the network and its names. For another name "
            f"{ANEW}"
        ) from None


def _shut_out(federation: Federation, error: str) -> FederationError:
    """Return why the login failed: the server does not answer, or it does not accept us."""
    try:
        with socket.create_connection((federation.server, federation.port), timeout=_TRY_SECONDS):
            pass
    except OSError:
        return FederationError(
            f"the server at {federation.address} does not answer; start it with `confide federation start`, and see "
            "that its port can be reached from here"
        )
    return FederationError(
        f"the server at {federation.address} answers, but does not let us in ({error}): it is another one, "
        f"certificates are no longer valid, or a proxy is in between; {federation.server_kit / 'log.txt'} says more"
    )


def _line(error: Exception) -> str:
    return printable(error, 200)
