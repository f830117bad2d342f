"""Write results: data to standard output, messages to standard error, files whole or not at all."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.errors import UsageError
from confide.files import replace_file

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 110


def console() -> Console:
    """Return a console on standard output. Without a terminal it is wide enough for all tables."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show on standard error what takes a while, if it is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def steps(total: int) -> Iterator[Callable[[str], None]]:
    """Show a progress bar on standard error, if it is a terminal. Call the result with the name of each step."""
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        begun = iter(range(total))
        yield lambda name: bar.update(task, completed=next(begun), description=name)


def print_json(document: dict[str, Any]) -> None:
    """Print a document as JSON."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def check_report(path: Path, source: str) -> None:
    """Refuse a report that would overwrite the data, that cannot be written or that is not named as HTML."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{path} must end in .html, as a report is an HTML page")
    if source != "-" and path.exists() and Path(source).exists() and path.samefile(source):
        raise UsageError(f"{path} is the file to be evaluated; choose another name for the report")
    check_writable(path)


def check_json_out(out: Path | None, file: str, ledger: str | None) -> None:
    """Refuse a JSON file that would overwrite the data or the ledger, or that cannot be written."""
    if out is None:
        return
    if out.suffix.lower() != ".json":
        raise UsageError(f"{out} must end in .json, as what is released is written as JSON")
    if file != "-" and out.exists() and Path(file).exists() and out.samefile(file):
        raise UsageError(f"{out} is the private file; choose another name")
    check_writable(out)
    check_not_ledger(out, ledger)


def check_published_page(report: Path | None, file: str, ledger: str | None) -> None:
    """Refuse a page that would overwrite the data or the ledger, or that cannot be written."""
    if report is not None:
        check_report(report, file)
        check_not_ledger(report, ledger)


def check_not_ledger(path: Path, ledger: str | None) -> None:
    """Refuse to write over the ledger or its key."""
    from confide.ledger.place import FilePlace, find_place

    place = find_place(ledger)
    if isinstance(place, FilePlace):
        book = place.path.resolve()
        if path.resolve() in (book, book.with_name(f"{book.name}.key")):
            raise UsageError(f"{path} is the ledger or its key; choose another name")


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written, before any work is done."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give the name of a file to write")
    if not path.parent.is_dir():
        raise UsageError(f"the folder of {path} does not exist; create it first")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"the folder of {path} cannot be written to; choose another")


def shown_name(file: str) -> str:
    """Return the name of a file for a title."""
    return "standard input" if file == "-" else Path(file).name


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step: a reader sees the old content or the new, never a part."""
    replace_file(path, text)
