"""Commands of `confide completion`: complete commands and options with the Tab key.

A shell runs `confide` with `VARIABLE` set whenever Tab is pressed, and shows what it prints. Without the variable
nothing of this is loaded.
"""

from __future__ import annotations

import os
from typing import Annotated, ClassVar

import typer

from confide.cli.lazy_verbs import LazyGroup
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


def show(shell: ShellArgument = None) -> None:
    """Print the script of a shell's completion, to install it by hand.

    Example:

        confide completion show bash > /etc/bash_completion.d/confide
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    typer.echo(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=chosen_shell(shell)))


def install(shell: ShellArgument = None) -> None:
    """Install completion for a shell; new shells then have it.

    Writes one file in your home, and for bash and zsh the lines in .bashrc or .zshrc that read it.

    Examples:

        confide completion install

        confide completion install zsh
    """
    from typer.completion import install as write_script  # type: ignore[attr-defined]

    name, path = write_script(shell=chosen_shell(shell), prog_name=PROGRAM)
    typer.echo(f"completion for {name}: {path}. New shells have it; to start one here: exec {name}", err=True)


class Verbs(LazyGroup):
    """Verbs of `confide completion`."""

    verbs: ClassVar = {
        "install": install,
        "show": show,
    }


app = typer.Typer(
    cls=Verbs,
    help="Complete commands and options with the Tab key, in bash, zsh or fish.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
