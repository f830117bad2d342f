"""Run the server's process of one run, guarded, as a module; it takes the arguments of FLARE's `runner_process`."""

from __future__ import annotations

from confide.federation.flare.entry import serve_run, server_gate


def main() -> None:
    """Run until the engine ends."""
    from nvflare.private.fed.app.server import runner_process as engine

    serve_run(engine, server_gate)


if __name__ == "__main__":
    main()
