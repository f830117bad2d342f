"""Five real sites on this machine: a server and a process of NVIDIA FLARE for each, from certificates to reports."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmarks.federated_work import MODES
from benchmarks.timing import seconds, table, timed

if TYPE_CHECKING:
    from confide.federation.flare.federation import Federation
    from confide.federation.flare.session import FederationSession
    from confide.federation.site.config import SiteFolder

SITES = tuple(f"hospital-{letter}" for letter in "abcde")
ROWS = 20_000
TARGET = 60.0

TEN = tuple(f"hospital-{letter}" for letter in "abcdefghij")
TEN_ROWS = 2_000
TEN_TARGET = 30.0

_MODEL = "risk"
_CONNECT_SECONDS = 120.0


def print_engine(*, quick: bool) -> int:
    """Print what each phase takes; return how many reports came too late."""
    print(f"\n{len(SITES)} sites with {ROWS:,} rows each as processes of NVIDIA FLARE on loopback", end="")
    if quick:
        print(": left out of a quick run, as they take half a minute to start")
        return 0
    print(": 'sites' is from the first request to the last answer")
    with TemporaryDirectory(prefix="confide-") as folder:
        (network, places), making = timed(lambda: _set_up(Path(folder)))
        with _running(network, places) as (session, starting):
            runs = {mode: _run(session, places, mode) for mode in MODES}
            stopping = -time.perf_counter()
        stopping += time.perf_counter()
    phases = f"certificates and folders {seconds(making)}, start until all are connected {seconds(starting)}"
    print(f"once: {phases}, stop {seconds(stopping)}; then for each report:")
    lines = [
        (mode, *map(seconds, taken), f"{TARGET:g} s", "MISS" if taken[-1] > TARGET else "")
        for mode, taken in runs.items()
    ]
    head = ("mode", "engine", "sites", "results", "page", "submission to report", "target", "")
    table(head, lines)
    return sum(taken[-1] > TARGET for taken in runs.values())


def print_ten(*, quick: bool) -> int:
    """Print what a private report over ten real sites takes; return how many came too late."""
    print(f"\n{len(TEN)} sites as processes, mode private, {TEN_ROWS:,} rows each", end="")
    if quick:
        print(": left out of a quick run")
        return 0
    with TemporaryDirectory(prefix="confide-") as folder:
        network, places = _set_up(Path(folder), TEN, TEN_ROWS)
        with _running(network, places) as (session, starting):
            print(f"; start until all are connected {seconds(starting)}, load average {os.getloadavg()[0]:.1f}")
            runs = {
                name: _run(session, places, "private", TEN, epsilon="1/4", edition=edition, fewest=fewest)
                for edition, (name, fewest) in enumerate((("needs all", 10), ("survives dropouts", 8)), start=1)
            }
    lines = [
        (name, *map(seconds, taken), f"{TEN_TARGET:g} s", "MISS" if taken[-1] > TEN_TARGET else "")
        for name, taken in runs.items()
    ]
    table(("", "engine", "sites", "results", "page", "submission to report", "target", ""), lines)
    return sum(taken[-1] > TEN_TARGET for taken in runs.values())


def _set_up(folder: Path, sites: tuple[str, ...] = SITES, rows: int = ROWS) -> tuple[Federation, list[SiteFolder]]:
    import numpy as np
    import polars as pl

    from confide.federation.flare.signing import provision
    from confide.tasks.federation import sign_site
    from confide.tasks.site import init_site, request_site

    network = provision(folder / "coordinator", name="benchmark", sites=sites)
    places = []
    for seed, name in enumerate(sites):
        rng = np.random.default_rng(seed)
        risk = 1.0 / (1.0 + np.exp(-rng.normal(-0.7, 1.2, rows)))
        file = folder / f"{name}.csv"
        pl.DataFrame({"died": (rng.random(rows) < risk).astype(np.int64), "risk": risk}).write_csv(file)
        request = request_site(folder / name, name=name)
        kit = sign_site(network.folder, request.file, compared=True).kit
        made = init_site(kit, folder / name, model_name=_MODEL, data=file, label="died", score="risk", modes=MODES)
        places.append(made.folder)
    return network, places


@contextmanager
def _running(network: Federation, places: list[SiteFolder]) -> Iterator[tuple[FederationSession, float]]:
    """All processes, and how long it took until they were connected; they are stopped whatever happens."""
    from confide.federation.flare.processes import start_server, start_site
    from confide.federation.flare.session import open_session

    began, started = time.perf_counter(), []
    try:
        started.append(start_server(network))
        started.extend(start_site(place) for place in places)
        with open_session(network, timeout=_CONNECT_SECONDS) as session:
            assert session.wait_for(network.sites, _CONNECT_SECONDS) == network.sites
            yield session, time.perf_counter() - began
    finally:
        with ThreadPoolExecutor(len(started) or 1) as pool:
            list(pool.map(lambda running: running.stop(), started))


def _run(
    session: FederationSession, places: list[SiteFolder], mode: str, sites: tuple[str, ...] = SITES, **given: Any
) -> tuple[float, ...]:
    """Ask in one mode; seconds of the engine's own, of the sites, until results, until the report, and in all."""
    from confide.federation.coordinator.validation import derive
    from confide.federation.question import Question
    from confide.federation.site.register import Register
    from confide.report.validation.pages import validation_page

    for place in places:  # without noise a site answers one question about its rows
        Register(place.path).forget(_MODEL)
    terms: dict[str, Any] = {**({"epsilon": 1} if mode == "private" else {}), **given}
    question = Question.checked(study="benchmark", model=_MODEL, mode=mode, sites=sites, **terms)
    outcome, asked = timed(lambda: session.run(question, timeout=120.0))
    validation, derived = timed(lambda: derive(outcome))
    page, drawn = timed(lambda: validation_page(validation))
    assert "</html>" in page
    return asked - outcome.seconds, outcome.seconds, derived, drawn, asked + derived + drawn
