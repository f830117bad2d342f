"""Write results: data to standard output, messages to standard error, files whole or not at all."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.atomic_files import replace_file
from confide.tasks import output_files

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

_PIPE_WIDTH = 110


def console() -> Console:
    """Return a console on standard output. Without a terminal it is wide enough for all tables."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)


@contextmanager
def busy(what: str, *, takes_long: bool = False) -> Iterator[None]:
    """Show on standard error what takes a while: with the time on a terminal, else as a line if it takes long."""
    if not sys.stderr.isatty():
        if takes_long:
            sys.stderr.write(f"{what}\n")
        yield
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    with _progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as bar:
        bar.add_task(what, total=None)
        yield


@contextmanager
def steps(total: int, what: str) -> Iterator[Callable[[str], None]]:
    """Show on standard error what takes long: with a progress bar on a terminal, else as a line when the first begins.

    Call the result with the name of each step as it begins.
    """
    if not sys.stderr.isatty():
        lines = iter((f"{what}\n",))
        yield lambda name: sys.stderr.writelines(islice(lines, 1))
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with _progress(*columns) as bar:
        task = bar.add_task(what, total=total)
        begun = iter(range(total))
        yield lambda name: bar.update(task, completed=next(begun), description=name)


@contextmanager
def counted_steps(what: str) -> Iterator[Callable[[int, int, str], None] | None]:
    """Show on a terminal what takes a while: the time at first, and a progress bar once the number of steps is known.

    Call the result, if there is one, with the steps that are done, the steps in all, and what begins.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

    with _progress(BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}")) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total, name: bar.update(task, completed=done, total=total, description=name)


@contextmanager
def bytes_sent(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar of bytes on standard error if it is a terminal.

    Call the result, if there is one, with the bytes sent and the bytes in all.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

    with _progress(TextColumn(what), BarColumn(), DownloadColumn(), TransferSpeedColumn()) as bar:
        task = bar.add_task(what, total=None)
        yield lambda sent, total: bar.update(task, completed=sent, total=total)


def _progress(*columns: ProgressColumn) -> Progress:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=True)


def print_json(document: dict[str, Any]) -> None:
    """Print a document as JSON."""
    sys.stdout.write(as_json(document))


def as_json(document: dict[str, Any]) -> str:
    """Write a document as JSON."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def check_json_out(out: Path | None, file: str, ledger: str | None, model: Path | None = None) -> None:
    """Refuse a JSON file that would overwrite the data, a model or the ledger, or that cannot be written."""
    if out is not None:
        output_files.check_json_out(out, file, output_files.ledger_files(ledger))
        output_files.check_not_model(out, model)


def check_published_page(report: Path | None, file: str, ledger: str | None) -> None:
    """Refuse a page that would overwrite the data or the ledger, or that cannot be written."""
    if report is not None:
        output_files.check_report(report, file)
        output_files.check_not_ledger(report, output_files.ledger_files(ledger))


def shown_name(file: str) -> str:
    """Return the name of a file for a title."""
    return "standard input" if file == "-" else Path(file).name


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step: a reader sees the old content or the new, never a part."""
    replace_file(path, text)
