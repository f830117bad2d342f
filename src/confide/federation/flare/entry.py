"""Run one of FLARE's processes behind a gate."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from confide.errors import ConfideError, FederationError
from confide.federation.flare.federation import Federation
from confide.federation.flare.flows import Gate, Member, Party, is_run
from confide.federation.flare.guard import install
from confide.federation.flare.watchdog import watch_parent


def site_gate(kit: Path, run: str = "") -> Gate:
    """Make the gate of a site's engine, or of one of its runs, from the site's kit."""
    from nvflare.fuel.f3.cellnet.identity import get_cert_common_name_from_file

    try:
        settings = json.loads((kit / "startup" / "fed_client.json").read_text(encoding="utf-8"))
        server = str(settings["servers"][0]["identity"])
        name = str(get_cert_common_name_from_file(str(kit / "startup" / "client.crt")))
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        raise FederationError(f"the kit in {kit} cannot be read; put it back from a backup") from None
    return Gate(me=_member(Party.SITE_RUN if run else Party.SITE, name, run), server=server)


def server_gate(kit: Path, run: str = "") -> Gate:
    """Make the gate of the server's engine, or of one of its runs, from the federation's folder."""
    federation = Federation.load(kit.parent)
    party = Party.SERVER_RUN if run else Party.SERVER
    return Gate(me=_member(party, "", run), server=federation.server, coordinator=federation.coordinator)


def _member(party: Party, site: str, run: str) -> Member:
    if run and not is_run(run):
        raise FederationError("a run is named by a UUID; nothing is started")
    return Member(party, site=site, run=run)


def serve_engine(engine: Any, gate: Callable[[Path], Gate]) -> NoReturn:
    """Run one of FLARE's engines behind a gate; `engine` is its module."""
    arguments = engine.parse_arguments()
    kit = Path(arguments.workspace)
    _serve(engine.main, arguments, lambda: gate(kit), kit)


def serve_run(engine: Any, gate: Callable[[Path, str], Gate]) -> NoReturn:
    """Run one of FLARE's processes of a run behind a gate; `engine` is its module."""
    arguments = engine.parse_arguments()
    kit, run = Path(arguments.workspace), arguments.job_id
    _serve(engine.main, arguments, lambda: gate(kit, run), kit / run)


def _serve(main: Callable[[Any], Any], arguments: Any, gate: Callable[[], Gate], folder: Path) -> NoReturn:
    """Install a gate, run a process of FLARE's to its end, and leave at once; without a gate nothing runs."""
    from nvflare.fuel.f3.mpm import MainProcessMonitor
    from nvflare.private.fed.app.utils import version_check

    watch_parent()
    try:
        version_check()
        install(gate())
    except ConfideError as error:
        sys.stderr.write(f"{error}\n")
        _leave(1)
    code = MainProcessMonitor.run(main_func=main, run_dir=str(folder), args=arguments)
    _leave(code if isinstance(code, int) else 0)


def _leave(code: int) -> NoReturn:
    """End the process without waiting for threads that FLARE left behind."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)
