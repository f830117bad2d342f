"""Server's side of a run: the only class that the server's engine may start."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from nvflare.apis.client import Client
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from confide.errors import ConfideError, FederationError
from confide.federation.coordinator.rounds import validate
from confide.federation.crypto.certificates import REVOKED, Revocations
from confide.federation.flare.channel import FlareChannel
from confide.federation.flare.job import read_question
from confide.federation.flare.run_result import write_failure, write_outcome
from confide.federation.protocol import Outcome
from confide.federation.question import Question
from confide.federation.site_state import ProgressState

PROGRESS, RESULT, DONE = "progress", "result", "done"
"""Commands of a coordinator's session to a run: report progress, hand over the result, end after the result arrived."""

HAND_OVER_SECONDS = 60.0
"""Seconds that a finished run waits until a session has fetched its result."""

_PAUSE_SECONDS = 0.1
_UNEXPECTED = "something unexpected went wrong at the server; the engine's log there says more. Nothing is released."


class ConfideController(Controller):  # type: ignore[misc]
    """Runs all rounds over a FLARE job and hands the outcome to the coordinator's session.

    The result travels as the reply to a command: a session fetches no files from a server.

    Parameters
    ----------
    question
        Question, as `confide.federation.flare.job` writes it.
    timeout, drop_after, session
        See `confide.federation.coordinator.rounds.validate`.
    """

    def __init__(self, question: str, timeout: float, drop_after: float = 5.0, session: str | None = None) -> None:
        super().__init__(task_check_period=0.1)
        self._question, self._timeout, self._drop_after, self._session = question, timeout, drop_after, session
        self._states: dict[str, str] = {}
        self._result: str | None = None
        self._lock = threading.Lock()
        self._done = threading.Event()

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Register the commands with which a session asks for progress and for the result."""
        for topic, reply in ((PROGRESS, self._progress), (RESULT, self._handed_over), (DONE, self._ended)):
            fl_ctx.get_engine().register_app_command(topic, reply)

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Do nothing: a run holds nothing open."""

    def process_result_of_unknown_task(
        self, client: Client, task_name: str, client_task_id: str, result: Shareable, fl_ctx: FLContext
    ) -> None:
        """Drop a reply that comes when nobody waits for it any more."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Run all rounds, and wait until a session has fetched the outcome or the failure."""
        try:
            result = write_outcome(self._validated(abort_signal, fl_ctx))
        except ConfideError as error:
            result = write_failure(error)
        except Exception as error:  # the coordinator's session must hear of it
            self.log_exception(fl_ctx, f"the run ended with {type(error).__name__}")
            result = write_failure(FederationError(_UNEXPECTED))
        with self._lock:
            self._result = result
        end = time.monotonic() + HAND_OVER_SECONDS
        while time.monotonic() < end and not abort_signal.triggered and not self._done.wait(_PAUSE_SECONDS):
            pass

    def _validated(self, abort_signal: Signal, fl_ctx: FLContext) -> Outcome:
        startup = Path(fl_ctx.get_workspace().get_startup_kit_dir())
        present = frozenset(client.name for client in fl_ctx.get_engine().get_clients())
        channel = FlareChannel(controller=self, context=fl_ctx, abort=abort_signal, present=present)
        root = (startup / "rootCA.pem").read_text(encoding="ascii")
        return validate(
            Question.from_dict(read_question(self._question)),
            channel,
            root=root,
            revoked=Revocations.load(startup / REVOKED, root).before,
            timeout=self._timeout,
            drop_after=self._drop_after,
            progress=self._noted,
            session=self._session,
        )

    def _noted(self, site: str, state: ProgressState) -> None:
        with self._lock:
            self._states[site] = state.value  # FLARE sends plain text, and refuses enums

    def _progress(self, topic: str, data: Any, fl_ctx: FLContext) -> dict[str, Any]:
        with self._lock:
            return {"states": dict(self._states), "over": self._result is not None}

    def _handed_over(self, topic: str, data: Any, fl_ctx: FLContext) -> dict[str, Any]:
        with self._lock:
            return {"result": self._result}

    def _ended(self, topic: str, data: Any, fl_ctx: FLContext) -> dict[str, Any]:
        self._done.set()
        return {"ended": True}
