"""`confide federation add-site`."""

from __future__ import annotations

from typing import Annotated

import typer

from confide.cli.federation.next_steps import request_command, site_commands
from confide.cli.federation.options import FolderArgument
from confide.cli.federation_common import print_next


def add_site(
    folder: FolderArgument,
    site: Annotated[str, typer.Argument(metavar="SITE", help="The new site's name.")],
) -> None:
    """Let one more site into the federation, whose request you then sign.

    Other sites need no new kits. Those that pinned fingerprints ([peers] in policy.toml) add that of the new site. A
    question that was asked before names its sites: it is still answered by those. With the new site it is another
    question, which is paid for again, and which modes without noise refuse.

    Example:

        confide federation add-site net east
    """
    from confide.tasks import federation

    larger = federation.add_site(folder, site)
    typer.echo(f"federation {larger.name} has {len(larger.sites)} sites", err=True)
    print_next(
        ("The site makes its keys, and sends you its request:", (request_command(site),)),
        (
            "Compare its fingerprint with the site by telephone, sign, and send the kit back:",
            (f"confide federation sign {folder} {site}.request --compared",),
        ),
        ("It sets itself up, and starts:", site_commands(site)),
        (f"Sites that pinned fingerprints add that of {site}, compared by telephone, at [peers] in:", ("policy.toml",)),
    )
