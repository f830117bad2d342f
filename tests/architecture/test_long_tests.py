"""The lists of long tests name tests that exist, and leave fewer cases of each to `make test`."""

from __future__ import annotations

import ast

import pytest

from tests.costs import ALL, costs
from tests.long_tests import EVERY, HERE, LONG


def named_in(file: str) -> set[str]:
    tree = ast.parse((HERE / file).read_text(encoding="utf-8"))
    functions = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {name for name in functions if name.startswith("test_")}


@pytest.mark.parametrize("file", sorted({*LONG, *(file for file, _ in costs())}))
def test_the_lists_name_tests_that_exist(file: str) -> None:
    costly = {test for place, test in costs() if place == file}
    assert (set(LONG.get(file, ())) | costly) - {EVERY} <= named_in(file)


def test_strides_leave_fewer_cases() -> None:
    listed = [stride for tests in LONG.values() for stride in tests.values()]
    assert all(stride == ALL or stride > 1 for stride in [*listed, *(cost.stride for cost in costs().values())])
