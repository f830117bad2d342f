"""`confide federation revoke`."""

from __future__ import annotations

from typing import Annotated

import typer

from confide.cli.federation.options import FolderArgument
from confide.cli.federation_common import print_next


def revoke(
    folder: FolderArgument,
    site: Annotated[str, typer.Argument(metavar="SITE", help="The site whose certificates are no longer trusted.")],
) -> None:
    """Revoke all certificates of a site that were signed until now, for example after its key was stolen.

    The root signs a numbered list of all revoked certificates. You refuse answers under them at once, and so does each
    site from the next question on, which brings the list. A site keeps its list when an older one comes. A site that
    is to go on makes a new request, with a new key, and you compare its fingerprint by telephone again.

    Example:

        confide federation revoke net north
    """
    from confide.tasks.federation_certificates import revoke_site

    revoked = revoke_site(folder, site)
    typer.echo(
        f"all certificates of {site} that were signed until now are revoked (list {revoked.number}, "
        f"{len(revoked.before)} sites)",
        err=True,
    )
    print_next(
        (
            "If the site is to go on, it makes a new request, which you sign after a telephone call:",
            ("confide site request SITE", f"confide federation sign {folder} {site}.request --compared"),
        ),
        ("If not, ask without it:", ("confide validate ... --sites OTHERS",)),
    )
