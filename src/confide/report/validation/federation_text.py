"""A federation on its coordinator's terminal: sites with their kits, and who is connected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from confide.report.validation.word_table import print_words

if TYPE_CHECKING:
    from rich.console import Console

    from confide.federation.flare.federation import Federation
    from confide.tasks.federation import FederationStatus


def kit_path(folder: Path, site: str) -> str:
    """Return the path of a site's kit below the folder as the user wrote it."""
    return str(folder / "kits" / f"{site}.zip")


def print_kits(federation: Federation, folder: Path, console: Console) -> None:
    """Print a new federation and the kit of each site."""
    title = f"Federation {federation.name}: server {federation.server}, port {federation.port}"
    print_words(title, ("site", "kit"), [(site, kit_path(folder, site)) for site in federation.sites], console)


def print_federation(status: FederationStatus, console: Console) -> None:
    """Print whether the server runs, and which sites are connected."""
    federation = status.federation
    state = "running" if status.running else "not running"
    title = f"Federation {federation.name}, server at {federation.server}, port {federation.port}: {state}"
    print_words(title, ("site", "state"), [(site, _state(status, site)) for site in federation.sites], console)


def _state(status: FederationStatus, site: str) -> str:
    if status.connected is None:
        return "unknown"
    return "connected" if site in status.connected else "not connected"
