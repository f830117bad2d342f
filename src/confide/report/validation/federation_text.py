"""A federation on its coordinator's terminal: who is connected, certificates and fingerprints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from confide.federation.fingerprints import readable_fingerprint
from confide.report.validation.word_table import print_words

if TYPE_CHECKING:
    from rich.console import Console

    from confide.errors import NotComparedError
    from confide.federation.flare.federation import Federation
    from confide.federation.flare.signing import Signed
    from confide.tasks.federation import FederationStatus


_NO_REQUEST = "no request signed yet"


def print_new_federation(federation: Federation, console: Console) -> None:
    """Print a new federation, its sites, and the fingerprint of its root."""
    from confide.federation.crypto.identity import root_fingerprint

    title = f"Federation {federation.name}: server {federation.server}, port {federation.port}"
    print_words(title, ("site", "state"), [(site, _NO_REQUEST) for site in federation.sites], console)
    _print_root(root_fingerprint(federation.root), console)


def _print_root(fingerprint: str, console: Console) -> None:
    console.print("Fingerprint of the root (SHA-256), for sites to compare by telephone:", highlight=False)
    console.print(f"  {readable_fingerprint(fingerprint)}", highlight=False, soft_wrap=True)


def print_federation(status: FederationStatus, console: Console) -> None:
    """Print whether the server runs, which sites are connected, and until when certificates are valid."""
    from confide.federation.crypto.identity import root_fingerprint

    federation = status.federation
    state = "running" if status.running else "not running"
    title = f"Federation {federation.name}, server at {federation.server}, port {federation.port}: {state}"
    print_words(title, ("site", "state"), [(site, _state(status, site)) for site in federation.sites], console)
    ends = [(name, dates.in_words(), _own_key(status, name)) for name, dates in status.certificates.items()]
    print_words("Certificates", ("of", "valid until", "fingerprint of its own key"), ends, console)
    _print_root(root_fingerprint(federation.root), console)


def signed_lines(signed: Signed) -> tuple[str, ...]:
    """Return the site that was signed for, and its fingerprint."""
    how = "known from an earlier request" if signed.known else "compared by you"
    return (
        f"signed for site {signed.site}, fingerprint {how}:",
        f"  {readable_fingerprint(signed.fingerprint)}",
    )


def unsigned_lines(unsigned: NotComparedError) -> Iterator[str]:
    """Yield the fingerprint of a request that was not signed, and whether the site had another one before."""
    yield f"Not signed yet. Fingerprint of site {unsigned.site} (SHA-256):"
    yield f"  {readable_fingerprint(unsigned.fingerprint)}"
    if unsigned.known is not None:
        yield "It is not the one that was signed for before. Ask the site whether it was set up anew. Before, it was:"
        yield f"  {readable_fingerprint(unsigned.known)}"


def certificate_notes(status: FederationStatus, folder: Path) -> Iterator[str]:
    """Yield a warning if certificates end soon."""
    ending = [f"{name} ({dates.in_words()})" for name, dates in status.certificates.items() if dates.ends_soon]
    if ending:
        yield f"warning: certificates end soon: {'; '.join(ending)}. Renew them: confide federation renew {folder}"


def _own_key(status: FederationStatus, name: str) -> str:
    return readable_fingerprint(status.fingerprints[name]) if name in status.fingerprints else ""


def _state(status: FederationStatus, site: str) -> str:
    if site not in status.certificates:
        return _NO_REQUEST
    if status.connected is None:
        return "unknown"
    return "connected" if site in status.connected else "not connected"
