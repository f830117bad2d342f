"""Next steps, notes, progress of sites, and processes that run until somebody stops them."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from confide.cli import output
from confide.cli.flags import find_command, translate
from confide.errors import FederationError
from confide.federation.site_state import ProgressState, SiteState

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from confide.federation.flare.processes import Running
    from confide.federation.protocol import RunError, SiteReport
    from confide.federation.question import Question


_ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

STOPPED = 130
"""Exit code of a command that a user stopped, as in shells."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def print_next(*steps: tuple[str, Sequence[str]]) -> None:
    """Print next steps on standard error: sentences, each with its commands."""
    typer.echo("\nNext:", err=True)
    for position, (sentence, commands) in enumerate(steps, start=1):
        number = f"{position}. " if len(steps) > 1 else ""
        typer.echo(f"  {number}{sentence}", err=True)
        for command in commands:
            typer.echo(f"       {command}", err=True)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on standard error, one a line."""
    for note in notes:
        typer.echo(note, err=True)


def with_flags(message: str) -> str:
    """Replace parameters in a message by the flags of the command that runs."""
    from typer.core import TyperCommand, TyperGroup
    from typer.main import get_command

    from confide.cli.main import app

    command = get_command(app)
    if not isinstance(command, TyperCommand | TyperGroup):
        return message
    return translate(message, find_command(command, sys.argv[1:]))


def fail_run(error: RunError, question: Question, *, as_json: bool) -> NoReturn:
    """Print how each site took part in a failed run, and raise the error, whose message then names sites alone."""
    from confide.report.validation.sites import failure_document, print_failure

    if as_json:
        output.print_json(failure_document(error, question))
    else:
        print_failure(error, output.console(), words=with_flags)
    raise error.without_reports() from None


def keep_running(running: Running, name: str) -> None:
    """Wait until a process ends or a user stops it; Ctrl-C, SIGHUP and SIGTERM stop it cleanly."""
    with stoppable():
        try:
            while running.alive():
                time.sleep(0.5)
        except KeyboardInterrupt:
            typer.echo(f"\nstopping {name}", err=True)
            running.stop()
            return
    raise FederationError(f"{name} ended by itself; its log says why: {running.log}")


def print_stopped(name: str, *, was_running: bool, start_again: str) -> None:
    """Print whether something was stopped, and how to start it again."""
    if not was_running:
        typer.echo(f"{name} is not running", err=True)
        return
    typer.echo(f"stopped {name}", err=True)
    print_next(("To start it again:", (start_again,)))


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP act as Ctrl-C does, so that everything that was started is stopped."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, _interrupt) for number in _ENDINGS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


_BAD = frozenset({ProgressState.NOT_CONNECTED, ProgressState.REFUSED, ProgressState.FAILED, ProgressState.SILENT})


@dataclass(slots=True)
class SiteProgress:
    """State of each site: drawn in place on a terminal, else printed as a line for each change."""

    sites: tuple[str, ...]
    live: Live | None = None
    second_round: bool = False
    absent: set[str] = field(default_factory=set)
    words: dict[str, str] = field(default_factory=dict)
    colours: dict[str, str] = field(default_factory=dict)

    def __call__(self, site: str, state: ProgressState) -> None:
        """Show a state that a run reports; a site that is not connected stays so."""
        if site in self.absent:
            return
        if state is ProgressState.NOT_CONNECTED:
            self.absent.add(site)
        if state is ProgressState.ASKED_FOR_ANSWER:
            self.second_round = True
        if state is ProgressState.ACCEPTED:
            words, colour = ("answered", "green") if self.second_round else ("takes part", "cyan")
            self.show(site, words, colour)
        else:
            self.show(site, state.value, "red" if state in _BAD else "dim")

    def settle(self, reports: Sequence[SiteReport]) -> None:
        """Show the final state of each site, with the message of one that did not take part."""
        for report in reports:
            message = f": {with_flags(report.message)}" if report.message else ""
            self.show(report.name, f"{report.state}{message}", _final_colour(report.state))

    def fail(self, error: RunError) -> None:
        """Show the final state of each site of a failed run; its messages stand in a table that follows."""
        from confide.report.validation.sites import state_words

        for report in error.reports:
            if report.name not in self.absent:
                self.show(report.name, state_words(report, error), _final_colour(report.state))

    def show(self, site: str, words: str, colour: str = "dim") -> None:
        """Show words about a site, if they are new."""
        if self.words.get(site) == words:
            return
        self.words[site], self.colours[site] = words, colour
        if self.live is not None:
            self.live.update(self.draw(), refresh=True)
        else:
            typer.echo(f"  {site}: {words}", err=True)

    def draw(self) -> Text:
        """Return a line for each site."""
        from rich.text import Text

        width = max(len(site) for site in self.sites)
        text = Text()
        for site in self.sites:
            text.append(f"  {site:<{width}}  ")
            text.append(f"{self.words.get(site, ProgressState.NOT_ASKED.value)}\n", style=self.colours.get(site, "dim"))
        return text


def _final_colour(state: SiteState) -> str:
    return "green" if state is SiteState.ANSWERED else "red"


@contextmanager
def showing_progress(sites: tuple[str, ...]) -> Iterator[SiteProgress]:
    """Show on standard error how each site takes part, up to how a failed run ended."""
    from confide.federation.protocol import RunError

    progress = SiteProgress(sites)
    if not sys.stderr.isatty():
        with _showing_failure(progress, RunError):
            yield progress
        return
    from rich.console import Console
    from rich.live import Live

    with Live(progress.draw(), console=Console(stderr=True), auto_refresh=False) as live:
        progress.live = live
        with _showing_failure(progress, RunError):
            yield progress


@contextmanager
def _showing_failure(progress: SiteProgress, failure: type[RunError]) -> Iterator[None]:
    try:
        yield
    except failure as error:
        progress.fail(error)
        raise
