"""Verbs of `confide site`."""

from __future__ import annotations

import typer

from confide.cli.site.add_model import add_model
from confide.cli.site.forget import forget
from confide.cli.site.init import init
from confide.cli.site.start import start
from confide.cli.site.status import status
from confide.cli.site.stop import stop

app = typer.Typer(
    help="Take part in a federation: describe the data and what is allowed, start the site, and see its requests.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.command("init")(init)
app.command("add-model")(add_model)
app.command("start")(start)
app.command("stop")(stop)
app.command("status")(status)
app.command("forget")(forget)
