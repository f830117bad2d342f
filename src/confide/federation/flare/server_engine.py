"""Run the server's engine, guarded, as a module; it takes the arguments of FLARE's `server_train`."""

from __future__ import annotations

from pathlib import Path

from confide.federation.flare.entry import serve, server_gate


def main() -> None:
    """Run until the engine ends."""
    from nvflare.private.fed.app.server import server_train as engine

    arguments = engine.parse_arguments()
    serve(engine.main, arguments, lambda: server_gate(Path(arguments.workspace)), Path(arguments.workspace))


if __name__ == "__main__":
    main()
