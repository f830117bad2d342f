"""The server's side of a run: the only class that the server's engine may start."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from nvflare.apis.client import Client
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from confide.errors import ConfideError
from confide.federation.coordinator import validate
from confide.federation.flare.channel import FlareChannel
from confide.federation.flare.files import write_json
from confide.federation.flare.job import read_question
from confide.federation.outcome import Outcome, RunError
from confide.federation.question import Question

PROGRESS = "progress"
"""The command that a coordinator's session sends to a run."""

OUTCOME, FAILURE = "outcome.json", "failure.json"
"""What a run leaves behind: one of the two, whole."""

_UNEXPECTED = "something unexpected went wrong at the server; the engine's log there says more. Nothing is released."


class ConfideController(Controller):  # type: ignore[misc]
    """Runs both rounds over a FLARE job and writes down what came of them.

    Parameters
    ----------
    question
        What is asked, as `confide.federation.flare.job` writes it.
    timeout
        See `confide.federation.coordinator.validate`.
    """

    def __init__(self, question: str, timeout: float) -> None:
        super().__init__(task_check_period=0.1)
        self._question, self._timeout = question, timeout
        self._states: dict[str, str] = {}
        self._lock = threading.Lock()

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Let a session ask how far the run is."""
        fl_ctx.get_engine().register_app_command(PROGRESS, self._progress)

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Nothing is held open."""

    def process_result_of_unknown_task(
        self, client: Client, task_name: str, client_task_id: str, result: Shareable, fl_ctx: FLContext
    ) -> None:
        """Drop a reply that comes when nobody waits for it any more."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Ask, and write the outcome or why there is none."""
        workspace = fl_ctx.get_workspace()
        results = Path(workspace.get_result_root(fl_ctx.get_job_id()))
        results.mkdir(parents=True, exist_ok=True)
        try:
            outcome = self._validated(abort_signal, fl_ctx, Path(workspace.get_startup_kit_dir()))
            write_json(results / OUTCOME, outcome.to_dict())
        except ConfideError as error:
            write_json(results / FAILURE, failure(error))
        except Exception as error:  # the coordinator's session must hear of it
            self.log_exception(fl_ctx, f"the run ended with {type(error).__name__}")
            write_json(results / FAILURE, {"message": _UNEXPECTED, "reports": [], "rounds": 2})

    def _validated(self, abort_signal: Signal, fl_ctx: FLContext, startup: Path) -> Outcome:
        present = frozenset(client.name for client in fl_ctx.get_engine().get_clients())
        channel = FlareChannel(controller=self, context=fl_ctx, abort=abort_signal, present=present)
        return validate(
            Question.from_dict(read_question(self._question)),
            channel,
            root=(startup / "rootCA.pem").read_text(encoding="ascii"),
            timeout=self._timeout,
            progress=self._noted,
        )

    def _noted(self, site: str, state: str) -> None:
        with self._lock:
            self._states[site] = state

    def _progress(self, topic: str, data: Any, fl_ctx: FLContext) -> dict[str, str]:
        with self._lock:
            return dict(self._states)


def failure(error: ConfideError) -> dict[str, Any]:
    """Why a run has no outcome, as plain data."""
    reports, rounds = (error.reports, error.rounds) if isinstance(error, RunError) else ((), 2)
    return {"message": str(error), "reports": [report.to_dict() for report in reports], "rounds": rounds}
