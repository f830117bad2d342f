"""Verbs of `confide completion`."""

from __future__ import annotations

from typing import ClassVar

import typer

from confide.cli.lazy_verbs import LazyGroup, Verb


class Verbs(LazyGroup):
    """Verbs of `confide completion`."""

    verbs: ClassVar = {
        "install": Verb(
            "confide.cli.completion.install:install", "Install completion for a shell; new shells then have it."
        ),
        "show": Verb(
            "confide.cli.completion.show:show", "Print the script of a shell's completion, to install it by hand."
        ),
    }


app = typer.Typer(
    cls=Verbs,
    help="Complete commands and options with the Tab key, in bash, zsh or fish.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
