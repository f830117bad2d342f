"""Run a site's engine, guarded and confined, as a module; it takes the arguments of FLARE's `client_train`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from confide.federation.flare.confinement import confine_site
from confide.federation.flare.entry import serve_engine, site_gate


def main() -> None:
    """Run until the engine ends."""
    if not confine_site(_folder()):
        sys.stderr.write("this kernel has no Landlock: the engine is not held to the site's folder and data\n")
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
