"""Whole evaluations beside their kernel: arrays, files, groups, paired comparisons and counts of many rows."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

import confide
from benchmarks.timing import seconds, table
from confide.intervals import compare_auc, rank_summary

Line = tuple[str, ...]
HEAD = ("", "wall", "CPU", "scikit-learn", "ratio", "goal", "")


def run(*, quick: bool = False) -> None:
    sizes = (10**4, 10**5) if quick else (10**5, 10**6, 10**7)
    print("Wall time and CPU time of this process, the best of some runs; compiled code is loaded before.")
    print("A goal in seconds is for wall time on two free cores; a goal such as 10x for the ratio to scikit-learn.")
    data = {rows: _rows(rows) for rows in sizes}
    for rows in sizes[:1]:
        rank_summary(*data[rows][:2])
    lines = [_ranks(rows, *data[rows][:2]) for rows in sizes]
    lines.append(_counts(*_rows(5 * (10**4 if quick else 10**6))[:2]))
    for rows in sizes[1:]:
        lines.append(_timed(f"evaluate, {rows:,} rows", lambda r=rows: confide.evaluate(*data[r][:2]), _goal(rows)))  # type: ignore[misc]
    for rows in sizes[1:]:
        lines.append(_timed(f"paired DeLong, {rows:,} rows", lambda r=rows: compare_auc(*data[r]), _goal_paired(rows)))  # type: ignore[misc]
    rows = sizes[1]
    lines.append(_timed(f"2 models x 4 groups, {rows:,} rows", lambda: _grouped(*data[rows]), 3.0))
    table(HEAD, lines)
    _files(data[rows])


def _rows(rows: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(rows)
    labels = (rng.random(rows) < 0.3).astype(np.uint8)
    shared = rng.standard_normal(rows) + labels
    first = 1.0 / (1.0 + np.exp(1.0 - shared))
    return labels, first, 1.0 / (1.0 + np.exp(1.0 - 0.8 * shared - 0.5 * rng.standard_normal(rows)))


def _goal(rows: int) -> float:
    return 2.0 if rows >= 10**7 else 0.4


def _goal_paired(rows: int) -> float:
    return 1.0 if rows >= 10**7 else 0.1


def _ranks(rows: int, labels: NDArray[Any], scores: NDArray[Any]) -> Line:
    assert abs(rank_summary(labels, scores).auc - roc_auc_score(labels, scores)) < 1e-10
    goal = 50 if rows >= 10**7 else 30 if rows >= 10**6 else 10
    return _against(
        f"rank_summary, {rows:,} rows",
        lambda: rank_summary(labels, scores),
        lambda: roc_auc_score(labels, scores),
        goal,
    )


def _counts(labels: NDArray[Any], scores: NDArray[Any]) -> Line:
    def ours() -> object:
        counts = confide.ScoreCounts.from_arrays(labels, scores)
        return confide.auc_score(counts), confide.average_precision_score(counts), confide.delong_interval(counts)

    def theirs() -> object:
        return roc_auc_score(labels, scores), average_precision_score(labels, scores)

    return _against(f"counts, AUC, AP, DeLong, {labels.size:,} rows", ours, theirs, 20)


def _grouped(labels: NDArray[Any], first: NDArray[Any], second: NDArray[Any]) -> object:
    groups = np.array(["north", "east", "south", "west"])[np.arange(labels.size) % 4]
    return confide.evaluate(labels, {"first": first, "second": second}, groups=groups)


def _best(function: Callable[[], object], repetitions: int = 3) -> tuple[float, float]:
    wall = busy = float("inf")
    for _ in range(repetitions):
        started, at = time.perf_counter(), time.process_time()
        function()
        wall, busy = min(wall, time.perf_counter() - started), min(busy, time.process_time() - at)
    return wall, busy


def _timed(name: str, function: Callable[[], object], goal: float) -> Line:
    function()
    wall, busy = _best(function)
    return name, seconds(wall), seconds(busy), "", "", f"{goal:g} s", "" if wall <= goal else "MISS"


def _against(name: str, ours: Callable[[], object], theirs: Callable[[], object], goal: int) -> Line:
    ours()
    (wall, busy), (other, _) = _best(ours, 5), _best(theirs, 2)
    mark = "" if other >= goal * wall else "MISS"
    return name, seconds(wall), seconds(busy), seconds(other), f"{other / wall:.0f}x", f"{goal}x", mark


def _files(data: tuple[NDArray[Any], ...]) -> None:
    """Time the command on Parquet and CSV, in a process of its own."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    labels, first, _ = data
    columns = pa.table({"died": labels, "risk": first, "note": [f"row {i}" for i in range(labels.size)]})
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for ending, write, goal in (
            ("parquet", pyarrow.parquet.write_table, 1.5),
            ("csv", pyarrow.csv.write_csv, 2.5),
        ):
            file = Path(folder) / f"rows.{ending}"
            write(columns, str(file))
            wall, busy = (min(each) for each in zip(*(_command(file) for _ in range(3)), strict=True))
            lines.append((ending, seconds(wall), seconds(busy), f"{goal:g} s", "" if wall <= goal else "MISS"))
    print(f"confide evaluate, {labels.size:,} rows, with Python's start")
    table(("", "wall", "CPU", "goal", ""), lines)


def _command(file: Path) -> tuple[float, float]:
    """Return the wall time and the CPU time of the command."""
    started, at = time.perf_counter(), _busy_children()
    command = [sys.executable, "-m", "confide", "evaluate", str(file), "--label", "died", "--score", "risk"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603  # our own
    return time.perf_counter() - started, _busy_children() - at


def _busy_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
