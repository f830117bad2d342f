"""A whole federation on this machine: hospitals, a server, real connections, one validation of each mode.

Its steps are `plan_demo`, `make_demo_federation`, `make_demo_sites`, `running_demo`, `wait_for_sites` and, for each
mode, `ask_demo`.
"""

from __future__ import annotations

import csv
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from confide.errors import ColumnError, DataError, FederationError, ParameterError, PortError, UsageError, did_you_mean
from confide.ports import free_port
from confide.tasks.federation import init_federation, renew_federation, require_engine, require_new_folder, sign_site
from confide.tasks.requests.federation import FEWEST_DEMO_SITES, MOST_DEMO_SITES, DemoRequest
from confide.tasks.requests.options import verb_of
from confide.tasks.site import forget_model, init_site, renew_site, request_site, site_model
from confide.tasks.validate import ReadyValidation, ask_sites

if TYPE_CHECKING:
    from confide.federation.coordinator.run_state import Progress
    from confide.federation.coordinator.validation import Validation
    from confide.federation.flare.federation import Federation
    from confide.federation.flare.session import FederationSession
    from confide.federation.question import Question
    from confide.federation.site.config import SiteFolder


MOST_NAMED_SITES = 10
"""The most sites that a column may name; each takes processes of its own."""

Rows: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoData:
    """A file and its columns.

    `site_column` names each row's site; without it, rows go to the sites in turn. `model_name` is the name by which
    sites know the model that made the scores.
    """

    file: Path
    label: str
    score: str | None = None
    positive: str | None = None
    model_file: Path | None = None
    features: tuple[str, ...] = ()
    site_column: str | None = None
    model_name: str = "model"

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a site needs."""
        scored = self.features if self.score is None else (self.score,)
        return tuple(dict.fromkeys((self.label, *scored)))


def split_rows(data: DemoData, sites: int) -> dict[str, Rows]:
    """Read the file and give each row to a site."""
    from confide.sources.engine_tables import fetch_rows
    from confide.sources.tables import as_table, discreet

    with discreet(data.file):
        table = as_table(data.file)
        needed = (*data.columns, *(() if data.site_column is None else (data.site_column,)))
        ColumnError.require(needed, list(table.columns))
        rows = fetch_rows(table.select(*dict.fromkeys(needed)))
    if not rows:
        raise DataError(f"{data.file} has no rows; check the file")
    if data.site_column is None:
        return {f"hospital-{'abcde'[number]}": rows[number::sites] for number in range(sites)}
    return _by_column(rows, data.site_column)


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows to a file that only its owner may read; numbers keep their exact values."""
    path.touch(mode=0o600)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def _by_column(rows: Rows, column: str) -> dict[str, Rows]:
    values = sorted({row[column] for row in rows if row[column] is not None}, key=str)
    if any(row[column] is None for row in rows):
        raise UsageError(f"column {column!r} is empty in some rows; every row needs a site")
    if not FEWEST_DEMO_SITES <= len(values) <= MOST_NAMED_SITES:
        raise UsageError(
            f"column {column!r} must name {FEWEST_DEMO_SITES} to {MOST_NAMED_SITES} sites; choose another column"
        )
    names = {value: _site_name(value) for value in values}
    if len({name.lower() for name in names.values()}) < len(names):
        raise UsageError(
            f"column {column!r} has names of sites that differ in case or punctuation alone; give clearer ones"
        )
    parts: dict[str, Rows] = {name: [] for name in names.values()}
    for row in rows:
        parts[names[row[column]]].append(row)
    return parts


def _site_name(value: object) -> str:
    """Return a name that certificates may hold: letters, digits, - and _."""
    plain = re.sub("[^A-Za-z0-9_-]+", "-", str(value)).strip("-_")[:40]
    return plain if plain[:1].isalpha() else f"site-{plain}"


MODES = ("disclosure-control", "secure-sum", "private")
STUDY = "demo"

_CONNECT_SECONDS = 90.0
_OTHER_PORTS = 2
"""Ports that are tried after the first one, if other programs take them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """A demonstration whose parameters were checked: its folder, each site's rows, and a question for each mode."""

    folder: Path
    data: DemoData
    parts: Mapping[str, Rows] = field(repr=False)
    questions: Mapping[str, Question]
    timeout: float

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of the hospitals."""
        return tuple(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoFederation:
    """Federation of the demonstration on disk: the coordinator's folder, and a folder for each site."""

    demo: Demo
    federation: Federation
    places: tuple[SiteFolder, ...]


