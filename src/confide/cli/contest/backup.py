"""`confide contest backup`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import output


def backup(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A new folder for the copy; it holds the server's key.")
    ],
    home: Annotated[Path, typer.Option(metavar="DIR", help="The folder of `confide serve --home`.")],
) -> None:
    """Copy a server's home folder, and check the copy.

    The server may run meanwhile. Every sealed record and every score file of the copy is checked. Records in PostgreSQL
    are backed up with pg_dump.

    Example:

        confide contest backup oracle-2026-11-17 --home oracle
    """
    from confide.service.administration import backup as copy

    with output.busy("copying and checking"):
        found = copy(home, folder)
    typer.echo(found.summary(), err=True)
    typer.echo(f"written: {folder}", err=True)
