"""Coverage of real releases: everything as a user gets it, but for noise that NumPy draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.interval_simulation import LEVEL, is_low, standard_error
from benchmarks.parallel import in_parallel
from benchmarks.simulated import Scores, brier_of, draw_counts, halfway, numpy_noise
from benchmarks.timing import table
from confide.counts import ScoreCounts
from confide.metrics.calibration import brier_score
from confide.metrics.threshold import confusion_matrix
from confide.privacy.mechanisms.average_precision_sensitivity import pessimistic_average_precision
from confide.privacy.queries import Noise
from confide.releases.average_precision import prepare_average_precision
from confide.releases.brier import prepare_brier
from confide.releases.confusion import prepare_confusion, prepare_prevalence
from confide.releases.release import PreparedRelease

SCORES = Scores(auc=0.8)
SETTINGS = ((200, 0.5, "1"), (1_000, 0.1, "0.5"), (1_000, 0.1, "2"), (5_000, 0.1, "0.5"))  # rows, prevalence, epsilon

MORE = {"prevalence": 5, "brier": 2}
"""How many times as many repetitions the quick ones have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Releases of data that are drawn anew each time; thresholds are equal to the prevalence."""

    metric: str
    rows: int
    prevalence: float
    epsilon: str
    repetitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Coverage and width of both intervals; how often the sample's leaves out the released value itself."""

    task: Task
    measure: str
    sample_coverage: float
    population_coverage: float
    sample_width: float
    population_width: float
    left_out: float


def released(repetitions: int, *, quick: bool) -> None:
    """Print the coverage of five metrics' intervals in a few settings."""
    tasks = [
        Task(
            metric=metric,
            rows=rows,
            prevalence=prevalence,
            epsilon=epsilon,
            repetitions=repetitions * MORE.get(metric, 1),
        )
        for metric in ("confusion", "average precision", "brier", "prevalence")
        for rows, prevalence, epsilon in (SETTINGS[1:2] if quick else SETTINGS)
    ]
    head = (
        "metric",
        "rows",
        "prevalence",
        "epsilon",
        "sample covers",
        "population covers",
        "sample width",
        "population width",
        "value left out",
        "standard error",
        "",
    )
    table(head, [_shown(line) for part in in_parallel(measure, tasks) for line in part])


def _shown(line: Line) -> tuple[str, ...]:
    lowest = min(line.sample_coverage, line.population_coverage)
    return (
        line.measure,
        f"{line.task.rows:,}",
        f"{line.task.prevalence:g}",
        line.task.epsilon,
        f"{line.sample_coverage:.3f}",
        f"{line.population_coverage:.3f}",
        f"{line.sample_width:.3f}",
        f"{line.population_width:.3f}",
        f"{line.left_out:.3f}",
        f"{100 * standard_error(line.task.repetitions):.1f} %",
        "LOW" if is_low(lowest, line.task.repetitions) else "",
    )


def measure(task: Task) -> list[Line]:
    rng = np.random.default_rng([task.rows, round(1_000 * task.prevalence)])
    noise = numpy_noise(rng)
    truths = _population(task)
    seen: dict[str, list[tuple[float, ...]]] = {name: [] for name in truths}
    for _ in range(task.repetitions):
        counts = draw_counts(SCORES, task.rows, task.prevalence, rng)
        exact = _exact(task, counts)
        prepared = _prepared(task, counts, noise)
        for name, release in zip(truths, prepared.chosen(prepared.draw()), strict=True):
            sample, population = release.intervals.sample, release.intervals.population
            known = math.isnan(release.value) or release.value in sample
            covered = exact[name] in sample, truths[name] in population
            seen[name].append((*covered, sample.width, population.width, not known))
    found = []
    for name, rows in seen.items():
        means = np.array(rows, dtype=np.float64).mean(axis=0).tolist()
        found.append(
            Line(
                task=task,
                measure=name,
                sample_coverage=means[0],
                population_coverage=means[1],
                sample_width=means[2],
                population_width=means[3],
                left_out=means[4],
            )
        )
    return found


def _prepared(task: Task, counts: ScoreCounts, noise: Noise) -> PreparedRelease:
    if task.metric == "confusion":
        return prepare_confusion(
            counts,
            threshold=task.prevalence,
            measures=("recall", "precision"),
            epsilon=task.epsilon,
            level=LEVEL,
            noise=noise,
        )
    if task.metric == "average precision":
        return prepare_average_precision(
            counts, mechanism="private-counts", epsilon=task.epsilon, level=LEVEL, noise=noise
        )
    prepare = prepare_brier if task.metric == "brier" else prepare_prevalence
    return prepare(counts, epsilon=task.epsilon, level=LEVEL, noise=noise)


def _exact(task: Task, counts: ScoreCounts) -> dict[str, float]:
    """What the rows' exact evaluation gives."""
    if task.metric == "confusion":
        matrix = confusion_matrix(counts, task.prevalence)
        return {"recall": float(matrix.recall), "precision": float(matrix.precision)}
    of: dict[str, Callable[[ScoreCounts], float]] = {
        "average precision": pessimistic_average_precision,
        "brier": brier_score,
        "prevalence": lambda rows: rows.prevalence,
    }
    return {task.metric: of[task.metric](counts)}


def _population(task: Task) -> dict[str, float]:
    """What the distribution that rows are drawn from has."""
    if task.metric == "confusion":
        recall, precision = halfway(SCORES, task.prevalence)
        return {"recall": recall, "precision": precision}
    of: dict[str, Callable[[float], float]] = {
        "average precision": SCORES.average_precision,
        "brier": lambda prevalence: brier_of(SCORES, prevalence),
        "prevalence": lambda prevalence: prevalence,
    }
    return {task.metric: of[task.metric](task.prevalence)}
