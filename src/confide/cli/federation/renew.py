"""`confide federation renew`."""

from __future__ import annotations

import typer

from confide.cli import output
from confide.cli.federation.options import DaysOption, FolderArgument, NewListenOption, NewPortOption, NewServerOption
from confide.cli.federation_common import print_next


def renew(
    folder: FolderArgument,
    days: DaysOption = 360,
    server: NewServerOption = None,
    port: NewPortOption = None,
    listen: NewListenOption = None,
) -> None:
    """Renew all certificates: the server's, yours and those of all sites, which get new kits.

    Keys stay the same, so fingerprints and pins do, too. A certificate that a site has stays valid until its end, so
    sites can renew one after another. With --server or --port the server gets another address, which is in the new
    kits. If one certificate cannot be renewed, nothing changes. After an interruption the same command can be
    repeated.

    Examples:

        confide federation renew net

        confide federation renew net --server hub2.example.org --port 443

        confide federation renew net --port 443 --listen 8002
    """
    from confide.tasks.federation_certificates import renew_federation

    with output.busy("renewing certificates"):
        renewed = renew_federation(folder, days=days, server=server, port=port, listen=listen)
    typer.echo(f"renewed the certificates of the server, the coordinator and {len(renewed.sites)} sites", err=True)
    kits = [f"{folder / 'kits' / f'{site}.zip'}  to  {site}" for site in renewed.sites]
    print_next(
        ("Send each site its new kit. It holds no secret:", kits),
        ("Each site takes it in:", ("confide site renew SITE KIT.zip",)),
        (
            "Restart the server, which runs with the old certificate:",
            (f"confide federation stop {folder}", f"confide federation start {folder} --background"),
        ),
    )
