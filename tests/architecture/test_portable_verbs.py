"""`evaluate`, `plan` and `attack` run on Windows and macOS too: what they import exists there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import confide

SRC = Path(confide.__file__).parents[1]
VERBS = {
    "evaluate": ("confide.cli.main", "confide.cli.evaluate"),
    "plan": ("confide.cli.main", "confide.cli.plan"),
    "attack": ("confide.cli.main", "confide.cli.attack"),
}
OF_POSIX = {"fcntl", "grp", "posix", "pwd", "pty", "resource", "syslog", "termios", "tty"}
ELSEWHERE = ("confide.records", "confide.ledger", "confide.federation", "confide.contest.server")
"""Rooms that need POSIX. A verb may open one for a further step, by an import inside a function."""
PLACES = {
    "confide.postgresql_reach": "the folder of a PostgreSQL server's socket, which Windows does not have",
}
"""Modules that may name folders of POSIX, and why."""


def file_of(module: str) -> Path | None:
    path = SRC.joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@dataclass(frozen=True)
class Import:
    """A module that a file may import: inside a function, or where the file does without if it is missing."""

    module: str
    later: bool = False
    guarded: bool = False


@cache
def imports_of(file: Path) -> frozenset[Import]:
    return frozenset(_imports(ast.parse(file.read_text(encoding="utf-8")), later=False, guarded=False))


def _imports(node: ast.AST, *, later: bool, guarded: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        names: list[str] = []
        if isinstance(child, ast.Import):
            names = [alias.name for alias in child.names]
        elif isinstance(child, ast.ImportFrom) and child.module:
            names = [child.module, *(f"{child.module}.{alias.name}" for alias in child.names)]
        yield from (Import(name, later, guarded) for name in names)
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        handled = isinstance(child, ast.Try) and any("ImportError" in ast.unparse(each) for each in child.handlers)
        yield from _imports(child, later=later or inside, guarded=guarded or handled)


@cache
def reached(verb: str) -> tuple[str, ...]:
    """Modules of this package that a verb may import."""
    found: dict[str, None] = {}
    waiting = list(VERBS[verb])
    while waiting:
        module = waiting.pop()
        file = file_of(module)
        if file is None or module in found:
            continue
        found[module] = None
        waiting.extend(
            each.module
            for each in imports_of(file)
            if each.module.startswith("confide.") and not (each.later and each.module.startswith(ELSEWHERE))
        )
    return tuple(found)


@pytest.mark.few(1)
@pytest.mark.parametrize("verb", VERBS)
def test_nothing_of_posix_is_imported(verb: str) -> None:
    modules = reached(verb)
    assert len(modules) > 50  # the walk itself works
    held = {
        module: sorted({each.module for each in imports_of(file) if each.module in OF_POSIX and not each.guarded})
        for module in modules
        if (file := file_of(module)) is not None
    }
    assert {module: names for module, names in held.items() if names} == {}


@pytest.mark.few(1)
@pytest.mark.parametrize("verb", VERBS)
def test_no_folder_of_posix_is_named(verb: str) -> None:
    found = set()
    for module in reached(verb):
        tree = ast.parse((file_of(module) or Path()).read_text(encoding="utf-8"))
        texts = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        if any(text.startswith(("/tmp", "/var/", "/etc/", "/dev/")) for text in texts):  # noqa: S108
            found.add(module)
    assert found <= set(PLACES)


def test_the_walk_finds_what_it_forbids(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("def f():\n    import fcntl\ntry:\n    import pwd\nexcept ImportError:\n    pwd = None\n")
    assert imports_of(module) == {Import("fcntl", later=True), Import("pwd", guarded=True)}
