"""A run's progress reaches the session as plain data, which is all that FLARE sends."""

from __future__ import annotations

from nvflare.apis.fl_context import FLContext
from nvflare.fuel.utils import fobs

from confide.federation.flare.controller import ConfideController
from confide.federation.site_state import ProgressState


def test_progress_is_plain_data() -> None:
    controller = ConfideController(question="{}", timeout=1.0)
    for state in ProgressState:
        controller._noted(state.name.lower(), state)
    told = controller._progress("progress", None, FLContext())
    assert {type(state) for state in told["states"].values()} == {str}
    assert fobs.loads(fobs.dumps(told)) == told
