"""How far private average precision is off: the paper's Cauchy noise beside ours, real noise through real queries.

The yardstick of the last columns is Laplace noise with the true local sensitivity, a mean absolute error of
`LS / epsilon`. It is not private, as the local sensitivity depends on the data.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.parallel import in_parallel
from benchmarks.simulated import Scores, draw_counts
from benchmarks.timing import table
from confide import ScoreCounts
from confide.counts import FloatArray
from confide.privacy.mechanisms.average_precision_sensitivity import (
    local_sensitivity,
    pessimistic_average_precision,
    smooth_average_precision,
)
from confide.privacy.mechanisms.local_average_precision import local_average_precision
from confide.privacy.mechanisms.private_counts import cells_on, private_counts
from confide.privacy.mechanisms.smooth_sensitivity import Calibration, published_cauchy
from confide.privacy.neighbours import Neighbours
from confide.releases.average_precision import (
    DEFAULT_GRID,
    average_precision_bounds,
    middle_average_precision,
    precision_terms,
)
from confide.releases.counting import noisy_cells
from confide.releases.smooth_sensitivity import calibrate
from confide.releases.terms import Terms

SETTINGS = ((1_000, 1_000), (100, 900), (100, 100), (1_000, 9_000))  # positives, negatives
EPSILONS = ("0.25", "1", "2")
AUC = 0.8
TARGETS = {(1_000, 1_000, "1"): 8.0, (100, 900, "1"): 4.0}
"""How many times below the paper's error the better of ours must be."""
ENOUGH, WORST = 20.0, 1.2
"""From so many positives times epsilon on, the error at the local scale is at most so many times the yardstick."""


@dataclass(frozen=True)
class Task:
    positives: int
    negatives: int
    epsilon: str
    draws: int
    tables: int


@dataclass(frozen=True)
class Errors:
    task: Task
    value: float
    paper: float
    student_t: float
    guessed: float
    local: float
    local_guessed: float
    local_added: float
    counts: float
    yardstick: float
    yardstick_added: float

    @property
    def ratios(self) -> tuple[float, ...]:
        """Errors over what Laplace noise with the true local sensitivity would cost; the last for add-remove-one."""
        replaced = (self.student_t, self.guessed, self.local, self.local_guessed)
        return (*(error / self.yardstick for error in replaced), self.local_added / self.yardstick_added)

    @property
    def enough(self) -> bool:
        """Whether there are positives enough for a target that is a ratio."""
        return self.task.positives * float(self.task.epsilon) >= ENOUGH

    @property
    def target(self) -> float | None:
        return TARGETS.get((self.task.positives, self.task.negatives, self.task.epsilon))

    @property
    def best_ratio(self) -> float:
        return self.paper / min(self.local, self.counts)


def run(*, quick: bool = False) -> None:
    settings, epsilons = (SETTINGS[:2], ("1",)) if quick else (SETTINGS, EPSILONS)
    draws, tables = (2_000, 500) if quick else (20_000, 2_000)
    tasks = [Task(n, m, epsilon, draws, tables) for n, m in settings for epsilon in epsilons]
    found = in_parallel(measure, tasks)
    print(f"mean absolute error of average precision, binormal scores with AUC {AUC}, shown as probabilities;")
    print(
        f"{draws:,} draws of Cauchy, Student-t and Pareto noise, {tables:,} of counts; in brackets the paper's error "
        "over ours"
    )
    table(
        (
            "positives, negatives",
            "epsilon",
            "AP",
            "paper's Cauchy",
            "student-t",
            "t, guess",
            "local",
            "private-counts",
            "target",
            "",
        ),
        [_line(e) for e in found],
    )
    print("mean absolute error over LS/epsilon, LS the true local sensitivity of the relation")
    table(
        ("positives, negatives", "epsilon", "student-t", "t, guess", "local", "local, guess", "local, add-remove", ""),
        [
            (
                f"{e.task.positives:,}, {e.task.negatives:,}",
                e.task.epsilon,
                *(f"{ratio:.2f}" for ratio in e.ratios),
                "MISS" if e.enough and max(e.ratios[2:]) > WORST * (1.0 + 2.0 / math.sqrt(draws)) else "",
            )
            for e in found
        ],
    )
    worst, median = (
        [f"{by([e.ratios[k] for e in found if e.enough]):.2f}" for k in range(5)] for by in (max, statistics.median)
    )
    print(f"n epsilon >= {ENOUGH:g}, same columns: worst {', '.join(worst)}; median {', '.join(median)}")


