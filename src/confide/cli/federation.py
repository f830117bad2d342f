"""Commands of `confide federation`, but for its demonstration: make a federation and run its server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import typer

from confide.cli import output
from confide.cli.lazy_verbs import LazyGroup, Verb
from confide.cli.steps import JsonOption, keep_running, print_next, print_notes, print_stopped
from confide.errors import FederationError, NotComparedError

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The federation's folder.")]
NewFolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="A new folder; it holds keys, so keep it safe.")]
NameOption = Annotated[str, typer.Option(metavar="NAME", help="The federation's name.")]
SitesOption = Annotated[list[str], typer.Option("--site", metavar="SITE", help="A site's name; repeat for each.")]
ServerOption = Annotated[
    str,
    typer.Option(metavar="HOST", help="The name by which sites reach the server; localhost is for one machine alone."),
]
PortOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=65535, help="The server's port. [default: 8002; a free one on localhost]"),
]
ListenOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=65535,
        help="The port at which the server listens, if a balancer passes connections on from --port. [default: --port]",
    ),
]
RequestArgument = Annotated[
    Path, typer.Argument(metavar="REQUEST", help="The file that `confide site request` made at the site.")
]
ComparedOption = Annotated[
    bool, typer.Option("--compared", help="I have compared the site's fingerprint by telephone, or on paper.")
]
DaysOption = Annotated[int, typer.Option(metavar="N", min=1, max=3650, help="Days for which certificates are valid.")]
NewServerOption = Annotated[
    str | None, typer.Option("--server", metavar="HOST", help="The server moved: its new name.")
]
NewPortOption = Annotated[
    int | None, typer.Option("--port", metavar="N", min=1, max=65535, help="The server moved: its new port.")
]
NewListenOption = Annotated[
    int | None,
    typer.Option(
        "--listen",
        metavar="N",
        min=1,
        max=65535,
        help="The server now listens at this port of its machine, behind a balancer that passes connections on from "
        "--port; the same number as --port if there is no balancer any more. [default: as before]",
    ),
]
BackgroundOption = Annotated[
    bool, typer.Option("--background", help="Return at once; stop it with `confide federation stop`.")
]


def validate_example(folder: Path) -> str:
    """Return an example of `confide validate`."""
    return f"confide validate --federation {folder} --model-name NAME --mode private --epsilon 1 --report out.html"


def request_command(site: str) -> str:
    """Return the command with which a site makes its keys and its request."""
    return f"confide site request SITE --name {site}"


def site_commands(site: str) -> tuple[str, ...]:
    """Return the commands with which a site sets itself up and starts."""
    return (
        f"confide site init {site}.zip SITE --model-name NAME --data FILE --label COL --score COL",
        "confide site start SITE",
    )


def init(
    folder: NewFolderArgument,
    name: NameOption,
    sites: SitesOption,
    server: ServerOption = "localhost",
    port: PortOption = None,
    listen: ListenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a federation: a root, and certificates for the server and for you. Sites make their own keys.

    All connections are encrypted, and both ends show their certificates. Each site makes its keys itself and sends a
    request, which you sign. Sites run no code that you send: they
    have `confide` installed, and allow it alone.

    Examples:

        confide federation init net --name stroke --site north --site south --site west --server hub.example.org

        confide federation init trial --name trial --site a --site b --site c --port 8002

        confide federation init net --name stroke --site a --site b --site c --server hub.org --port 443 --listen 8002
    """
    from confide.report.validation.sites import print_new_federation
    from confide.tasks.federation import federation_document, init_federation

    with output.busy("making keys and certificates"):
        federation = init_federation(folder, name=name, sites=sites, server=server, port=port, listen=listen)
    if as_json:
        output.print_json(federation_document(federation))
    else:
        print_new_federation(federation, output.console())
    print_next(
        (
            "Each site, with confide[federation] installed, makes its keys, and sends you its request:",
            (request_command(federation.sites[0]),),
        ),
        (
            "Compare its fingerprint with the site by telephone, sign, and send the kit back:",
            (f"confide federation sign {folder} {federation.sites[0]}.request --compared",),
        ),
        ("The site sets itself up, and starts:", site_commands(federation.sites[0])),
        ("Start the server here:", (f"confide federation start {folder} --background",)),
        (
            "See which sites are connected, then validate:",
            (f"confide federation status {folder}", validate_example(folder)),
        ),
    )
    if len(federation.sites) < 3:
        typer.echo("note: the modes secure-sum and private need three sites or more", err=True)


