"""The list of long tests names tests that exist, and leaves some cases of each to `make test`."""

from __future__ import annotations

import ast

import pytest

from tests.long_tests import ALL, EVERY, HERE, LONG


def named_in(file: str) -> set[str]:
    tree = ast.parse((HERE / file).read_text(encoding="utf-8"))
    functions = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {name for name in functions if name.startswith("test_")}


@pytest.mark.parametrize("file", LONG)
def test_the_list_names_tests_that_exist(file: str) -> None:
    assert set(LONG[file]) - {EVERY} <= named_in(file)


def test_strides_leave_fewer_cases() -> None:
    strides = [stride for tests in LONG.values() for stride in tests.values()]
    assert all(stride == ALL or stride > 1 for stride in strides)
