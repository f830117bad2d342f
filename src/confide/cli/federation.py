"""`confide federation`: a coordinator's side: sites and their kits, the server, who is connected."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from confide.cli import federation_demo, output
from confide.cli.federation_common import (
    JsonOption,
    keep_running,
    note_root,
    open_federation,
    print_rows,
    require_engine,
    require_new,
    say_next,
    stop_running,
)
from confide.errors import FederationError, UsageError

if TYPE_CHECKING:
    from confide.federation.flare.provision import Federation

SCHEMA = "confide.federation/1"

app = typer.Typer(
    help="Make a federation of sites, run its server, and see which sites are connected.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.command("demo")(federation_demo.demo)

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The federation's folder.")]


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder; it holds keys, so keep it safe.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="The federation's name.")],
    site: Annotated[list[str], typer.Option("--site", "-s", metavar="SITE", help="A site's name; repeat for each.")],
    server: Annotated[
        str,
        typer.Option(
            metavar="HOST", help="The name by which sites reach the server; localhost is for one machine alone."
        ),
    ] = "localhost",
    port: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=65535, help="The server's port. [default: 8002; a free one on localhost]"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a federation: certificates for the server, for you and for each site, and a kit to hand to each.

    All connections are encrypted, and both ends show their certificates. Sites run no code that you send: they
    have `confide` installed, and allow it alone.

    Examples:

        confide federation init net --name stroke --site north --site south --site west --server hub.example.org

        confide federation init trial --name trial -s a -s b -s c --port 8002
    """
    require_engine()
    require_new(folder)
    _check_sites(site)
    from confide.federation.flare.provision import provision

    with output.busy("making keys and certificates"):
        network = provision(folder, name=name, sites=site, server=server, port=port)
    if as_json:
        output.print_json(_document(network))
    else:
        kits = [(one, _kit(folder, one)) for one in network.sites]
        print_rows(f"Federation {network.name}: server {network.server}, port {network.port}", ("site", "kit"), kits)
    _say_begin(network, folder)


@app.command("add-site")
def add_site(
    folder: FolderArgument,
    site: Annotated[str, typer.Argument(metavar="SITE", help="The new site's name.")],
) -> None:
    """Let one more site into the federation: make its certificate and its kit.

    Other sites need no new kits. Those that pinned fingerprints ([peers] in policy.toml) add that of the new site.

    Example:

        confide federation add-site net east
    """
    network = open_federation(folder)
    from confide.federation.flare.provision import add_site as add

    with output.busy("making a key and a certificate"):
        larger = add(network, site)
    typer.echo(f"federation {larger.name} has {len(larger.sites)} sites", err=True)
    say_next(
        ("Hand the site its kit, by a safe way:", (f"{_kit(folder, site)}  to  {site}",)),
        ("It sets itself up, and starts:", _site_commands(site)),
        (f"Sites that pinned fingerprints add that of {site}, compared by telephone, at [peers] in:", ("policy.toml",)),
    )


@app.command()
def start(
    folder: FolderArgument,
    background: Annotated[
        bool, typer.Option("--background", help="Return at once; stop it with `confide federation stop`.")
    ] = False,
) -> None:
    """Start the federation's server. It runs until Ctrl-C, or in the background until it is stopped.

    Examples:

        confide federation start net

        confide federation start net --background
    """
    network = open_federation(folder)
    from confide.federation.flare.processes import start_server

    with output.busy("starting the server"):
        running = start_server(network)
    note_root(network.folder)
    _note_unknown_host(network)
    typer.echo(f"the server of {network.name} listens at {network.server}, port {network.port}", err=True)
    if background:
        say_next(
            ("See which sites are connected:", (f"confide federation status {folder}",)),
            ("Validate a model:", (_example(folder),)),
            ("Stop it in the end:", (f"confide federation stop {folder}",)),
        )
        return
    typer.echo(f"stop it with Ctrl-C; see who is connected with: confide federation status {folder}", err=True)
    keep_running(running, "the server")


