"""The demonstration's run: set every site up, start all of them, ask in each mode, stop everything whatever happens."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from confide.cli import output
from confide.cli.demo_sites import Source, write_rows
from confide.cli.federation_common import undisturbed
from confide.errors import FederationError

if TYPE_CHECKING:
    from confide.federation.coordinator.validation import Validation
    from confide.federation.flare.provision import Federation
    from confide.federation.flare.session import FederationSession
    from confide.federation.question import Question
    from confide.federation.site.site_folder import SiteFolder

_CONNECT_SECONDS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The coordinator's federation, the hospitals' folders, and what is asked of them in each mode."""

    network: Federation
    places: tuple[SiteFolder, ...]
    questions: Mapping[str, Question]
    model: str
    shown: Path


def set_up(
    place: Path, source: Source, parts: Mapping[str, list[dict[str, Any]]], questions: Mapping[str, Question]
) -> Setting:
    """Make the federation, hand out its kits, and set up each site with its own rows."""
    from confide.cli.site import asked_model
    from confide.cli.site_setup import set_up_site
    from confide.federation.flare.provision import provision

    names, model = tuple(parts), source.model
    place.mkdir(exist_ok=True)
    listed = " ".join(f"--site {name}" for name in names)
    _say("1. The coordinator makes a federation", f"confide federation init {place}/coordinator --name demo {listed}")
    with output.busy("making keys and certificates"):
        network = provision(place / "coordinator", name="demo", sites=names)
    how = f"--score {source.score}" if source.score is not None else f"--model-file {source.model_file} --features ..."
    _say(
        f"2. Each of {len(names)} hospitals sets up its site, with rows that nobody else sees",
        f"confide site init {names[0]}.zip {place}/{names[0]} --model-name {model} --data {names[0]}.csv "
        f"--label {source.label} {how}",
    )
    caps = _caps(questions)
    (place / "rows").mkdir(mode=0o700)
    places = []
    with output.busy("setting up the sites"):
        for name, rows in parts.items():
            file = place / "rows" / f"{name}.csv"
            write_rows(file, source.columns, rows)
            asked = asked_model(
                data=file,
                label=source.label,
                positive=source.positive,
                score=source.score,
                model_file=source.model_file,
                features=",".join(source.features) or None,
            )
            places.append(set_up_site(network.site_kit(name), place / name, model, asked, **caps))
    return Setting(network=network, places=tuple(places), questions=questions, model=model, shown=place)


def _caps(questions: Mapping[str, Question]) -> dict[str, str]:
    """Budgets of the demonstration's sites: those of every new site, or more where more is asked."""
    from confide.federation.policy import Policy

    asked = max((question.exact_epsilon for question in questions.values() if question.epsilon), default=Fraction(0))
    usual = Policy()
    return {
        "budget": str(max(asked, usual.epsilon_in_all)),
        "epsilon_per_study": str(max(asked, usual.epsilon_per_study)),
    }


def validated(setting: Setting, reports: Mapping[str, Path], timeout: float, *, as_json: bool) -> dict[str, Validation]:
    """Start everything, ask in each mode, and stop everything whatever happens."""
    from confide.cli.site_progress import write_report
    from confide.federation.flare.session import open_session

    found: dict[str, Validation] = {}
    _say(
        "3. The server and the sites start, and connect",
        f"confide federation start {setting.shown}/coordinator --background",
        f"confide site start {setting.shown}/{setting.network.sites[0]} --background",
    )
    with _running(setting), open_session(setting.network, timeout=_CONNECT_SECONDS) as session:
        _wait_for_sites(session, setting)
        for number, (mode, question) in enumerate(setting.questions.items(), start=4):
            _say(f"{number}. The coordinator validates in mode {mode}", _typed(setting, question, reports[mode]))
            _forget(setting, question, tuple(found))
            began = time.monotonic()
            found[mode] = _asked(session, question, timeout, as_json=as_json)
            write_report(found[mode], reports[mode])
            typer.echo(f"report after {time.monotonic() - began:.1f} seconds", err=True)
    return found


def _typed(setting: Setting, question: Question, report: Path) -> str:
    """What a coordinator would type."""
    price = "" if question.epsilon is None else f" --epsilon {question.epsilon} --site-share {question.site_share}"
    return (
        f"confide validate --federation {setting.shown}/coordinator --model-name {setting.model} --study demo "
        f"--mode {question.mode}{price} --report {report}"
    )


def _forget(setting: Setting, question: Question, earlier: tuple[str, ...]) -> None:
    """Let sites answer a second question without noise: the demonstration is the administrator of all of them."""
    from confide.cli.site_setup import forget_model
    from confide.federation.modes.registry import MODES, mode_of

    if mode_of(question).private or all(MODES[mode].private for mode in earlier):
        return
    typer.echo(
        "Sites answer one question without noise for each model, as two could be subtracted. For this\n"
        f"demonstration each forgets the first: confide site forget SITE {setting.model} --yes",
        err=True,
    )
    for place in setting.places:
        forget_model(place, setting.model)


def _asked(session: FederationSession, question: Question, timeout: float, *, as_json: bool) -> Validation:
    from confide.cli.site_progress import ask, show_failure
    from confide.federation.coordinator.validation import derive
    from confide.federation.outcome import RunError

    typer.echo("", err=True)
    try:
        outcome = ask(session, question, timeout=timeout)
    except RunError as error:
        raise typer.Exit(show_failure(error, question, as_json=as_json)) from None
    return derive(outcome)


@contextmanager
def _running(setting: Setting) -> Iterator[None]:
    """Start the server and all sites; stop every one that was started, also where another could not be."""
    from confide.federation.flare.processes import start_server, start_site

    try:
        start_server(setting.network)
        for place in setting.places:
            start_site(place)
        yield
    finally:
        with undisturbed(), output.busy("stopping"):
            _stop(setting)


def _stop(setting: Setting) -> None:
    from confide.federation.flare.processes import find_running

    found = [find_running(setting.network), *(find_running(place) for place in setting.places)]
    running = [one for one in found if one is not None]
    with ThreadPoolExecutor(len(running) or 1) as pool:
        for stopped in [pool.submit(one.stop) for one in running]:
            stopped.result()


def _wait_for_sites(session: FederationSession, setting: Setting) -> None:
    from confide.cli.site_progress import watching

    typer.echo("", err=True)
    deadline = time.monotonic() + _CONNECT_SECONDS
    with watching(setting.network.sites) as watch:
        for site in setting.network.sites:
            watch.tell(site, "starting")
        while True:
            connected = set(session.connected_sites())
            for site in connected:
                watch.tell(site, "connected")
            if connected >= set(setting.network.sites):
                return
            if time.monotonic() > deadline:
                late = ", ".join(sorted(set(setting.network.sites) - connected))
                raise FederationError(
                    f"{late} did not connect within {_CONNECT_SECONDS:g} seconds; see the logs in run/"
                )
            time.sleep(0.2)


def _say(headline: str, *commands: str) -> None:
    typer.echo(f"\n{headline}. The same as:", err=True)
    for command in commands:
        typer.echo(f"  {command}", err=True)
