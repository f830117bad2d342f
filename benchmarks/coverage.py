"""Do the intervals on private numbers cover, and how much wider are they than they must be?

How they are judged is said in `interval_simulation`. Among hundreds of settings some look bad by
chance: those that do are judged again with fresh and more repetitions.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.interval_simulation import (
    ENOUGH,
    LEVEL,
    LOCAL,
    LOWEST,
    WIDEST,
    Found,
    Kind,
    Task,
    is_low,
    measure,
    standard_error,
)
from benchmarks.parallel import in_parallel, output, shown
from benchmarks.release_coverage import released
from benchmarks.simulated import Scores
from benchmarks.timing import table

ROWS, PREVALENCES = (50, 200, 1_000, 5_000), (0.05, 0.2, 0.5)
EPSILONS, AUCS = ("0.1", "0.5", "1", "4"), (0.55, 0.8, 0.9, 0.98)
OTHER_SCORES = (
    Scores(auc=0.8, ratio=1.5),
    Scores(auc=0.9, ratio=1.5),
    Scores(auc=0.8, ratio=0.67),
    Scores(auc=0.9, ratio=0.67),
    Scores(auc=0.8, exponential=True),
    Scores(auc=0.9, exponential=True),
    Scores(auc=0.8, tied=True),
    Scores(auc=0.9, tied=True),
)
OTHER_ROWS = ((200, 0.05), (200, 0.5), (1_000, 0.05), (1_000, 0.2), (1_000, 0.8), (5_000, 0.05), (5_000, 0.5))
_AGAIN = 5  # times as many repetitions


def run(*, quick: bool = False) -> None:
    repetitions = 200 if quick else 4_000
    everything = [
        *_local(repetitions, quick),
        *_rank_sum(repetitions, quick),
        *_other_scores("local", repetitions // 4 if quick else repetitions, quick),
        *_other_scores("rank-sum", repetitions, quick),
        *_label_only(repetitions, quick),
        *_student_t(repetitions, quick),
        *_average_precision(repetitions, quick),
    ]
    if not quick:
        print(f"all settings: {shown(_written(everything))}")
    times = 10 if quick else 600
    _title("real releases (average precision by private-counts), calibrated binormal scores, AUC 0.8", times)
    released(times, quick=quick)


def _local(repetitions: int, quick: bool) -> list[Found]:
    rows, aucs, epsilons = ((1_000,), (0.8,), ("1",)) if quick else (ROWS, AUCS, EPSILONS)
    repetitions = repetitions // 4 if quick else repetitions
    every: list[Found] = []
    for kind in LOCAL[:1] if quick else LOCAL:
        # Under other relations than the usual one a quarter of the repetitions, as pairs of sizes take longer.
        times = repetitions if kind == "local" else repetitions // 4
        found = _all(kind, aucs, rows, PREVALENCES, epsilons, times, widths=20 if quick else 200)
        _title(f"AUC at the local scale ({kind}), binormal scores", times)
        every += _shown(found)
    return every


def _rank_sum(repetitions: int, quick: bool) -> list[Found]:
    rows, aucs, epsilons = ((50, 1_000), (0.8, 0.98), ("0.5", "4")) if quick else (ROWS, AUCS, EPSILONS)
    found = _all("rank-sum", aucs, rows, PREVALENCES, epsilons, repetitions)
    _title("AUC by rank-sum, replace-one, binormal scores", repetitions)
    return _shown(found, worst=4)


def _label_only(repetitions: int, quick: bool) -> list[Found]:
    rows, aucs = ((200,), (0.8,)) if quick else ((50, 200, 1_000), (0.55, 0.9, 0.98))
    found = _all("label-only", aucs, rows, (0.05, 0.5), ("0.5", "2"), repetitions)
    _title("AUC by rank-sum, label-only, binormal scores", repetitions)
    return _shown(found)


def _student_t(repetitions: int, quick: bool) -> list[Found]:
    rows, aucs = ((1_000,), (0.8,)) if quick else ((200, 1_000, 5_000), (0.8, 0.95))
    found = _all("student-t", aucs, rows, (0.1, 0.5), ("0.5", "2"), repetitions, widths=24)
    _title("AUC by student-t, add-remove-one, binormal scores", repetitions)
    return _shown(found)


def _average_precision(repetitions: int, quick: bool) -> list[Found]:
    rows, aucs = ((1_000,), (0.8,)) if quick else ((200, 1_000, 5_000), (0.8, 0.95))
    found = _all("average precision", aucs, rows, (0.1, 0.5), ("0.5", "2"), repetitions, widths=48)
    _title("average precision by student-t, replace-one, binormal scores", repetitions)
    return _shown(found)


def _other_scores(kind: Kind, repetitions: int, quick: bool) -> list[Found]:
    tasks = [
        Task(kind, scores, rows, prevalence, ("1", "4"), repetitions, widths=20 if quick else 100)
        for scores in (OTHER_SCORES[1::2] if quick else OTHER_SCORES)
        for rows, prevalence in (OTHER_ROWS[3:4] if quick else OTHER_ROWS)
    ]
    found = _flat(in_parallel(measure, tasks))
    _title(f"AUC by {kind} where scores are not normal with equal spreads", repetitions)
    lines = []
    for scores in dict.fromkeys(f.task.scores for f in found):
        here = [f for f in found if f.task.scores == scores]
        lowest = min(here, key=lambda f: f.population_coverage)
        low = sum(is_low(f.population_coverage, repetitions) for f in here)
        lines.append(
            (
                f"{scores.name}, AUC {scores.auc:g}",
                f"{lowest.population_coverage:.3f}",
                f"{lowest.task.rows:,} rows, prevalence {lowest.task.prevalence:g}, epsilon {lowest.epsilon:g}",
                f"{low} of {len(here)}",
                f"{min(f.population_ratio for f in here):.2f} - {max(f.population_ratio for f in here):.2f}",
            )
        )
    table(("scores", "population covers", "lowest at", f"below {100 * LOWEST:.0f} %", "width over ideal"), lines)
    return found


def _all(
    kind: Kind,
    aucs: Sequence[float],
    rows: Sequence[int],
    prevalences: Sequence[float],
    epsilons: tuple[str, ...],
    repetitions: int,
    widths: int = 200,
) -> list[Found]:
    tasks = [
        Task(kind, Scores(auc=auc), size, prevalence, epsilons, repetitions, widths)
        for size in sorted(rows, reverse=True)  # the longest first, so that no worker waits
        for prevalence in prevalences
        for auc in aucs
    ]
    return _flat(in_parallel(measure, tasks))


def _flat(parts: Iterable[list[Found]]) -> list[Found]:
    return [found for part in parts for found in part]


def _title(what: str, repetitions: int) -> None:
    error = standard_error(repetitions)
    print(f"{what};\n  {100 * LEVEL:.0f} % intervals, {repetitions:,} repetitions, standard error {100 * error:.2f} %")


def _shown(found: list[Found], worst: int = 2) -> list[Found]:
    """Print the worst settings, judge the low ones again, and print a line for each number of rows and prevalence."""
    low = sorted((f for f in found if f.low), key=lambda f: f.lowest)
    wide = sorted((f for f in found if f.too_wide), key=lambda f: -f.widest)
    print(
        f"  of {len(found)} settings {len(low)} are LOW (below {100 * LOWEST:.0f} %), "
        f"{len(wide)} WIDE (over {WIDEST} x ideal)"
    )
    for f in low[:worst] or sorted(found, key=lambda f: f.lowest)[:1]:
        print(f"  lowest: {_described(f)}")
    for f in wide[:worst]:
        print(f"  widest: {_described(f)}")
    again = [_with_more(f) for f in low[: 2 * worst]]
    if again:
        kept = [f for f in _flat(in_parallel(measure, again)) if f.low]
        print(f"  {len(again)} low ones again, {again[0].repetitions:,} fresh repetitions: {len(kept)} remain low")
        for f in kept:
            print(f"    {_described(f)}")
    _compact(found)
    return found


def _with_more(f: Found) -> Task:
    times = _AGAIN * f.task.repetitions
    return replace(f.task, epsilons=(f"{f.epsilon:g}",), repetitions=times, widths=4, seed=1)


def _described(f: Found) -> str:
    return (
        f"AUC {f.task.scores.auc:g}, {f.task.rows:,} rows, prevalence {f.task.prevalence:g}, epsilon {f.epsilon:g}: "
        f"sample {f.sample_coverage:.3f} (width {f.sample_width:.3f}, {f.sample_ratio:.2f} x ideal), "
        f"population {f.population_coverage:.3f} ({f.population_width:.3f}, {f.population_ratio:.2f}) {f.mark}"
    )


def _compact(found: Sequence[Found]) -> None:
    print(f"  lowest coverage, and largest width over ideal where epsilon min(n, m) >= {ENOUGH:g}:")
    head = (
        "rows, prevalence",
        "sample covers",
        "population covers",
        "sample width",
        "population width",
        "of settings",
        "value left out",
        "",
    )
    table(head, [_line(found, *which) for which in sorted({(f.task.rows, f.task.prevalence) for f in found})])


def _line(found: Sequence[Found], rows: int, prevalence: float) -> tuple[str, ...]:
    here = [f for f in found if (f.task.rows, f.task.prevalence) == (rows, prevalence)]
    enough = [f for f in here if f.enough]
    return (
        f"{rows:,}, {prevalence:g}",
        f"{min(f.sample_coverage for f in here):.3f}",
        f"{min(f.population_coverage for f in here):.3f}",
        f"{max(f.sample_ratio for f in enough):.2f}" if enough else "-",
        f"{max(f.population_ratio for f in enough):.2f}" if enough else "-",
        f"{len(enough)} of {len(here)}",
        f"{max(f.left_out for f in here):.2f}",
        " ".join(sorted({mark for f in here for mark in f.mark.split()})),
    )


_COLUMNS = (
    "epsilon",
    "sample_coverage",
    "population_coverage",
    "sample_width",
    "population_width",
    "sample_ratio",
    "population_ratio",
    "left_out",
    "mark",
)


def _written(found: Sequence[Found]) -> Path:
    file = output("coverage.csv")
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("kind", "scores", "auc", "rows", "prevalence", *_COLUMNS))
        for f in found:
            task = f.task
            setting = (task.kind, task.scores.name, task.scores.auc, task.rows, task.prevalence)
            writer.writerow((*setting, *(getattr(f, column) for column in _COLUMNS)))
    return file
