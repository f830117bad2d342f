"""`confide site request`."""

from __future__ import annotations

import typer

from confide.cli import output
from confide.cli.federation_common import print_next
from confide.cli.site.options import NewFolderArgument, SiteNameOption


def request(folder: NewFolderArgument, name: SiteNameOption = None) -> None:
    """Make the site's keys here, and a request for a certificate that the coordinator signs.

    Private keys are made in the folder and never leave it. The request holds public keys only, so it can be sent by
    e-mail. Whoever changes it on its way changes its fingerprint: read the fingerprint out to the coordinator by
    telephone. In the folder of a site that is set up, and without --name, this makes a new key for TLS; nothing else
    changes until `confide site renew` takes the signed kit in.

    Examples:

        confide site request north --name north

        confide site request north
    """
    from confide.report.validation.site_text import request_lines
    from confide.tasks.site_certificates import request_site

    with output.busy("making keys"):
        made = request_site(folder, name=name)
    for line in request_lines(made):
        typer.echo(line)
    send = ("Send the request to the coordinator. It holds no secret:", (str(folder / made.file.name),))
    if made.federation is not None:
        signed = "The coordinator signs, and sends a kit. Until you take it in, the site keeps its present key:"
        print_next(send, (signed, (f"confide site renew {folder} {made.site}.zip",)))
        return
    print_next(
        send,
        (
            "The coordinator compares the fingerprint with you, signs, and sends a kit. Then run:",
            (f"confide site init {made.site}.zip {folder} --model-name NAME --data FILE --label COL --score COL",),
        ),
    )
