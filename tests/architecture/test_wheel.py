"""The wheel holds the package and no study."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

import confide

ROOT = Path(__file__).parents[2]


def test_the_wheel_holds_the_package_alone() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["src/confide"]}


@pytest.mark.long
def test_the_package_imports_no_study() -> None:
    for path in Path(confide.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not any(name.split(".")[0] in ("studies", "tests", "benchmarks") for name in names), path
