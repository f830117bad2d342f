"""States of a site in a validation: what it answered, why it refused, and how far it is; no other module is needed."""

from __future__ import annotations

from enum import StrEnum


class SiteState(StrEnum):
    """State of a site after a round, or after a whole run."""

    ANSWERED = "answered"
    REFUSED = "refused"
    HELD = "waiting for approval"
    FAILED = "failed"
    SILENT = "silent"
    LEFT_OUT = "left out"


class RefusalReason(StrEnum):
    """Reason of a refusal that a coordinator must tell from others."""

    BUDGET = "budget"


class ProgressState(StrEnum):
    """State of a site while a run goes on."""

    NOT_ASKED = "not asked yet"
    NOT_CONNECTED = "not connected"
    ASKED = "asked"
    ASKED_FOR_ANSWER = "asked for its answer"
    REPLIED = "replied"
    ACCEPTED = "well"
    REFUSED = "refused"
    HELD = "waiting for approval"
    FAILED = "failed"
    SILENT = "silent"
    LEFT_OUT = "left out"

    @classmethod
    def of(cls, state: SiteState) -> ProgressState:
        """Return the progress that a site's state means."""
        return cls.ACCEPTED if state is SiteState.ANSWERED else cls(state.value)