@app.command()
def stop(folder: FolderArgument) -> None:
    """Stop the federation's server, if it was started on this machine.

    Example:

        confide federation stop net
    """
    network = open_federation(folder)
    stop_running(network, f"the server of {network.name}", f"confide federation start {folder}")


@app.command()
def status(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Show the federation, whether its server runs, and which sites are connected.

    Examples:

        confide federation status net

        confide federation status net --json
    """
    network = open_federation(folder)
    with output.busy("asking the server"):
        running, connected, problem = _state(network)
    if as_json:
        output.print_json({**_document(network), "running": running, "connected": connected, "problem": problem})
        return
    where = f"{network.server}, port {network.port}: {'running' if running else 'not running'}"
    body = [(one, _connected(one, connected)) for one in network.sites]
    print_rows(f"Federation {network.name}, server at {where}", ("site", "state"), body)
    _say_after_status(network, folder, running, connected, problem)


def _note_unknown_host(network: Federation) -> None:
    """A server starts under any name; whether others can find it shows when they look."""
    try:
        socket.getaddrinfo(network.server, network.port)
    except OSError:
        typer.echo(
            f"note: no machine called {network.server!r} is known here. Sites, and `confide validate`, find the server "
            "by that name only",
            err=True,
        )


def _check_sites(sites: list[str]) -> None:
    if len(set(sites)) < len(sites):
        raise UsageError("a site is named twice; name each site once")


def _state(network: Federation) -> tuple[bool, list[str] | None, str | None]:
    """Whether the server runs, who is connected if that is known, and why not if it is not."""
    from confide.federation.flare.processes import find_running
    from confide.federation.flare.session import open_session

    here = find_running(network) is not None
    if not here and network.server in ("localhost", "127.0.0.1"):
        return False, None, None
    try:
        with open_session(network, timeout=10.0) as session:
            return True, sorted(session.connected_sites()), None
    except FederationError as error:
        return here, None, str(error)


def _connected(site: str, connected: list[str] | None) -> str:
    if connected is None:
        return "unknown"
    return "connected" if site in connected else "not connected"


def _document(network: Federation) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "name": network.name,
        "server": network.server,
        "port": network.port,
        "coordinator": network.coordinator,
        "sites": [{"name": site, "kit": str(network.site_kit(site))} for site in network.sites],
    }


def _kit(folder: Path, site: str) -> str:
    return str(folder / "kits" / f"{site}.zip")


def _example(folder: Path) -> str:
    return f"confide validate --federation {folder} --model-name NAME --mode private --epsilon 1 --report out.html"


def _site_commands(site: str) -> tuple[str, ...]:
    return (
        f"confide site init {site}.zip SITE --model-name NAME --data FILE --label COL --score COL",
        "confide site start SITE",
    )


def _say_begin(network: Federation, folder: Path) -> None:
    say_next(
        (
            "Hand each site its kit, by a safe way: whoever has it can pose as the site.",
            [f"{_kit(folder, site)}  to  {site}" for site in network.sites],
        ),
        (
            "Each site, with confide[federation] installed, sets itself up and starts:",
            _site_commands(network.sites[0]),
        ),
        ("Start the server here:", (f"confide federation start {folder} --background",)),
        ("See which sites are connected, then validate:", (f"confide federation status {folder}", _example(folder))),
    )
    if len(network.sites) < 3:
        typer.echo("note: the modes secure-sum and private need three sites or more", err=True)


def _say_after_status(
    network: Federation, folder: Path, running: bool, connected: list[str] | None, problem: str | None
) -> None:
    if problem is not None:
        raise FederationError(problem)
    if not running:
        say_next(("Start the server:", (f"confide federation start {folder} --background",)))
    elif connected is not None and set(connected) >= set(network.sites):
        say_next(("All sites are connected. Validate a model:", (_example(folder),)))
    else:
        say_next(("Sites that are not connected start with:", ("confide site start SITE",)))
