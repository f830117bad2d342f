"""`confide federation sign`."""

from __future__ import annotations

import typer

from confide.cli.federation.options import ComparedOption, DaysOption, FolderArgument, RequestArgument
from confide.cli.federation_common import print_next, print_notes
from confide.errors import NotComparedError


def sign(
    folder: FolderArgument, request: RequestArgument, compared: ComparedOption = False, days: DaysOption = 360
) -> None:
    """Sign a site's request for a certificate, and make the kit to send back to the site.

    The site made its keys itself; no private key is in the request or in the kit. Without --compared this prints the
    fingerprint of the request, signs nothing and ends with exit code 2: telephone the site, and compare the fingerprint
    with what `confide site request` printed there. A later request by the same key needs no telephone. A request that
    is older than the last one signed is refused, so nobody can have a site's old key signed again. The same request can
    be signed twice.

    Examples:

        confide federation sign net north.request

        confide federation sign net north.request --compared
    """
    from confide.report.validation.federation_text import signed_lines, unsigned_lines
    from confide.tasks.federation_certificates import sign_site

    try:
        signed = sign_site(folder, request, compared=compared, days=days)
    except NotComparedError as unsigned:
        print_notes(unsigned_lines(unsigned))
        print_next(
            ("Telephone the site, and let it read out the fingerprint that `confide site request` printed there.", ()),
            ("If it is the same, sign:", (f"confide federation sign {folder} {request} --compared",)),
        )
        raise typer.Exit(unsigned.exit_code) from None
    print_notes(signed_lines(signed))
    kit = folder / "kits" / f"{signed.site}.zip"
    print_next(
        ("Send the kit back to the site. It holds no secret:", (f"{kit}  to  {signed.site}",)),
        (
            "There, a new site sets itself up, and a site that asked anew renews its certificate:",
            (
                f"confide site init {signed.site}.zip SITE --model-name NAME --data FILE --label COL --score COL",
                f"confide site renew SITE {signed.site}.zip",
            ),
        ),
    )
