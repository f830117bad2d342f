"""States of a contest, and the ways from one to another."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType


class State(StrEnum):
    """State of a contest."""

    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"
    PUBLISHED = "published"


NEXT = MappingProxyType(
    {
        State.DRAFT: frozenset({State.OPEN}),
        State.OPEN: frozenset({State.PAUSED, State.CLOSED}),
        State.PAUSED: frozenset({State.OPEN, State.CLOSED}),
        State.CLOSED: frozenset({State.PUBLISHED}),  # by publishing the final, not by name
        State.PUBLISHED: frozenset[State](),
    }
)


def is_public(state: State) -> bool:
    """Return whether everybody may see the contest."""
    return state != State.DRAFT
