"""Verbs of `confide site`."""

from __future__ import annotations

from typing import ClassVar

import typer

from confide.cli.lazy_verbs import LazyGroup, Verb


class Verbs(LazyGroup):
    """Verbs of `confide site`."""

    verbs: ClassVar = {
        "request": Verb(
            "confide.cli.site.request:request",
            "Make the site's keys here, and a request for a certificate that the coordinator signs.",
        ),
        "init": Verb(
            "confide.cli.site.init:init",
            "Set up a site with the kit that the coordinator sent back, in the folder of its request.",
        ),
        "renew": Verb(
            "confide.cli.site.renew:renew", "Take in a new kit: a new certificate or another address of the server."
        ),
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
        "pending": Verb(
            "confide.cli.site.pending:pending",
            "Show the questions that wait for a person's approval: what would leave the site, for whom, and at which "
            "price.",
        ),
        "approve": Verb(
            "confide.cli.site.approve:approve",
            "Approve a question that waits: the site answers it when it is asked again.",
        ),
        "refuse": Verb("confide.cli.site.refuse:refuse", "Refuse a question that waits, or take an approval back."),
        "verify": Verb(
            "confide.cli.site.verify:verify",
            "Check that nobody changed the site's log of requests, its approvals or its ledger.",
        ),
        "forget": Verb("confide.cli.site.forget:forget", "Let a model be asked for anew in modes without noise."),
    }


app = typer.Typer(
    cls=Verbs,
    help="Take part in a federation: describe the data and what is allowed, start the site, and see its requests.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