@verb_of(DemoRequest)
def plan_demo(request: DemoRequest) -> Demo:
    """Check everything and read the rows; the folder, a temporary one unless given, is all that is made.

    Without `data`, the rows are the 500 patients after a heart attack that come with confide. They are too few at a
    site to be seen through noise, so the default of `site_share` is then 0: all of epsilon goes to the sum.
    """
    require_engine()
    from confide.federation.coordinator.rounds import checked_timeout

    epsilon, share = request.epsilon, request.site_share
    chosen = _checked_modes(request.modes, priced=epsilon is not None or share is not None)
    source = _demo_data(request)
    checked_timeout(request.timeout)
    if request.folder is not None:
        require_new_folder(Path(request.folder))
    parts = split_rows(source, request.sites or MOST_DEMO_SITES)
    share = share or (None if request.data is not None else "0")
    questions = {mode: _question(mode, source.model_name, tuple(parts), epsilon or "1", share) for mode in chosen}
    return Demo(
        folder=Path(tempfile.mkdtemp(prefix="confide-federation-") if request.folder is None else request.folder),
        data=source,
        parts=parts,
        questions=questions,
        timeout=request.timeout,
    )


def make_demo_federation(demo: Demo) -> Federation:
    """Make the coordinator's folder."""
    demo.folder.mkdir(exist_ok=True)
    return init_federation(demo.folder / "coordinator", name="demo", sites=demo.sites)


def make_demo_sites(demo: Demo, federation: Federation) -> DemoFederation:
    """Set up each hospital's site with keys and rows of its own; the coordinator signs its request."""
    data, limits = demo.data, _limits(demo.questions)
    (demo.folder / "rows").mkdir(mode=0o700)
    places = []
    for name, rows in demo.parts.items():
        file = demo.folder / "rows" / f"{name}.csv"
        write_rows(file, data.columns, rows)
        request = request_site(demo.folder / name, name=name)
        made = init_site(
            sign_site(federation.folder, request.file, compared=True).kit,
            demo.folder / name,
            model_name=data.model_name,
            data=file,
            label=data.label,
            positive=data.positive,
            score=data.score,
            model_file=data.model_file,
            features=data.features,
            modes=tuple(demo.questions),
            epsilon_in_all=limits["epsilon_in_all"],
            epsilon_per_study=limits["epsilon_per_study"],
        )
        places.append(made.folder)
    return DemoFederation(demo=demo, federation=federation, places=tuple(places))


@contextmanager
def running_demo(made: DemoFederation) -> Iterator[FederationSession]:
    """Start the server and all sites, and stop all of them in the end."""
    from confide.federation.flare.session import open_session

    with _processes(made) as federation, open_session(federation, timeout=_CONNECT_SECONDS) as session:
        yield session


def wait_for_sites(session: FederationSession, sites: Sequence[str], *, connected: Callable[[str], None]) -> None:
    """Wait until all sites are connected; `connected` is called with the name of each site that connects."""
    deadline = time.monotonic() + _CONNECT_SECONDS
    known: set[str] = set()
    while True:
        now = set(session.connected_sites())
        for site in sorted(now - known):
            connected(site)
        known |= now
        if now >= set(sites):
            return
        if time.monotonic() > deadline:
            late = ", ".join(sorted(set(sites) - now))
            raise FederationError(f"{late} did not connect within {_CONNECT_SECONDS:g} seconds; see the logs in run/")
        time.sleep(0.2)


def ask_demo(
    session: FederationSession, made: DemoFederation, mode: str, *, progress: Progress | None = None
) -> Validation:
    """Validate in one of the demonstration's modes."""
    ready = ReadyValidation(
        federation=session.federation,
        question=made.demo.questions[mode],
        timeout=made.demo.timeout,
        level=0.95,
        null_auc=None,
        rows=None,
    )
    return ask_sites(session, ready, progress=progress)


def must_forget(demo: Demo, mode: str) -> bool:
    """Return whether a mode asks for a second answer without noise. Sites refuse it until they forget the first."""
    from confide.federation.modes.registry import mode_named

    order = list(demo.questions)
    exact = [one for one in order[: order.index(mode) + 1] if not mode_named(one).private]
    return mode in exact and len(exact) > 1


def forget_answers(made: DemoFederation) -> None:
    """Let every site forget its answer without noise, as the demonstration administers all of them."""
    for place in made.places:
        forget_model(place.path, made.demo.data.model_name, yes=True)


