"""`confide federation init`."""

from __future__ import annotations

import typer

from confide.cli import output
from confide.cli.federation.next_steps import site_commands, validate_example
from confide.cli.federation.options import NameOption, NewFolderArgument, PortOption, ServerOption, SitesOption
from confide.cli.federation_common import JsonOption, print_next


def init(
    folder: NewFolderArgument,
    name: NameOption,
    sites: SitesOption,
    server: ServerOption = "localhost",
    port: PortOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a federation: certificates for the server, for you and for each site, and a kit to hand to each.

    All connections are encrypted, and both ends show their certificates. Sites run no code that you send: they
    have `confide` installed, and allow it alone.

    Examples:

        confide federation init net --name stroke --site north --site south --site west --server hub.example.org

        confide federation init trial --name trial --site a --site b --site c --port 8002
    """
    from confide.report.validation.federation_text import kit_path, print_kits
    from confide.tasks.federation import federation_document, init_federation

    with output.busy("making keys and certificates"):
        federation = init_federation(folder, name=name, sites=sites, server=server, port=port)
    if as_json:
        output.print_json(federation_document(federation))
    else:
        print_kits(federation, folder, output.console())
    print_next(
        (
            "Hand each site its kit in a safe way: whoever has it can pose as the site.",
            [f"{kit_path(folder, site)}  to  {site}" for site in federation.sites],
        ),
        (
            "Each site, with confide[federation] installed, sets itself up and starts:",
            site_commands(federation.sites[0]),
        ),
        ("Start the server here:", (f"confide federation start {folder} --background",)),
        (
            "See which sites are connected, then validate:",
            (f"confide federation status {folder}", validate_example(folder)),
        ),
    )
    if len(federation.sites) < 3:
        typer.echo("note: the modes secure-sum and private need three sites or more", err=True)
