"""`confide site renew`."""

from __future__ import annotations

import typer

from confide.cli.federation_common import print_next
from confide.cli.site.options import FolderArgument, KitArgument, RootComparedOption


def renew(folder: FolderArgument, kit: KitArgument, compared: RootComparedOption = False) -> None:
    """Take in a new kit: a new certificate or another address of the server.

    Ledger, register, policy and the site's own key stay as they are, and with them its fingerprint. A kit from another
    root is refused unless its fingerprint was compared with the coordinator's by telephone. If the command is
    interrupted, the site has the old certificate or the new one; the same command can be repeated.

    Example:

        confide site renew north north.zip
    """
    from confide.tasks.site_certificates import renew_site

    renewed = renew_site(folder, kit, compared=compared)
    typer.echo(f"site {renewed.site} has a certificate until {renewed.dates.in_words()}", err=True)
    restart = (f"confide site stop {folder}", f"confide site start {folder}")
    steps = [("Restart the engine, which runs with the old certificate:", restart)] if renewed.needs_restart else []
    print_next(*steps, ("See the site:", (f"confide site status {folder}",)))
