"""Verbs of `confide site`."""

from __future__ import annotations

from typing import ClassVar

import typer

from confide.cli.lazy_verbs import LazyGroup, Verb


class Verbs(LazyGroup):
    """Verbs of `confide site`."""

    verbs: ClassVar = {
        "init": Verb("confide.cli.site.init:init", "Set up a site from the kit that the coordinator made for it."),
        "add-model": Verb(
            "confide.cli.site.add_model:add_model",
            "Let another model be validated at this site, or the same one with other data.",
        ),
        "start": Verb(
            "confide.cli.site.start:start",
            "Connect the site to its federation. It runs until Ctrl-C, or in the background until it is stopped.",
        ),
        "stop": Verb("confide.cli.site.stop:stop", "Disconnect the site from its federation."),
        "status": Verb(
            "confide.cli.site.status:status",
            "Show the site: federation and connection, fingerprint, models, what it allows, its budget and the last "
            "requests.",
        ),
        "forget": Verb("confide.cli.site.forget:forget", "Let a model be asked for anew in modes without noise."),
    }


app = typer.Typer(
    cls=Verbs,
    help="Take part in a federation: describe the data and what is allowed, start the site, and see its requests.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
