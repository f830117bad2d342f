"""Files that a user asks to be written: refuse a wrong one before any work is done, for every face."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import UsageError

if TYPE_CHECKING:
    from confide.ledger.payer import LedgerPlace


def check_report(path: Path, source: str | Path | None = None) -> None:
    """Refuse a report that would overwrite the data, that cannot be written or that is not named as HTML."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{path} must end in .html, as a report is an HTML page")
    if _same_file(path, source):
        raise UsageError(f"{path} is the file to be evaluated; choose another name for the report")
    check_writable(path)


def check_json_out(path: Path, source: str | Path | None, ledger: Sequence[Path]) -> None:
    """Refuse a JSON file that would overwrite the data or a file of the ledger, or that cannot be written."""
    if path.suffix.lower() != ".json":
        raise UsageError(f"{path} must end in .json, as what is released is written as JSON")
    if _same_file(path, source):
        raise UsageError(f"{path} is the private file; choose another name")
    check_writable(path)
    check_not_ledger(path, ledger)


def check_csv(path: Path, ledger: Sequence[Path]) -> None:
    """Refuse a CSV file that would overwrite a file of the ledger, or that cannot be written."""
    if path.suffix.lower() != ".csv":
        raise UsageError(f"{path} must end in .csv, as what was published is written as CSV")
    check_writable(path)
    check_not_ledger(path, ledger)


def check_not_model(path: Path, model: str | Path | None) -> None:
    """Refuse to write over the model that is read."""
    if _same_file(path, model):
        raise UsageError(f"{path} is the file of the model; choose another name")


def check_not_ledger(path: Path, ledger: Sequence[Path]) -> None:
    """Refuse to write over the ledger or its key."""
    if path.resolve() in ledger:
        raise UsageError(f"{path} is the ledger or its key; choose another name")


def check_folder(folder: Path, names: Iterable[str], source: str | Path | None = None) -> None:
    """Refuse a folder that cannot be made or written to, or in which a file of these names is the data."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; give the name of a folder to write to")
    above = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise UsageError(f"{folder} cannot be written to; choose another folder")
    for name in names:
        if _same_file(folder / name, source):
            raise UsageError(f"{folder / name} is the file to be evaluated; choose another folder")


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give the name of a file to write")
    if not path.parent.is_dir():
        raise UsageError(f"the folder of {path} does not exist; create it first")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"the folder of {path} cannot be written to; choose another")


def ledger_files(ledger: LedgerPlace) -> tuple[Path, ...]:
    """Return the files of a ledger: its database and anchor, unless a server has it, and its key."""
    from confide.ledger.ledger import Ledger
    from confide.ledger.place import FilePlace, find_place, key_file

    place = ledger.place if isinstance(ledger, Ledger) else find_place(ledger)
    key = key_file(place).path.resolve()
    if not isinstance(place, FilePlace):
        return (key,)
    return place.path, key, place.path.with_name(f"{place.path.name}.anchor")


def _same_file(path: Path, source: str | Path | None) -> bool:
    """Tell whether a path is the file of a source; None and "-" are no file."""
    if source is None or source == "-":
        return False
    return path.exists() and Path(source).exists() and path.samefile(source)
