"""A folder with data and a ledger, in which `confide release` is run without a process of its own."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.cli import main
from confide.privacy.queries import SYSTEM_NOISE, Noise
from tests.shell.commands import Answer

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
    undo: list[tuple[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.book = self.folder / "ledger.sqlite"
        self.write("rows.csv")

    def write(self, name: str, labels: Any = LABELS, scores: Any = SCORES) -> Path:
        lines = [f"{label},{score!r}" for label, score in zip(labels, map(float, scores), strict=True)]
        path = self.folder / name
        path.write_text("\n".join(["died,risk", *lines]) + "\n", encoding="utf-8")
        return path

    def ask(self, *options: object, file: str = "rows.csv", columns: tuple[str, ...] = COLUMNS) -> Answer:
        arguments = ["confide", "release", file, *columns, *(str(option) for option in options)]
        self.patch.setattr(sys, "argv", arguments)
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
        for name in ("discrete_laplace", "discrete_gaussian", "laplace", "cauchy", "student_t", "exponential_choice"):
            self.undo.append((name, getattr(SYSTEM_NOISE, name)))
            object.__setattr__(SYSTEM_NOISE, name, getattr(noise, name))

    def hear_the_system_again(self) -> None:
        while self.undo:
            object.__setattr__(SYSTEM_NOISE, *self.undo.pop())

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir())}
