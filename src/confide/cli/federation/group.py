"""Verbs of `confide federation`."""

from __future__ import annotations

import typer

from confide.cli.federation.add_site import add_site
from confide.cli.federation.demo import demo
from confide.cli.federation.init import init
from confide.cli.federation.start import start
from confide.cli.federation.status import status
from confide.cli.federation.stop import stop

app = typer.Typer(
    help="Make a federation of sites, run its server, and see which sites are connected.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.command("demo")(demo)
app.command("init")(init)
app.command("add-site")(add_site)
app.command("start")(start)
app.command("stop")(stop)
app.command("status")(status)
