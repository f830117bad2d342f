"""An engine has few runs under way at once, whatever a server starts."""

from __future__ import annotations

import sys
from uuid import uuid4

import pytest
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.fl_context import FLContext
from nvflare.apis.job_launcher_spec import JobHandleSpec, JobProcessArgs

from confide.errors import FederationError
from confide.federation.flare import entry
from confide.federation.flare.entry import MOST_RUNS, SiteRunLauncher

pytestmark = pytest.mark.processes


def launched(launcher: SiteRunLauncher) -> JobHandleSpec:
    run = str(uuid4())
    context = FLContext()
    context.set_prop(FLContextKey.JOB_PROCESS_ARGS, {JobProcessArgs.JOB_ID: ("-n", run)}, private=True, sticky=False)
    return launcher.launch_job({"job_id": run}, context)


def test_a_site_starts_no_more_runs_than_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that sleep stand in for those of runs, which need an engine."""
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    monkeypatch.setattr(entry, "command", lambda *given: sleep)
    launcher = SiteRunLauncher()
    started = [launched(launcher) for _ in range(MOST_RUNS)]
    try:
        with pytest.raises(FederationError, match=f"{MOST_RUNS} runs are under way"):
            launched(launcher)
        started[0].terminate()
        started[0].wait()
        started.append(launched(launcher))
        with pytest.raises(FederationError, match="are under way"):
            launched(launcher)
    finally:
        for handle in started:
            handle.terminate()
            handle.wait()
