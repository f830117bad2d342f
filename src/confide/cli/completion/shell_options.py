"""Shells whose Tab key completes commands of `confide`.

A shell runs `confide` with `VARIABLE` set whenever Tab is pressed, and shows what it prints. Without the variable
nothing of this is loaded.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer

from confide.errors import ParameterError, UsageError

PROGRAM = "confide"
VARIABLE = "_CONFIDE_COMPLETE"
SHELLS = ("bash", "zsh", "fish")

ShellArgument = Annotated[
    str | None, typer.Argument(metavar="SHELL", help="bash, zsh or fish. [default: the one that runs this command]")
]


def chosen_shell(name: str | None) -> str:
    """Return a shell by its name, or the one that runs this command."""
    if name is None:
        name = _running_shell()
        if name is None:
            raise UsageError("cannot tell which shell this is; name it, for example: confide completion install bash")
    if name not in SHELLS:
        raise ParameterError(f"`shell` must be one of {', '.join(SHELLS)}; got {name!r}")
    return name


def register_shells() -> None:
    """Let Typer answer a shell that asks for completions."""
    from typer.completion import get_completion_inspect_parameters

    get_completion_inspect_parameters()  # registers the shells that Typer knows


def _running_shell() -> str | None:
    """Return the nearest shell among the processes that started this one, else that of the login."""
    from shellingham import ShellDetectionFailure, detect_shell

    try:
        return str(detect_shell()[0])
    except ShellDetectionFailure:
        return os.path.basename(os.environ.get("SHELL", "")) or None
