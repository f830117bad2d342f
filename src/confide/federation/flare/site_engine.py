"""Run a site's engine, guarded, as a module; it takes the arguments of FLARE's `client_train`."""

from __future__ import annotations

from pathlib import Path

from confide.federation.flare.entry import serve, site_gate


def main() -> None:
    """Run until the engine ends."""
    from nvflare.private.fed.app.client import client_train as engine

    arguments = engine.parse_arguments()
    serve(engine.main, arguments, lambda: site_gate(Path(arguments.workspace)), Path(arguments.workspace))


if __name__ == "__main__":
    main()
