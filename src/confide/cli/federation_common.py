"""Shared by the commands of a federation: next steps, notes, and processes that run until somebody stops them."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from confide.cli import output
from confide.cli.errors import find_command, translate
from confide.errors import FederationError

if TYPE_CHECKING:
    from confide.federation.flare.processes import Running
    from confide.federation.outcome import RunError
    from confide.federation.question import Question

_ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

STOPPED = 130
"""Exit code of a command that a user stopped, as in shells."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def split_names(text: str | None) -> tuple[str, ...]:
    """Split names that are separated by commas."""
    return () if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


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
    from confide.report.validation.failure import failure_document, print_failure

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