def add_site(
    folder: FolderArgument,
    site: Annotated[str, typer.Argument(metavar="SITE", help="The new site's name.")],
) -> None:
    """Let one more site into the federation, whose request you then sign.

    Other sites need no new kits. Those that pinned fingerprints ([peers] in policy.toml) add that of the new site. A
    question that was asked before names its sites: it is still answered by those. With the new site it is another
    question, which is paid for again, and which modes without noise refuse.

    Example:

        confide federation add-site net east
    """
    from confide.tasks import federation

    larger = federation.add_site(folder, site)
    typer.echo(f"federation {larger.name} has {len(larger.sites)} sites", err=True)
    print_next(
        ("The site makes its keys, and sends you its request:", (request_command(site),)),
        (
            "Compare its fingerprint with the site by telephone, sign, and send the kit back:",
            (f"confide federation sign {folder} {site}.request --compared",),
        ),
        ("It sets itself up, and starts:", site_commands(site)),
        (f"Sites that pinned fingerprints add that of {site}, compared by telephone, at [peers] in:", ("policy.toml",)),
    )


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
    from confide.report.validation.sites import signed_lines, unsigned_lines
    from confide.tasks.federation import sign_site

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


def renew(
    folder: FolderArgument,
    days: DaysOption = 360,
    server: NewServerOption = None,
    port: NewPortOption = None,
    listen: NewListenOption = None,
) -> None:
    """Renew all certificates: the server's, yours and those of all sites, which get new kits.

    Keys stay the same, so fingerprints and pins do, too. A certificate that a site has stays valid until its end, so
    sites can renew one after another. With --server or --port the server gets another address, which is in the new
    kits. If one certificate cannot be renewed, nothing changes. After an interruption the same command can be
    repeated.

    Examples:

        confide federation renew net

        confide federation renew net --server hub2.example.org --port 443

        confide federation renew net --port 443 --listen 8002
    """
    from confide.tasks.federation import renew_federation

    with output.busy("renewing certificates"):
        renewed = renew_federation(folder, days=days, server=server, port=port, listen=listen)
    typer.echo(f"renewed the certificates of the server, the coordinator and {len(renewed.sites)} sites", err=True)
    kits = [f"{folder / 'kits' / f'{site}.zip'}  to  {site}" for site in renewed.sites]
    print_next(
        ("Send each site its new kit. It holds no secret:", kits),
        ("Each site takes it in:", ("confide site renew SITE KIT.zip",)),
        (
            "Restart the server, which runs with the old certificate:",
            (f"confide federation stop {folder}", f"confide federation start {folder} --background"),
        ),
    )


def revoke(
    folder: FolderArgument,
    site: Annotated[str, typer.Argument(metavar="SITE", help="The site whose certificates are no longer trusted.")],
) -> None:
    """Revoke all certificates of a site that were signed until now, for example after its key was stolen.

    The root signs a numbered list of all revoked certificates. You refuse answers under them at once, and so does each
    site from the next question on, which brings the list. A site keeps its list when an older one comes. A site that
    is to go on makes a new request, with a new key, and you compare its fingerprint by telephone again.

    Example:

        confide federation revoke net north
    """
    from confide.tasks.federation import revoke_site

    revoked = revoke_site(folder, site)
    typer.echo(
        f"all certificates of {site} that were signed until now are revoked (list {revoked.number}, "
        f"{len(revoked.before)} sites)",
        err=True,
    )
    print_next(
        (
            "If the site is to go on, it makes a new request, which you sign after a telephone call:",
            ("confide site request SITE", f"confide federation sign {folder} {site}.request --compared"),
        ),
        ("If not, ask without it:", ("confide validate ... --sites OTHERS",)),
    )


def start(folder: FolderArgument, background: BackgroundOption = False) -> None:
    """Start the federation's server. It runs until Ctrl-C, or in the background until it is stopped.

    Examples:

        confide federation start net

        confide federation start net --background
    """
    from confide.report.validation.sites import engine_cautions, unknown_host_note
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


def status(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Show the federation, whether its server runs, and which sites are connected.

    Examples:

        confide federation status net

        confide federation status net --json
    """
    from confide.report.validation.sites import certificate_notes, print_federation
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


def stop(folder: FolderArgument) -> None:
    """Stop the federation's server, if it was started on this machine.

    Example:

        confide federation stop net
    """
    from confide.tasks.federation import stop_server

    with output.busy("stopping"):
        was_running = stop_server(folder)
    print_stopped(f"the server in {folder}", was_running=was_running, start_again=f"confide federation start {folder}")


class Verbs(LazyGroup):
    """Verbs of `confide federation`."""

    verbs: ClassVar = {
        "demo": Verb(
            "confide.cli.federation_demo:demo",
            "Run a whole federation on this machine: validate a model at 3 to 5 hospitals that share no rows.",
        ),
        "init": init,
        "sign": sign,
        "renew": renew,
        "revoke": revoke,
        "add-site": add_site,
        "start": start,
        "stop": stop,
        "status": status,
    }


app = typer.Typer(
    cls=Verbs,
    help="Make a federation of sites, run its server, and see which sites are connected.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
