"""Run a site's engine, guarded and confined, as a module; it takes the arguments of FLARE's `client_train`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from confide.errors import ConfideError
from confide.federation.flare.confinement import UNCONFINED, confine_site, require_confinement
from confide.federation.flare.entry import serve_engine, site_gate
from confide.federation.policy import Policy
from confide.federation.site.config import SiteFolder


def main() -> None:
    """Run until the engine ends."""
    folder = _folder()
    try:
        require_confinement(Policy.load(SiteFolder(folder).policy))
    except ConfideError as error:
        sys.exit(str(error))
    if not confine_site(folder):
        sys.stderr.write(f"{UNCONFINED}\n")
    from nvflare.private.fed.app.client import client_train as engine

    serve_engine(engine, site_gate)


def _folder() -> Path:
    """Read the site's folder from the command line, before FLARE is imported and starts threads."""
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--workspace", "-m", type=Path, required=True)
    kit: Path = parser.parse_known_args()[0].workspace
    return kit.absolute().parent


if __name__ == "__main__":
    main()
