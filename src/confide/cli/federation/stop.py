"""`confide federation stop`."""

from __future__ import annotations

from confide.cli import output
from confide.cli.federation.options import FolderArgument
from confide.cli.federation_common import print_stopped


def stop(folder: FolderArgument) -> None:
    """Stop the federation's server, if it was started on this machine.

    Example:

        confide federation stop net
    """
    from confide.tasks.federation import stop_server

    with output.busy("stopping"):
        was_running = stop_server(folder)
    print_stopped(f"the server in {folder}", was_running=was_running, start_again=f"confide federation start {folder}")
