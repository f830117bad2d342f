"""What every test shares: the hypothesis profiles, the place of temporary files, and the folder of real data."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from benchmarks.shared import shared_folder
from hypothesis import settings

from confide.privacy import noisy_counts
from confide.releases import curve_numbers
from tests.examples import USUAL
from tests.memory import disk_in_memory
from tests.spark import SPARK_WARNINGS, running_spark

HERE = Path(__file__).parent

# Tests repeat themselves exactly; `--hypothesis-profile=explore` looks for new counterexamples.
settings.register_profile("confide", deadline=None, derandomize=True, max_examples=USUAL)
settings.register_profile("explore", deadline=None, max_examples=500)
settings.load_profile("confide")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let `tmp_path` be in memory, unless another place is asked for; workers get theirs from whom they work for."""
    if not hasattr(config, "workerinput") and config.option.basetemp is None and (memory := disk_in_memory()):
        config.option.basetemp = tempfile.mkdtemp(prefix="confide-tests-", dir=memory)
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


@pytest.fixture
def few_simulated_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals are simulated from fewer tables: as sound, but rougher. Whether they hold is tested without this."""
    monkeypatch.setattr(noisy_counts, "DRAWS", noisy_counts.FEWEST_DRAWS)
    monkeypatch.setattr(curve_numbers, "RISEN_DRAWS", 50)


MARKERS_OF_FIXTURES = {"shared_data": "shared", "spark": "spark"}

SECOND_ATTEMPT = ("processes", "flare", "spark", "documents")
"""Markers of tests that wait for other processes, which a busy machine can keep from running."""
ONE_ATTEMPT = ("ledger", "contest")
"""Rooms whose tests kill processes to show that nothing is lost: a single failure shows the contrary."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by fixtures, by whether their module runs benchmarks, and cases beyond the few that `make test` runs.

    Tests that wait for other processes are tried again if they fail; the summary names them.

    Those that need a federation come first, then those that need Spark. So one worker runs all of them, with one
    network: workers begin with equal parts of the list, and steal from its end.
    """
    for item in items:
        for fixture in MARKERS_OF_FIXTURES.keys() & getattr(item, "fixturenames", ()):
            item.add_marker(MARKERS_OF_FIXTURES[fixture])
        if item.get_closest_marker("spark") is not None:
            for warning in SPARK_WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))
        if _uses_benchmarks(getattr(item, "module", None)):
            item.add_marker(pytest.mark.shared)
        if _has_second_attempt(item):
            item.add_marker(pytest.mark.flaky(reruns=1))
    _mark_cases_beyond_few(items)
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in ("flare", "spark")])


def _mark_cases_beyond_few(items: Iterable[pytest.Item]) -> None:
    """Mark as long all cases of a test with `few(number)` but that number of them, evenly spread over the list."""
    cases: defaultdict[tuple[Path, object, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("few") is not None:
            cases[item.path, getattr(item, "cls", None), getattr(item, "originalname", item.name)].append(item)
    for listed in cases.values():
        marker = listed[0].get_closest_marker("few")
        assert marker is not None
        stay = {number * len(listed) // marker.args[0] for number in range(marker.args[0])}
        for number, item in enumerate(listed):
            if number not in stay:
                item.add_marker(pytest.mark.long)


def _has_second_attempt(item: pytest.Item) -> bool:
    waits = any(item.get_closest_marker(name) for name in SECOND_ATTEMPT)
    return waits and item.get_closest_marker("statistical") is None and _room_of(item.path) not in ONE_ATTEMPT


@cache
def _room_of(path: Path) -> str:
    return path.relative_to(HERE).parts[0] if path.is_relative_to(HERE) else ""


@cache
def _uses_benchmarks(module: ModuleType | None) -> bool:
    return module is not None and any(_is_of_benchmarks(value) for value in vars(module).values())


def _is_of_benchmarks(value: object) -> bool:
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and name.split(".")[0] == "benchmarks"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say in one line which tests were left out, and how to run them."""
    reasons = Counter(_reason(report) for report in terminalreporter.getreports("skipped"))
    parts = [f"{number} ({reason})" for reason, number in reasons.most_common()]
    if "not long" in config.option.markexpr:
        parts.append("the cases marked long (make test-all runs them)")
    if parts:
        terminalreporter.write_line(f"Left out: {'; '.join(parts)}.")


def _reason(report: object) -> str:
    where_and_why = getattr(report, "longrepr", None)
    return str(where_and_why[2]).removeprefix("Skipped: ") if isinstance(where_and_why, tuple) else "no reason given"


@pytest.fixture
def unpadded_ledgers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ledgers answer as soon as they can. That answers are padded in time is tested without this."""
    from confide.ledger.charging import padded
    from confide.ledger.ledger import Ledger

    defaults = Ledger.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "padding", 0.0)
    monkeypatch.setattr(padded.__wrapped__, "__defaults__", (0.0,))  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data that are no part of the project; skip the test where it is absent."""
    folder = shared_folder()
    if folder is None:
        pytest.skip("the shared data are not here: set CONFIDE_SHARED to the folder that holds data/")
    return folder


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Start a cluster of two executors on this machine, once for all tests of a worker."""
    with running_spark() as session:
        yield session
