"""The Python surface: few names at the top, each documented; the rest in the rooms, loaded on first use."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import confide

PACKAGE = Path(confide.__file__).parent
REFERENCE = PACKAGE.parents[1] / "docs" / "reference" / "python.md"
MOST = 46
LAZY = sorted(path for path in PACKAGE.rglob("__init__.py") if "lazy_names(" in path.read_text(encoding="utf-8"))


def package_of(path: Path) -> str:
    return ".".join(path.parent.relative_to(PACKAGE.parent).parts)


def typed_names(path: Path) -> set[str]:
    """Return the names that a package imports for type checkers, but for its own rooms."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom) and node.module != "confide"]
    return {alias.name for node in imports for alias in node.names}


def test_few_names_are_at_the_top() -> None:
    assert len(confide.__all__) <= MOST


def test_each_name_at_the_top_is_documented() -> None:
    documented = set(re.findall(r"`(\w+)`", REFERENCE.read_text(encoding="utf-8")))
    assert set(confide.__all__) <= documented


@pytest.mark.parametrize("path", LAZY, ids=package_of)
def test_type_checkers_and_users_see_the_same_names(path: Path) -> None:
    assert typed_names(path) == set(importlib.import_module(package_of(path)).__all__)


@pytest.mark.parametrize("path", LAZY, ids=package_of)
def test_each_name_is_where_it_is_said_to_be(path: Path) -> None:
    package = importlib.import_module(package_of(path))
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'unheard'"):
        _ = package.unheard
    assert set(package.__all__) <= set(dir(package))


def test_rooms_are_attributes() -> None:
    assert confide.intervals.delong_variance.__module__ == "confide.intervals.delong"
    assert "intervals" not in confide.__all__
