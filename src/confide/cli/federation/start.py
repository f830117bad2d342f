"""`confide federation start`."""

from __future__ import annotations

import typer

from confide.cli import output
from confide.cli.federation.next_steps import validate_example
from confide.cli.federation.options import BackgroundOption, FolderArgument
from confide.cli.federation_common import keep_running, print_next, print_notes


def start(folder: FolderArgument, background: BackgroundOption = False) -> None:
    """Start the federation's server. It runs until Ctrl-C, or in the background until it is stopped.

    Examples:

        confide federation start net

        confide federation start net --background
    """
    from confide.report.validation.site_notes import engine_cautions, unknown_host_note
    from confide.tasks.federation import start_server

    with output.busy("starting the server"):
        started = start_server(folder, attached=not background)
    federation = started.federation
    print_notes(engine_cautions(federation.folder, as_root=started.as_root))
    if not started.known_host:
        print_notes([unknown_host_note(federation.server)])
    typer.echo(f"the server of {federation.name} listens at {federation.server}, port {federation.port}", err=True)
    if background:
        print_next(
            ("See which sites are connected:", (f"confide federation status {folder}",)),
            ("Validate a model:", (validate_example(folder),)),
            ("Stop it in the end:", (f"confide federation stop {folder}",)),
        )
        return
    typer.echo(f"stop it with Ctrl-C; see who is connected with: confide federation status {folder}", err=True)
    keep_running(started.running, "the server")
