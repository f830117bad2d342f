"""`confide federation status`."""

from __future__ import annotations

from confide.cli import output
from confide.cli.federation.next_steps import validate_example
from confide.cli.federation.options import FolderArgument
from confide.cli.federation_common import JsonOption, print_next, print_notes
from confide.errors import FederationError


def status(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Show the federation, whether its server runs, and which sites are connected.

    Examples:

        confide federation status net

        confide federation status net --json
    """
    from confide.report.validation.federation_text import certificate_notes, print_federation
    from confide.tasks.federation import federation_status

    with output.busy("asking the server"):
        found = federation_status(folder)
    if as_json:
        output.print_json(found.to_dict())
        return
    print_federation(found, output.console())
    print_notes(certificate_notes(found, folder))
    if found.problem is not None:
        raise FederationError(found.problem)
    if not found.running:
        print_next(("Start the server:", (f"confide federation start {folder} --background",)))
    elif set(found.connected or ()) >= set(found.federation.sites):
        print_next(("All sites are connected. Validate a model:", (validate_example(folder),)))
    else:
        print_next(("Sites that are not connected start with:", ("confide site start SITE",)))
