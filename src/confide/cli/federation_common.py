"""What the commands of a federation share: its engine, its folder, and what to do next."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.errors import FederationError, UsageError

if TYPE_CHECKING:
    from confide.federation.flare.processes import Running
    from confide.federation.flare.provision import Federation
    from confide.federation.site.site_folder import SiteFolder

_NEEDED = ("nvflare", "cryptography")
_ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

STOPPED = 130
"""The exit code of a command that somebody stopped, as shells have it."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def require_engine() -> None:
    """Refuse to begin where the federation's packages are not installed."""
    if any(find_spec(package) is None for package in _NEEDED):
        raise UsageError("validation across sites needs NVIDIA FLARE: pip install 'confide[federation]'")


def open_federation(folder: Path) -> Federation:
    """Read a coordinator's folder."""
    require_engine()
    from confide.federation.flare.provision import Federation

    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; make a federation with `confide federation init`")
    return Federation.load(folder)


def require_new(folder: Path) -> None:
    """Refuse a folder that holds something already, or that could not be made."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists already; give a new or empty folder")
    if not folder.parent.is_dir():
        raise UsageError(f"the folder of {folder} does not exist; create it first")


def say_next(*steps: tuple[str, Sequence[str]]) -> None:
    """Say on standard error what to do next: sentences, each with the commands for it."""
    typer.echo("\nNext:", err=True)
    for position, (sentence, commands) in enumerate(steps, start=1):
        number = f"{position}. " if len(steps) > 1 else ""
        typer.echo(f"  {number}{sentence}", err=True)
        for command in commands:
            typer.echo(f"       {command}", err=True)


def note_root(folder: Path) -> None:
    """Warn where an engine runs with all rights of the machine."""
    from confide.federation.flare.privileges import runs_as_root

    if runs_as_root(folder):
        typer.echo(
            f"caution: the engine runs as root, since {folder} belongs to root; give the folder to a user of its own, "
            "and root starts it as that user",
            err=True,
        )


def note_wide_folders(folder: Path) -> None:
    """Warn where the data of a site lie in a folder that opens far more than them to its engine."""
    from confide.federation.flare.confinement import wide_folders

    for place in wide_folders(folder):
        typer.echo(
            f"caution: data or models lie directly in {place}, so the engine may read everything in it; move them to a "
            "folder of their own, and set the model up again with `confide site add-model --replace`",
            err=True,
        )


def print_rows(title: str, head: tuple[str, ...], body: Sequence[tuple[str, ...]]) -> None:
    """Print a small table of words to standard output, no wider than the terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console = output.console()
    console.print(Text(title, style="bold"))
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in head:
        drawn.add_column(Text(name), overflow="fold")
    for row in body:
        drawn.add_row(*(Text(cell) for cell in row))
    console.print(drawn)


def keep_running(running: Running, what: str) -> None:
    """Stay until a process ends or somebody stops it; Ctrl-C, a hang-up or a request to end stop it cleanly."""
    with stoppable():
        try:
            while running.alive():
                time.sleep(0.5)
        except KeyboardInterrupt:
            typer.echo(f"\nstopping {what}", err=True)
            running.stop()
            return
    raise FederationError(f"{what} ended by itself; its log says why: {running.log}")


def stop_running(folder: SiteFolder | Federation, what: str, again: str) -> None:
    """Stop what runs in a folder, or say that nothing does."""
    from confide.federation.flare.processes import find_running

    running = find_running(folder)
    if running is None:
        typer.echo(f"{what} is not running", err=True)
        return
    with output.busy("stopping"):
        running.stop()
    typer.echo(f"stopped {what}", err=True)
    say_next(("To start it again:", (again,)))


@contextmanager
def stoppable() -> Iterator[None]:
    """Let a request to end (SIGTERM, SIGHUP) do what Ctrl-C does, so that what was started is stopped."""
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


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let no Ctrl-C interrupt what stops things."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
