"""Verbs of `confide federation`."""

from __future__ import annotations

from typing import ClassVar

import typer

from confide.cli.lazy_verbs import LazyGroup, Verb


class Verbs(LazyGroup):
    """Verbs of `confide federation`."""

    verbs: ClassVar = {
        "demo": Verb(
            "confide.cli.federation.demo:demo",
            "Run a whole federation on this machine: validate a model at 3 to 5 hospitals that share no rows.",
        ),
        "init": Verb(
            "confide.cli.federation.init:init",
            "Make a federation: a root, and certificates for the server and for you. Sites make their own keys.",
        ),
        "sign": Verb(
            "confide.cli.federation.sign:sign",
            "Sign a site's request for a certificate, and make the kit to send back to the site.",
        ),
        "renew": Verb(
            "confide.cli.federation.renew:renew",
            "Renew all certificates: the server's, yours and those of all sites, which get new kits.",
        ),
        "revoke": Verb(
            "confide.cli.federation.revoke:revoke",
            "Revoke all certificates of a site that were signed until now, for example after its key was stolen.",
        ),
        "add-site": Verb(
            "confide.cli.federation.add_site:add_site",
            "Let one more site into the federation, whose request you then sign.",
        ),
        "start": Verb(
            "confide.cli.federation.start:start",
            "Start the federation's server. It runs until Ctrl-C, or in the background until it is stopped.",
        ),
        "stop": Verb(
            "confide.cli.federation.stop:stop", "Stop the federation's server, if it was started on this machine."
        ),
        "status": Verb(
            "confide.cli.federation.status:status",
            "Show the federation, whether its server runs, and which sites are connected.",
        ),
    }


app = typer.Typer(
    cls=Verbs,
    help="Make a federation of sites, run its server, and see which sites are connected.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