def _line(e: Errors) -> tuple[str, ...]:
    def beside(error: float) -> str:
        return f"{error:.4f} ({e.paper / error:4.1f}x)"

    return (
        f"{e.task.positives:,}, {e.task.negatives:,}",
        e.task.epsilon,
        f"{e.value:.3f}",
        f"{e.paper:.4f}",
        beside(e.student_t),
        beside(e.guessed),
        beside(e.local),
        beside(e.counts),
        "" if e.target is None else f"{e.target:.0f}x",
        "MISS" if e.target is not None and e.best_ratio < e.target else "",
    )


def measure(task: Task) -> Errors:
    rows = task.positives + task.negatives
    rng = np.random.default_rng(rows)
    counts = draw_counts(Scores(auc=AUC), rows, task.positives / rows, rng, positives=task.positives)
    epsilon = Fraction(task.epsilon)
    terms = Terms.checked(epsilon=epsilon)
    guessed = Terms.checked(epsilon=epsilon, prevalence_guess=task.positives / rows)
    added = Terms.checked(epsilon=epsilon, neighbours=Neighbours.ADD_REMOVE_ONE)
    ours = average_precision_bounds(terms, rows, published=False)
    return Errors(
        task=task,
        value=pessimistic_average_precision(counts),
        paper=_smooth(counts, published_cauchy(epsilon), task, published=True),
        student_t=_smooth(counts, calibrate("student-t", terms, ours, rows), task),
        guessed=_smooth(counts, calibrate("student-t", guessed, ours, rows), task),
        local=_local(counts, terms, rows, task),
        local_guessed=_local(counts, guessed, rows, task),
        local_added=_local(counts, added, None, task),
        counts=_from_counts(counts, epsilon, task),
        yardstick=_yardstick(task, Neighbours.REPLACE_ONE),
        yardstick_added=_yardstick(task, Neighbours.ADD_REMOVE_ONE),
    )


def _yardstick(task: Task, neighbours: Neighbours) -> float:
    local = local_sensitivity(task.positives + task.negatives, neighbours)
    return float(local.floats(np.array([float(task.positives)]))[0]) / float(Fraction(task.epsilon))


def _local(counts: ScoreCounts, terms: Terms, rows: int | None, task: Task) -> float:
    query = local_average_precision(counts, precision_terms(terms, rows))
    return _error(np.array([float(value) for value in query.draw_many(task.draws)]), counts)


def _smooth(counts: ScoreCounts, calibration: Calibration, task: Task, *, published: bool = False) -> float:
    query = smooth_average_precision(counts, calibration, Neighbours.REPLACE_ONE, published=published)
    return _error(np.clip([float(value) for value in query.draw_many(task.draws)], 0.0, 1.0), counts)


def _from_counts(counts: ScoreCounts, epsilon: Fraction, task: Task) -> float:
    cells = cells_on(counts, DEFAULT_GRID)
    query = private_counts(cells, epsilon, Neighbours.REPLACE_ONE)
    rows = task.positives + task.negatives
    drawn = query.draw_many(task.tables)
    noisy = [noisy_cells(one, query, cells, Neighbours.REPLACE_ONE, rows).adjusted() for one in drawn]
    return _error(middle_average_precision(np.stack(noisy)), counts)


def _error(values: FloatArray, counts: ScoreCounts) -> float:
    return float(np.abs(values - pessimistic_average_precision(counts)).mean())
