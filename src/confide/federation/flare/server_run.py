"""Run the server's process of one run, guarded, as a module; it takes the arguments of FLARE's `runner_process`."""

from __future__ import annotations

from pathlib import Path

from confide.federation.flare.entry import serve, server_gate


def main() -> None:
    """Run until the engine ends."""
    from nvflare.private.fed.app.server import runner_process as engine

    arguments = engine.parse_arguments()
    serve(
        engine.main,
        arguments,
        lambda: server_gate(Path(arguments.workspace), arguments.job_id),
        Path(arguments.workspace) / arguments.job_id,
    )


if __name__ == "__main__":
    main()
