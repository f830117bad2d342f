"""Run the server's engine, guarded, as a module; it takes the arguments of FLARE's `server_train`."""

from __future__ import annotations

from confide.federation.flare.entry import serve_engine, server_gate


def main() -> None:
    """Run until the engine ends."""
    from nvflare.private.fed.app.server import server_train as engine

    serve_engine(engine, server_gate)


if __name__ == "__main__":
    main()
