"""The lists of long tests name tests that exist, and leave fewer cases of each to `make test`."""

from __future__ import annotations

import ast

import pytest

from tests.long_tests import ALL, COSTLY, EVERY, HERE, LONG


def named_in(file: str) -> set[str]:
    tree = ast.parse((HERE / file).read_text(encoding="utf-8"))
    functions = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {name for name in functions if name.startswith("test_")}


@pytest.mark.parametrize("file", sorted({*LONG, *COSTLY}))
def test_the_lists_name_tests_that_exist_and_none_twice(file: str) -> None:
    long, costly = set(LONG.get(file, ())), set(COSTLY.get(file, ()))
    assert (long | costly) - {EVERY} <= named_in(file)
    assert not long & costly


def test_strides_leave_fewer_cases() -> None:
    strides = [stride for tests in (*LONG.values(), *COSTLY.values()) for stride in tests.values()]
    assert all(stride == ALL or stride > 1 for stride in strides)
