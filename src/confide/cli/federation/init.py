"""`confide federation init`."""

from __future__ import annotations

import typer

from confide.cli import output
from confide.cli.federation.next_steps import request_command, site_commands, validate_example
from confide.cli.federation.options import (
    ListenOption,
    NameOption,
    NewFolderArgument,
    PortOption,
    ServerOption,
    SitesOption,
)
from confide.cli.federation_common import JsonOption, print_next


def init(
    folder: NewFolderArgument,
    name: NameOption,
    sites: SitesOption,
    server: ServerOption = "localhost",
    port: PortOption = None,
    listen: ListenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a federation: a root, and certificates for the server and for you. Sites make their own keys.

    All connections are encrypted, and both ends show their certificates. Each site makes its keys itself and sends a
    request, which you sign. Sites run no code that you send: they
    have `confide` installed, and allow it alone.

    Examples:

        confide federation init net --name stroke --site north --site south --site west --server hub.example.org

        confide federation init trial --name trial --site a --site b --site c --port 8002

        confide federation init net --name stroke --site a --site b --site c --server hub.org --port 443 --listen 8002
    """
    from confide.report.validation.federation_text import print_new_federation
    from confide.tasks.federation import federation_document, init_federation

    with output.busy("making keys and certificates"):
        federation = init_federation(folder, name=name, sites=sites, server=server, port=port, listen=listen)
    if as_json:
        output.print_json(federation_document(federation))
    else:
        print_new_federation(federation, output.console())
    print_next(
        (
            "Each site, with confide[federation] installed, makes its keys, and sends you its request:",
            (request_command(federation.sites[0]),),
        ),
        (
            "Compare its fingerprint with the site by telephone, sign, and send the kit back:",
            (f"confide federation sign {folder} {federation.sites[0]}.request --compared",),
        ),
        ("The site sets itself up, and starts:", site_commands(federation.sites[0])),
        ("Start the server here:", (f"confide federation start {folder} --background",)),
        (
            "See which sites are connected, then validate:",
            (f"confide federation status {folder}", validate_example(folder)),
        ),
    )
    if len(federation.sites) < 3:
        typer.echo("note: the modes secure-sum and private need three sites or more", err=True)
