"""`confide federation add-site`."""

from __future__ import annotations

from typing import Annotated

import typer

from confide.cli import output
from confide.cli.federation.next_steps import site_commands
from confide.cli.federation.options import FolderArgument
from confide.cli.federation_common import print_next


def add_site(
    folder: FolderArgument,
    site: Annotated[str, typer.Argument(metavar="SITE", help="The new site's name.")],
) -> None:
    """Let one more site into the federation: make its certificate and its kit.

    Other sites need no new kits. Those that pinned fingerprints ([peers] in policy.toml) add that of the new site.

    Example:

        confide federation add-site net east
    """
    from confide.report.validation.federation_text import kit_path
    from confide.tasks import federation

    with output.busy("making a key and a certificate"):
        larger = federation.add_site(folder, site)
    typer.echo(f"federation {larger.name} has {len(larger.sites)} sites", err=True)
    print_next(
        ("Hand the site its kit in a safe way:", (f"{kit_path(folder, site)}  to  {site}",)),
        ("It sets itself up, and starts:", site_commands(site)),
        (f"Sites that pinned fingerprints add that of {site}, compared by telephone, at [peers] in:", ("policy.toml",)),
    )
