"""`confide site start`."""

from __future__ import annotations

import typer

from confide.cli import output
from confide.cli.federation_common import keep_running, print_next, print_notes
from confide.cli.site.options import BackgroundOption, FolderArgument


def start(folder: FolderArgument, background: BackgroundOption = False) -> None:
    """Connect the site to its federation. It runs until Ctrl-C, or in the background until it is stopped.

    Examples:

        confide site start site

        confide site start site --background
    """
    from confide.report.validation.site_notes import engine_cautions, start_notes
    from confide.tasks.site import start_site

    with output.busy("comparing the rows of all models, and starting"):
        started = start_site(folder, attached=not background)
    print_notes(start_notes(started.check))
    print_notes(
        engine_cautions(
            started.folder.path,
            as_root=started.as_root,
            wide_folders=started.wide_folders,
            confined=started.confined,
        )
    )
    name = f"site {started.check.name}"
    typer.echo(f"{name} is running, and connects as soon as the federation's server can be reached", err=True)
    if background:
        print_next(
            ("See whether it is connected, and its last requests:", (f"confide site status {folder}",)),
            ("Stop it in the end:", (f"confide site stop {folder}",)),
        )
        return
    typer.echo(f"stop it with Ctrl-C; see its last requests with: confide site status {folder}", err=True)
    keep_running(started.running, name)
