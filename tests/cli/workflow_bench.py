"""A folder with messages, patients and a ledger, in which the verbs of the private workflow are run."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.main import get_command

from confide import Ledger
from confide.cli import main
from confide.learning.workflow import Workflow
from confide.privacy.queries import Noise
from confide.sources.encoding import row_keys
from tests.cli.commands import Answer, confide
from tests.cli.desk import Desk, open_for

TEXT = ("--label", "spam", "--text", "message", "--bits", "6")
COLUMNS = ("-l", "died", "-c", "smoker", "-c", "age=40,60,80", "-c", "sex=f|m")
TRIAL = ("--account", "trial")

COMMAND = get_command(main.app)  # made once, as making it takes as long as running a small command

Rows = Sequence[Sequence[object]]


@dataclass(frozen=True)
class Bench:
    """Runs commands in a folder, all on one ledger, and looks at what they left there."""

    desk: Desk

    @property
    def folder(self) -> Path:
        return self.desk.folder

    def open_for(self, *arguments: object) -> None:
        """Open the account that a command names, unless it is there."""
        open_for(arguments, self.desk.book, self.folder)

    def run(self, *arguments: object) -> Answer:
        """Run a command, and open nothing."""
        return confide(*arguments, folder=self.folder)

    def done(self, *arguments: object) -> Answer:
        """Run a command that must succeed, with the account that it names opened before."""
        self.open_for(*arguments)
        answer = self.run(*arguments)
        assert answer.code == 0, answer.err
        return answer

    def document(self, *arguments: object) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.done(*arguments, "--json").out)
        return parsed

    def write(self, name: str, head: Sequence[str], rows: Rows) -> Path:
        path = self.folder / name
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(head)
            writer.writerows(rows)
        return path

    def messages(self, name: str = "messages.csv", rows: Rows | None = None) -> Path:
        return self.write(name, ("id", "message", "spam"), made_messages() if rows is None else rows)

    def patients(self, name: str = "patients.csv", rows: Rows | None = None) -> Path:
        return self.write(name, ("id", "age", "sex", "smoker", "died"), made_patients() if rows is None else rows)

    def spent(self, account: str = "trial") -> Fraction:
        with Ledger(self.desk.book) as ledger:
            return ledger.account(account).spent.epsilon

    def charges(self, account: str = "trial") -> list[Fraction]:
        with Ledger(self.desk.book) as ledger:
            return [entry.amount.epsilon for entry in ledger.history(account) if entry.kind == "charge"]

    def held_out(self, file: Path, workflow: str) -> list[bool]:
        """Which rows of a file a workflow holds out."""
        begun = Workflow.read(self.folder / workflow)
        assert begun.hold_out is not None
        held: list[bool] = begun.hold_out.held_out(row_keys(file, begun.held_out_columns)).tolist()
        return held

    def hear(self, noise: Noise) -> None:
        """Let every kind of noise come from elsewhere than the system."""
        self.desk.hear(noise)

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir()) if path.is_file()}


def bench_at(desk: Desk, patch: pytest.MonkeyPatch) -> Iterator[Bench]:
    patch.setattr(main, "app", COMMAND)
    yield Bench(desk)


def made_messages(count: int = 240) -> list[tuple[object, ...]]:
    """Texts of three words; those of spam are mostly about money."""
    rng = np.random.default_rng(3)
    ours, theirs = ["win", "cash", "prize", "loan", "urgent"], ["lunch", "meeting", "train", "garden", "uncle"]
    rows: list[tuple[object, ...]] = []
    for number in range(count):
        spam = rng.random() < 0.4
        words = [rng.choice(ours if spam == (rng.random() < 0.9) else theirs) for _ in range(3)]
        rows.append((f"m{number}", " ".join(words) + f" n{number}", int(spam)))
    return rows


def made_patients(count: int = 240) -> list[tuple[object, ...]]:
    rng = np.random.default_rng(4)
    rows: list[tuple[object, ...]] = []
    for number in range(count):
        age, smoker = int(rng.integers(20, 95)), int(rng.random() < 0.3)
        died = int(rng.random() < age / 130 + 0.2 * smoker)
        rows.append((f"p{number // 2}", age, rng.choice(["f", "m"]), smoker, died))
    return rows
