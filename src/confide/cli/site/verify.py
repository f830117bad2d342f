"""`confide site verify`."""

from __future__ import annotations

import typer

from confide.cli import output
from confide.cli.federation_common import JsonOption
from confide.cli.site.options import FolderArgument
from confide.errors import FederationError


def verify(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Check that nobody changed the site's log of requests, its approvals or its ledger.

    Each entry is sealed with a key in the site's folder, together with the one before it. The exit code is 1 if an
    entry was changed, removed or inserted, or if a log is gone or an old copy. Whoever has the key is not noticed, nor
    is an old copy of the whole folder.

    Examples:

        confide site verify site

        confide site verify site --json
    """
    from confide.tasks.site_approvals import verify_site

    found = verify_site(folder)
    if as_json:
        output.print_json(found.to_dict())
    else:
        for log in found.logs:
            typer.echo(log.in_words())
        typer.echo(f"ledger.db: {found.ledger_problem or 'all entries as they were written'}")
    if not found.whole:
        raise FederationError("the site's records were changed or are damaged; find out how, and restore a backup")
