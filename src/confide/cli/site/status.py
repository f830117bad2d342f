"""`confide site status`."""

from __future__ import annotations

from confide.cli import output
from confide.cli.federation_common import JsonOption, print_next, print_notes
from confide.cli.site.options import CheckOption, FolderArgument, RequestsOption
from confide.errors import FederationError


def status(
    folder: FolderArgument, requests: RequestsOption = 5, check: CheckOption = False, as_json: JsonOption = False
) -> None:
    """Show the site: federation and connection, fingerprint, models, what it allows, its budget and the last requests.

    Other sites can pin the fingerprint, which is that of the site's own key: tell it to them by telephone or on paper.

    Examples:

        confide site status site

        confide site status site --requests 20 --json

        confide site status site --check
    """
    from confide.report.validation.site_text import place_of_logs, print_site, status_notes
    from confide.tasks.site_status import site_status

    found = site_status(folder, requests=requests)
    if as_json:
        output.print_json(found.to_dict())
    if check and not found.connected:
        raise FederationError(f"site {found.name} is not connected to its server; {place_of_logs(found)} say more")
    if as_json or check:
        return
    print_site(found, output.console())
    print_notes(status_notes(found))
    print_next(("Change what it allows in:", (str(folder / "policy.toml"),)))
