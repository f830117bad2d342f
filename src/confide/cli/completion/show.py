"""`confide completion show`."""

from __future__ import annotations

import typer

from confide.cli.completion.shell_options import PROGRAM, VARIABLE, ShellArgument, chosen_shell


def show(shell: ShellArgument = None) -> None:
    """Print the script of a shell's completion, to install it by hand.

    Example:

        confide completion show bash > /etc/bash_completion.d/confide
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    typer.echo(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=chosen_shell(shell)))
