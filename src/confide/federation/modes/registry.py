"""Registry of modes by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from confide.errors import ParameterError, did_you_mean
from confide.federation.modes.exact import DisclosureControl, SecureSum
from confide.federation.modes.mode import Mode
from confide.federation.modes.noisy_scores import NoisyScoresMode
from confide.federation.modes.private import Private

if TYPE_CHECKING:
    from confide.federation.question import Question

MODES: Mapping[str, Mode] = MappingProxyType(
    {mode.name: mode for mode in (DisclosureControl(), SecureSum(), Private(), NoisyScoresMode())}
)
"""All modes by name, in the order in which they are listed to users."""


def mode_named(name: str) -> Mode:
    """Return the mode of this name; refuse an unknown one."""
    try:
        return MODES[name]
    except (KeyError, TypeError):
        hint = did_you_mean(name, MODES)
        raise ParameterError(f"`mode` must be one of {', '.join(MODES)}; got {name!r}. {hint}".rstrip()) from None


def mode_of(question: Question) -> Mode:
    """Return the mode of a question."""
    return MODES[question.mode]


def modes_that_take(parameter: str) -> tuple[str, ...]:
    """Return the names of the modes that take a parameter."""
    return tuple(mode.name for mode in MODES.values() if parameter in mode.parameters)
