"""A folder with data and a ledger, in which `confide release` is run without a process of its own.

Accounts are opened by the data holder before anything is charged to them. Most tests are about what comes after, so
`ask` first opens an account that is named and not there yet, as one would for that request.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide import Ledger
from confide.cli import main
from confide.privacy.queries import Noise
from tests.cli.commands import Answer

COLUMNS = ("--label", "died", "--score", "risk")
SCORES = np.random.default_rng(0).permutation(np.linspace(0.0123456789, 0.9876543210, 83))
LABELS = (np.random.default_rng(1).random(83) < 0.2 + 0.5 * SCORES).astype(int)


@dataclass
class Desk:
    """A folder with data and a ledger of its own; `ask` runs the command in this process."""

    folder: Path
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch
    book: Path = field(init=False)

    def __post_init__(self) -> None:
        self.book = self.folder / "ledger.sqlite"
        self.write("rows.csv")

    def write(self, name: str, labels: Any = LABELS, scores: Any = SCORES) -> Path:
        lines = [f"{label},{score!r}" for label, score in zip(labels, map(float, scores), strict=True)]
        path = self.folder / name
        path.write_text("\n".join(["died,risk", *lines]) + "\n", encoding="utf-8")
        return path

    def open_account(self, name: str = "trial", *, file: str | None = None, **terms: Any) -> None:
        """Open an account with a generous cap, for one file alone if that is named."""
        open_account(self.book, name, file=None if file is None else self.folder / file, **terms)

    def ask(self, *options: object, file: str = "rows.csv", columns: tuple[str, ...] = COLUMNS) -> Answer:
        """Run `confide release`, with the account opened before."""
        arguments = ("release", file, *columns, *options)
        open_for(arguments, self.book, self.folder)
        return self.run(*arguments)

    def run(self, *arguments: object) -> Answer:
        """Run any command, and open nothing."""
        self.patch.setattr(sys, "argv", ["confide", *(str(argument) for argument in arguments)])
        self.capture.readouterr()
        code = 0
        try:
            main.run()
        except SystemExit as stop:
            code = int(stop.code or 0)
        shown = self.capture.readouterr()
        return Answer(code, shown.out, shown.err)

    def document(self, *options: object, **given: Any) -> dict[str, Any]:
        answer = self.ask(*options, "--json", **given)
        assert answer.code == 0, answer.err
        parsed: dict[str, Any] = json.loads(answer.out)
        return parsed

    def hear(self, noise: Noise) -> None:
        """Let releases draw from another noise than the system's."""
        self.patch.setattr(Ledger, "noise", noise)

    def hear_the_system_again(self) -> None:
        self.patch.setattr(Ledger, "noise", None)

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir())}


def open_account(book: Path | str, name: str, *, file: Path | None = None, **terms: Any) -> None:
    """Open an account of a ledger with a generous cap, for one file alone if that is named."""
    given: dict[str, Any] = {"epsilon": 10, "delta": "1/100000", **terms}
    with Ledger(book) as ledger:
        ledger.open_account(name, data=None if file is None else [file.read_bytes()], **given)


def open_for(arguments: Sequence[object], book: Path, folder: Path) -> None:
    """Open the account that a command names, unless it is there: with the command's own relation and unit."""
    verb, name = str(arguments[0]), _given(arguments, "--account")
    if verb not in ("release", "select", "train") or name is None:
        return
    place = _given(arguments, "--ledger") or book
    with Ledger(place) as ledger:
        if name in {account.name for account in ledger.accounts()}:
            return
    usual = "replace-one" if verb == "release" else "add-remove-one"
    relation = _given(arguments, "--neighbours") or usual
    terms: dict[str, Any] = {"neighbours": relation, "unit": _given(arguments, "--unit") or "row"}
    if terms["unit"] == "person":
        terms["rows_per_person"] = int(_given(arguments, "--rows-per-person") or 1)
    if relation == "label-only":
        terms |= {"label": _given(arguments, "--label", "-l"), "positive": _given(arguments, "--positive")}
        terms["file"] = folder / str(arguments[1])
    open_account(place, name, **terms, also_charge="--also-charge" in arguments)


def _given(arguments: Sequence[object], *names: str) -> str | None:
    """The last value of an option."""
    found = [str(value) for name, value in pairwise(arguments) if name in names]
    return found[-1] if found else None