def performance_of_all_rows(made: DemoFederation) -> dict[str, float | None]:
    """Return AUC and Brier score of all sites' rows together, which only the demonstration can see."""
    from confide.counts import ScoreCounts
    from confide.federation.site.config import SiteConfig
    from confide.metrics.calibration import brier_score
    from confide.metrics.ranking import auc_score

    model = made.demo.data.model_name
    counts = ScoreCounts.total([SiteConfig.load(place.path).counts(model) for place in made.places])
    return {"auc": auc_score(counts), "brier": brier_score(counts) if counts.probabilities else None}


def _checked_modes(modes: Sequence[str] | None, *, priced: bool) -> tuple[str, ...]:
    from confide.federation.modes.registry import mode_named

    chosen = tuple(dict.fromkeys(modes or MODES))
    for mode in chosen:
        if mode not in MODES:
            raise ParameterError(f"no mode {mode!r}. {did_you_mean(mode, MODES)}The modes are {', '.join(MODES)}")
    if priced and not any(mode_named(mode).private for mode in chosen):
        raise UsageError("`epsilon` and `site_share` are for the mode private; leave them out, or add `modes=private`")
    return chosen


def _demo_data(request: DemoRequest) -> DemoData:
    """Check the description of the rows; without `data`, use the bundled example."""
    from confide.examples import HEART_ATTACK

    if request.data is None:
        return DemoData(file=HEART_ATTACK, label="died", score="logistic", model_name="heart-attack")
    label, model_file = str(request.label), request.model_file
    scored: dict[str, Any] = {"positive": request.positive, "score": request.score, "features": tuple(request.features)}
    site_model(data=request.data, label=label, model_file=model_file, **scored)
    return DemoData(
        file=Path(request.data),
        label=label,
        model_file=None if model_file is None else Path(model_file),
        site_column=request.site_column,
        **scored,
    )


def _question(mode: str, model: str, sites: tuple[str, ...], epsilon: object, site_share: object) -> Question:
    from confide.federation.modes.registry import mode_named
    from confide.federation.question import Question

    if not mode_named(mode).private:
        return Question.checked(study=STUDY, model=model, mode=mode, sites=sites)
    return Question.checked(study=STUDY, model=model, mode=mode, sites=sites, epsilon=epsilon, site_share=site_share)


def _limits(questions: Mapping[str, Question]) -> dict[str, Fraction]:
    """Return limits on epsilon for the sites: the default ones, or more if a question costs more."""
    from confide.federation.policy import Policy

    price = max((question.exact_epsilon for question in questions.values() if question.epsilon), default=Fraction(0))
    usual = Policy()
    return {
        "epsilon_in_all": max(price, usual.epsilon_in_all),
        "epsilon_per_study": max(price, usual.epsilon_per_study),
    }


@contextmanager
def _processes(made: DemoFederation) -> Iterator[Federation]:
    """Start the server and all sites. Stop every one that was started, also if another could not be."""
    from confide.federation.flare.processes import start_site

    try:
        federation = _start_server(made)
        for place in made.places:
            start_site(place, attached=True)
        yield federation
    finally:
        with _ignoring_interrupts():
            _stop(made)


def _start_server(made: DemoFederation) -> Federation:
    """Start the server; let the federation move to another port if some program took the first one meanwhile."""
    from confide.federation.flare.processes import start_server

    federation = made.federation
    for _ in range(_OTHER_PORTS):
        try:
            start_server(federation, attached=True)
        except PortError:
            federation = _move_to_free_port(made)
        else:
            return federation
    start_server(federation, attached=True)
    return federation


def _move_to_free_port(made: DemoFederation) -> Federation:
    """Give the server another port, and every site the kit that has it."""
    moved = renew_federation(made.federation.folder, port=free_port()).federation
    for site, place in zip(made.demo.sites, made.places, strict=True):
        renew_site(place.path, moved.site_kit(site))
    return moved


def _stop(made: DemoFederation) -> None:
    from confide.federation.flare.processes import find_running

    engines = [find_running(made.federation), *(find_running(place) for place in made.places)]
    running = [engine for engine in engines if engine is not None]
    with ThreadPoolExecutor(len(running) or 1) as pool:
        for stopped in [pool.submit(engine.stop) for engine in running]:
            stopped.result()


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C, so that nothing interrupts the stopping of processes."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
