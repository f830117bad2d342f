"""`confide site stop`."""

from __future__ import annotations

from confide.cli import output
from confide.cli.federation_common import print_stopped
from confide.cli.site.options import FolderArgument


def stop(folder: FolderArgument) -> None:
    """Disconnect the site from its federation.

    Example:

        confide site stop site
    """
    from confide.tasks.site import stop_site

    with output.busy("stopping"):
        was_running = stop_site(folder)
    print_stopped(f"the site in {folder}", was_running=was_running, start_again=f"confide site start {folder}")
