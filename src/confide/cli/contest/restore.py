"""`confide contest restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import output
from confide.cli.federation_common import print_next


def restore(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A backup, as `confide contest backup` wrote it.")],
    home: Annotated[Path, typer.Option(metavar="DIR", help="A new home folder for `confide serve --home`.")],
) -> None:
    """Check a backup, and put it where a server can use it.

    The home folder must not exist yet: move a damaged one away first. Submissions after the backup are lost, and their
    participants may send them again.

    Example:

        confide contest restore oracle-2026-11-17 --home oracle
    """
    from confide.service.administration import restore as put_back

    with output.busy("checking and copying"):
        found = put_back(folder, home)
    typer.echo(found.summary(), err=True)
    print_next(("Serve it:", (f"confide serve --home {home}",)))
