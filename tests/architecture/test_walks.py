"""Rooms that a command loads: those of its own walk, and no other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from confide import Ledger
from confide.cli.main import Verbs
from confide.examples import HEART_ATTACK
from confide.federation.flare.federation import FILE
from tests.cli.commands import STRICT

SHARED = {"cli", "errors", "atomic_files", "_lazy"}
COUNTING = {
    "blocks", "counts", "counts_or_arrays", "curves", "device", "evaluation", "features", "intervals", "kernels",
    "metrics", "normal_distribution", "sources", "tasks",
}  # fmt: skip
PAYING = (COUNTING - {"evaluation"}) | {"grid", "ledger", "postgresql_reach", "privacy", "records", "releases"}
EXPOSURE = {"attacks", "kernels", "grid", "privacy", "releases"}  # the page shows what its numbers would give away

ROOMS = {
    "help": {"_lazy", "cli", "errors"},
    "evaluate": SHARED | COUNTING | {"provenance", "report"},
    "evaluate with a page": SHARED | COUNTING | {"provenance", "report", *EXPOSURE},
    "release": SHARED | PAYING | {"provenance", "report"},
    "train": SHARED | PAYING | {"report", "learning"},
    "validate": SHARED | (PAYING - {"ledger", "postgresql_reach"}) | {"report", "federation"},
}
PROGRAM = """
import json, sys
sys.argv = ["confide", *json.loads(sys.argv[1])]
from confide.cli.main import run
code = 0
try:
    run()
except SystemExit as stop:
    code = stop.code
sys.stderr.write("\\n" + json.dumps([code, [name for name in sys.modules if name.startswith("confide.")]]))
"""


def modules_of(*arguments: object) -> set[str]:
    """Run a command in a process of its own, and return the modules that it loaded."""
    finished = subprocess.run(
        [sys.executable, *STRICT, "-c", PROGRAM, json.dumps([str(argument) for argument in arguments])],
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(finished.stderr.splitlines()[-1])
    assert code in (0, None), finished.stderr
    return set(modules)


def command(walk: str, folder: Path) -> list[object]:
    """Return the arguments of a walk, on data and an account in a folder."""
    book = folder / "ledger.sqlite"
    with Ledger(book) as ledger:
        ledger.open_account("trial", epsilon=9, data=[HEART_ATTACK.read_bytes()])
    (folder / FILE).write_text(
        'name = "trial"\nserver = "localhost"\nport = 8002\nsites = ["north", "south", "west"]\ncoordinator = "me"\n'
    )
    page = ("--report", folder / "page.html")
    paying = ("--ledger", book, *page)
    exact = ["evaluate", HEART_ATTACK, "-l", "died", "-s", "logistic", "--replicates", "0"]
    commands: dict[str, list[object]] = {
        "help": ["--help"],
        "evaluate": exact,
        "evaluate with a page": [*exact, *page],
        "release": ["release", HEART_ATTACK, "-l", "died", "-s", "logistic", "-e", "1", *paying],
        "train": ["train", HEART_ATTACK, "-l", "died", "-c", "sex=male|female", "-o", folder / "m.json", *paying],
        "validate": ["validate", "-f", folder, "--model-name", "risk", "--mode", "private", "-e", "1", "--dry-run"],
    }
    return commands[walk]


@pytest.mark.few(1)
@pytest.mark.processes
@pytest.mark.parametrize("walk", ROOMS)
def test_a_command_loads_the_rooms_of_its_walk(walk: str, tmp_path: Path) -> None:
    modules = modules_of(*command(walk, tmp_path))
    assert {name.split(".")[1] for name in modules} == ROOMS[walk]
    homes = {name: str(getattr(verb, "home", "")).split(":")[0] for name, verb in Verbs.verbs.items()}
    assert set(homes.values()) & modules == ({homes[walk.split()[0]]} if walk != "help" else set())
