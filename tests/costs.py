"""Seconds that costly tests take, and how many of their cases `make test` runs because of that.

Every test function may take half a second in `make test`: if its cases together take two, every fourth is run. A case
that takes more than three seconds by itself is left to `make test-all`. Measure anew, with all tests or without the
long ones, on a free machine:

    make test PYTEST_ADDOPTS=--junitxml=times.xml
    python -m tests.costs times.xml
"""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

HERE = Path(__file__).parent
TABLE = HERE / "costs.tsv"
ALL = 0
"""Stride of a test of which no case stays."""

_FUNCTION_SECONDS = 0.5
_CASE_SECONDS = 3.0


class Cost(NamedTuple):
    """Seconds of all cases of a test that were run, and their number."""

    seconds: float
    cases: int

    @property
    def stride(self) -> int:
        """Of how many cases one stays; `ALL` if none does.

        >>> Cost(4.0, 16).stride, Cost(0.5, 3).stride, Cost(3.0, 1).stride, Cost(9.0, 2).stride
        (8, 1, 1, 0)
        """
        if self.seconds / self.cases > _CASE_SECONDS:
            return ALL
        return min(self.cases, max(1, math.ceil(self.seconds / _FUNCTION_SECONDS)))


@cache
def costs() -> Mapping[tuple[str, str], Cost]:
    """Return the costs of costly tests, by file and function."""
    lines = (line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines())
    return {(file, test): Cost(float(seconds), int(cases)) for file, test, cases, seconds in lines}


def measured(report: Path) -> Mapping[tuple[str, str], Cost]:
    """Return the costs of all tests in a report of pytest's (`--junitxml`), of which strides other than 1 follow."""
    seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
    cases: Counter[tuple[str, str]] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 - pytest's own report
        modules = case.get("classname", "").split(".")
        file = next((f"{'/'.join(modules[1:n])}.py" for n in range(2, len(modules) + 1) if _is_test(modules[:n])), None)
        if file is not None:
            test = file, case.get("name", "").partition("[")[0]
            seconds[test] += float(case.get("time", "0"))
            cases[test] += 1
    every = {test: Cost(round(seconds[test], 1), cases[test]) for test in sorted(cases)}
    return {test: cost for test, cost in every.items() if cost.stride != 1}


def _is_test(modules: list[str]) -> bool:
    return modules[0] == HERE.name and HERE.joinpath(*modules[1:]).with_suffix(".py").is_file()


if __name__ == "__main__":
    found = measured(Path(sys.argv[1]))
    TABLE.write_text(
        "".join(f"{file}\t{test}\t{cost.cases}\t{cost.seconds:g}\n" for (file, test), cost in found.items())
    )
