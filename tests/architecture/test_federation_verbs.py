"""The verbs of a federation are thin: options, one task, rendering."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import confide

CLI = Path(confide.__file__).parent / "cli"
GROUPS = ("federation", "site")
SHARED = ("options", "next_steps", "demo_steps")
VERBS = sorted(
    [CLI / "validate.py"]
    + [path for group in GROUPS for path in (CLI / group).glob("*.py") if path.stem not in ("__init__", "group")]
)


def imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return found | {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}


@pytest.mark.parametrize("path", [path for path in VERBS if path.stem not in SHARED], ids=lambda path: str(path.stem))
def test_a_verb_is_short_and_knows_no_other_verb(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 90
    verbs = {f"confide.cli.{one.parent.name}.{one.stem}" for one in VERBS if one != path and one.stem not in SHARED}
    assert not imported(path) & verbs


@pytest.mark.parametrize("path", VERBS, ids=lambda path: str(path.stem))
def test_no_verb_reads_ledgers_policies_or_rows_itself(path: Path) -> None:
    rooms = {module.split(".")[1] for module in imported(path) if module.startswith("confide.")}
    assert rooms <= {"cli", "errors", "federation", "report", "tasks"}
    below = {module for module in imported(path) if module.startswith("confide.federation.")}
    assert below <= {
        "confide.federation.coordinator.validation",  # of values that are printed
        "confide.federation.flare.session",
        "confide.federation.outcome",
    }
