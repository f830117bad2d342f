"""Do intervals on AUC at the local scale cover, and how wide are they? A table by families of settings.

`coverage` judges the same settings with more repetitions and shows each. Here a line is a family: a neighbouring
relation, a kind of scores, or classes of a few rows. The lowest of many coverages is low by chance, so the lowest ones
are judged again with more and fresh repetitions.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from benchmarks.coverage import AUCS, EPSILONS, OTHER_ROWS, OTHER_SCORES, PREVALENCES
from benchmarks.interval_simulation import LEVEL, LOCAL, Found, Task, measure, standard_error
from benchmarks.parallel import in_parallel
from benchmarks.simulated import Scores
from benchmarks.timing import table

ROWS = (50, 200, 1_000)
FEW = ((30, 0.1), (50, 0.05), (200, 0.02))
BANDS = ((50.0, 100.0), (100.0, 250.0), (250.0, float("inf")))
"""Bands of epsilon times the smaller class in which widths are compared with the ideal ones."""

_JUDGED_AGAIN, _TIMES_AGAIN = 4, 10

Key = TypeVar("Key")


def run(*, quick: bool = False) -> None:
    repetitions, widths = (40, 4) if quick else (400, 20)
    families = _measured(_families(repetitions, widths, quick=quick))
    again = _measured(
        {(name, kind): _again(found, kind) for name, found in families.items() for kind in ("sample", "population")}
    )
    lines, bands = [], []
    for name, found in families.items():
        columns = [f"{len(found)}"]
        for kind in ("sample", "population"):
            every = [_coverage(each, kind) for each in found]
            judged = [_coverage(each, kind) for each in again[name, kind]]
            columns += [f"{statistics.median(every):.3f}", f"{min(every):.3f}", f"{min(judged):.3f}"]
        lines.append((name, *columns))
        bands += _widths(name, found)
    error = standard_error(repetitions)
    print(
        f"{100 * LEVEL:.0f} % intervals, {repetitions:,} repetitions, standard error {100 * error:.1f} %; "
        "again: the lowest"
    )
    print(
        f"{_JUDGED_AGAIN} of a family, {_TIMES_AGAIN} times the repetitions, "
        f"standard error {100 * error / 10**0.5:.1f} %"
    )
    head = ("family", "settings", "sample, median", "lowest", "again", "population, median", "lowest", "again")
    table(head, lines)
    print(f"width over the ideal, median and largest; {widths} repetitions")
    table(("family", "epsilon min(n, m)", "settings", "sample", "largest", "population", "largest"), bands)


def _families(repetitions: int, widths: int, *, quick: bool) -> dict[str, list[Task]]:
    rows, aucs, prevalences = (ROWS[1:2], AUCS[1:2], PREVALENCES[:2]) if quick else (ROWS, AUCS, PREVALENCES)
    families = {
        f"binormal, {kind.removeprefix('local, ').replace('local', 'replace-one')}": [
            Task(kind, Scores(auc=auc), size, prevalence, EPSILONS, repetitions, widths)
            for size in rows
            for prevalence in prevalences
            for auc in aucs
        ]
        for kind in (LOCAL[:1] if quick else LOCAL[:2])
    }
    others = OTHER_SCORES[5:6] if quick else OTHER_SCORES
    for kind_of_scores in ("exponential", "tied", "spread"):
        tasks = [
            Task("local", scores, size, prevalence, ("1", "4"), repetitions, widths)
            for scores in others
            if kind_of_scores in scores.name
            for size, prevalence in OTHER_ROWS
            if size in rows
        ]
        if tasks:
            families[tasks[0].scores.name if "spread" not in kind_of_scores else "unequal spreads"] = tasks
    few = [Scores(auc=0.9, exponential=True), Scores(auc=0.9, tied=True), Scores(auc=0.9, ratio=1.5), Scores(auc=0.98)]
    families["one to four rows in a class"] = [
        Task("local", scores, size, prevalence, ("1", "4", "20"), repetitions, 4)
        for scores in (few[:1] if quick else few)
        for size, prevalence in (FEW[:1] if quick else FEW)
    ]
    return families


def _measured(tasks: Mapping[Key, Sequence[Task]]) -> dict[Key, list[Found]]:
    """Measure the tasks of all families together, so that workers start once."""
    parts = iter(in_parallel(measure, [task for family in tasks.values() for task in family]))
    return {name: [found for _ in family for found in next(parts)] for name, family in tasks.items()}


def _coverage(found: Found, kind: str) -> float:
    return found.sample_coverage if kind == "sample" else found.population_coverage


def _again(found: Sequence[Found], kind: str) -> list[Task]:
    """Return the tasks of the settings with the lowest coverage, with more and fresh repetitions."""
    lowest = sorted(found, key=lambda each: _coverage(each, kind))[:_JUDGED_AGAIN]
    times = [_TIMES_AGAIN * each.task.repetitions for each in lowest]
    return [
        replace(each.task, epsilons=(f"{each.epsilon:g}",), repetitions=many, widths=1, seed=1)
        for each, many in zip(lowest, times, strict=True)
    ]


def _widths(name: str, found: Sequence[Found]) -> list[tuple[str, ...]]:
    lines = []
    for low, high in BANDS:
        here = [each for each in found if low <= _reach(each) < high]
        if not here:
            continue
        columns = []
        for ratio in ("sample_ratio", "population_ratio"):
            values = [getattr(each, ratio) for each in here]
            columns += [f"{statistics.median(values):.2f}", f"{max(values):.2f}"]
        lines.append((name, f"{low:g} - {high:g}", f"{len(here)}", *columns))
    return lines


def _reach(found: Found) -> float:
    """Return epsilon times the expected size of the smaller class."""
    return found.epsilon * found.task.rows * min(found.task.prevalence, 1.0 - found.task.prevalence) + 1e-9
