"""Run a site's process of one run, guarded, as a module; it takes the arguments of FLARE's `worker_process`."""

from __future__ import annotations

from pathlib import Path

from confide.federation.flare.entry import serve, site_gate


def main() -> None:
    """Run until the engine ends."""
    from nvflare.private.fed.app.client import worker_process as engine

    arguments = engine.parse_arguments()
    serve(
        engine.main,
        arguments,
        lambda: site_gate(Path(arguments.workspace), arguments.job_id),
        Path(arguments.workspace) / arguments.job_id,
    )


if __name__ == "__main__":
    main()
