"""Run a site's process of one run, guarded, as a module; it takes the arguments of FLARE's `worker_process`."""

from __future__ import annotations

from confide.federation.flare.entry import serve_run, site_gate


def main() -> None:
    """Run until the engine ends."""
    from nvflare.private.fed.app.client import worker_process as engine

    serve_run(engine, site_gate)


if __name__ == "__main__":
    main()
