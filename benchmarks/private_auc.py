"""How far private AUC is off, in units of what Laplace noise with the true local sensitivity would cost.

That yardstick, a mean absolute error of `1/(min(n, m) epsilon)`, is not private: the local sensitivity
depends on the data. All noise here is the real one, drawn through the queries that releases use.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.parallel import in_parallel
from benchmarks.simulated import Scores
from benchmarks.timing import table
from confide import ScoreCounts
from confide.metrics.ranking import auc_score
from confide.privacy.mechanisms.auc_sensitivity import auc_smooth_bounds, smooth_auc
from confide.privacy.mechanisms.rank_sum import rank_sum
from confide.privacy.mechanisms.smooth_sensitivity import Calibration, published_cauchy
from confide.privacy.neighbours import Neighbours
from confide.releases.auc import auc_of, local_queries
from confide.releases.smooth_sensitivity import calibrate
from confide.releases.terms import Terms

SETTINGS = ((200, 100), (2_000, 1_000), (10_000, 5_000), (558, 77), (1_000, 100), (10_000, 100))  # rows, positives
EPSILONS = ("0.1", "0.25", "0.5", "1", "2")
AUC = 0.8
OTHERS = (0.6, 0.75, 0.9, 0.95)
EVERYWHERE, FEW_POSITIVES = 2.05, 1.45
WORST, MEDIAN = 1.25, 1.15
"""What noise at the local scale is to reach over all settings."""

_REAL = 4
"""Drawing a real number takes longer: so many times fewer are drawn at the local scale, for each of five AUCs."""

RELATIONS = (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ONE)


@dataclass(frozen=True)
class Task:
    rows: int
    positives: int
    epsilon: Fraction
    draws: int


@dataclass(frozen=True)
class Errors:
    """Mean absolute errors over the yardstick."""

    task: Task
    rank_sum: float
    worst: float
    worst_auc: float
    student_t: float
    guessed: float
    cauchy: float
    local: tuple[tuple[float, ...], ...]
    """Those of noise at the local scale, for each relation and each AUC."""

    @property
    def target(self) -> float:
        return FEW_POSITIVES if self.task.positives <= 0.1 * self.task.rows else EVERYWHERE

    @property
    def missed(self) -> bool:
        """Whether a target is missed by more than chance: two standard errors of what was simulated."""
        return max(self.rank_sum, self.worst) > self.target * (1.0 + 2.0 / math.sqrt(self.task.draws))


def run(*, quick: bool = False) -> None:
    settings, epsilons = (SETTINGS[::2], ("0.1", "1")) if quick else (SETTINGS, EPSILONS)
    draws = 2_000 if quick else 20_000
    tasks = [Task(rows, n, Fraction(epsilon), draws) for rows, n in settings for epsilon in epsilons]
    found = in_parallel(measure, tasks)
    print(f"mean absolute error of AUC {AUC}, pure epsilon, replace-one, over 1/(min(n, m) epsilon); {draws:,} draws;")
    print(f"worst: of AUC {', '.join(map(str, OTHERS))}; a MISS is above the target by more than two standard errors")
    print(f"(of {100 / math.sqrt(draws):.1f} % each)")
    print("local: noise at the scale of the smaller class, under replace-one and add-remove-one (a-r)")
    head = (
        "rows, positives",
        "epsilon",
        "local",
        "worst",
        "local, a-r",
        "worst",
        "rank-sum",
        "worst",
        "(at)",
        "target",
        "",
        "t",
        "t, guess",
        "paper's Cauchy",
    )
    lines = [
        (
            f"{e.task.rows:,}, {e.task.positives:,}",
            f"{float(e.task.epsilon):g}",
            *(f"{error:.2f}" for errors in e.local for error in (errors[0], max(errors))),
            f"{e.rank_sum:.2f}",
            f"{e.worst:.2f}",
            f"{e.worst_auc:g}",
            f"{e.target:.2f}",
            "MISS" if e.missed else "",
            f"{e.student_t:.2f}",
            f"{e.guessed:.2f}",
            f"{e.cauchy:.1f}",
        )
        for e in found
    ]
    table(head, lines)
    missed = sum(e.missed for e in found)
    print(f"targets missed by rank-sum in {missed} of {len(found)} settings")
    for relation, errors in zip(RELATIONS, zip(*(e.local for e in found), strict=True), strict=True):
        every = np.array(errors)
        print(
            f"local, {relation}: worst {every.max():.2f} (at most {WORST} wanted), "
            f"median {np.median(every):.3f} (at most {MEDIAN}) over {every.size} settings"
        )


def measure(task: Task) -> Errors:
    counts = rows_with(AUC, task)
    terms = Terms.checked(epsilon=task.epsilon)
    guessed = Terms.checked(epsilon=task.epsilon, prevalence_guess=task.positives / task.rows)
    worst, worst_auc = max((_rank_sum(rows_with(auc, task), task), auc) for auc in OTHERS)
    return Errors(
        task=task,
        rank_sum=_rank_sum(counts, task),
        worst=worst,
        worst_auc=worst_auc,
        student_t=_smooth(counts, task, calibrate("student-t", terms, auc_smooth_bounds, task.rows)),
        guessed=_smooth(counts, task, calibrate("student-t", guessed, auc_smooth_bounds, task.rows)),
        cauchy=_smooth(counts, task, published_cauchy(task.epsilon)),
        local=tuple(
            tuple(_local(rows_with(auc, task), task, relation) for auc in (AUC, *OTHERS)) for relation in RELATIONS
        ),
    )


def rows_with(auc: float, task: Task) -> ScoreCounts:
    """Binormal scores at the middles of equal steps of probability: data whose AUC is very nearly the one wanted."""
    from scipy.special import ndtri

    def normal(size: int) -> np.ndarray:
        steps: np.ndarray = ndtri((np.arange(size) + 0.5) / size)
        return steps

    scores = np.concatenate((normal(task.positives) + Scores(auc=auc).shift, normal(task.rows - task.positives)))
    return ScoreCounts.from_arrays(np.arange(task.rows) < task.positives, scores)


def _rank_sum(counts: ScoreCounts, task: Task) -> float:
    drawn = np.array(rank_sum(counts, task.epsilon, Neighbours.REPLACE_ONE).draw_many(task.draws))
    return _error(auc_of(drawn[:, 0], drawn[:, 1], task.rows), counts, task)


def _local(counts: ScoreCounts, task: Task, relation: Neighbours) -> float:
    terms = Terms.checked(epsilon=task.epsilon, neighbours=relation)
    query, _ = local_queries(counts, terms, task.rows if terms.rows_are_public else None)
    drawn = query.first.draw_many(task.draws // _REAL)
    return _error(np.array([float(value) for value in drawn]), counts, task)


def _smooth(counts: ScoreCounts, task: Task, calibration: Calibration) -> float:
    drawn = smooth_auc(counts, calibration).draw_many(task.draws)
    return _error(np.clip([float(value) for value in drawn], 0.0, 1.0), counts, task)


def _error(values: np.ndarray, counts: ScoreCounts, task: Task) -> float:
    yardstick = 1.0 / (min(task.positives, task.rows - task.positives) * float(task.epsilon))
    return float(np.abs(values - auc_score(counts)).mean()) / yardstick
