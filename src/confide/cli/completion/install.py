"""`confide completion install`."""

from __future__ import annotations

import typer

from confide.cli.completion.shell_options import PROGRAM, ShellArgument, chosen_shell


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
