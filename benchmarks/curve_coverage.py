"""Do bands hold whole private curves, and intervals the numbers read off them? Releases as a user gets them.

Data are drawn anew in each repetition from populations whose curves are known, and released by `release_curves` with
noise that NumPy draws. A band must hold every vertex of the exact curve, and the curve at every place of the band: both
are lines between, so it then holds the curve everywhere. Which of three relations and of three laws of scores a
setting has goes round, so that every pair of factors meets.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr, ndtri

from benchmarks.parallel import in_parallel, output, shown
from benchmarks.simulated import numpy_noise
from benchmarks.timing import table
from confide.counts import FloatArray, ScoreCounts
from confide.curves.pr import pr_curve
from confide.curves.roc import roc_curve
from confide.intervals.resample import Band
from confide.metrics.calibration import brier_score, observed_expected_ratio
from confide.metrics.precision_recall import average_precision_score
from confide.metrics.ranking import auc_score
from confide.metrics.threshold import confusion_matrix
from confide.releases.curves import draw_curves
from confide.releases.curves_release import NUMBERS, CurvesRelease
from confide.releases.release import PrivateIntervals

ROWS = (500, 5_000)
PREVALENCES = (0.05, 0.24, 0.5)
AUCS = (0.7, 0.9, 0.98)
EPSILONS = ("0.1", "1", "4")
RELATIONS = ("add-remove-one", "replace-one", "label-only")
LAWS = ("binormal", "exponential", "beta")
GRIDS = ("logit:64", "quantiles:16")

MEASURES = ("roc", "pr", *NUMBERS, "calibration", "recall", "specificity")
SHORT = ("ROC", "PR", "AUC", "AP", "Brier", "O/E", "prev.", "bins", "recall", "spec.")
ALLOWED = 0.01
"""How far below its level coverage may be before it is marked, beyond two standard errors."""

CHOSEN_RECALL = 0.9
_HAIR = 1e-9
_STEPS = 100_000
_RERUN = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Scores of a known law with a given AUC: as calibrated probabilities, or, for beta, as they are.

    Binormal: equal spread. Exponential: both from 0 (Hanley & McNeil). Beta: positives (b, 1), negatives (1, b).
    """

    law: str
    auc: float
    prevalence: float

    @property
    def parameter(self) -> float:
        """The distance of normal means, the ratio of exponential means, or b."""
        if self.law == "binormal":
            return float(math.sqrt(2.0) * ndtri(self.auc))
        if self.law == "exponential":
            return self.auc / (1.0 - self.auc)
        return float(brentq(lambda b: _beta_auc(b) - self.auc, 1.0, 50.0))

    @property
    def line(self) -> tuple[float, float]:
        """Intercept and slope of the log-odds in the latent score."""
        d = self.parameter
        if self.law == "binormal":
            return float(logit(self.prevalence)) - d * d / 2.0, d
        return float(logit(self.prevalence)) - math.log(d), 1.0 - 1.0 / d

    def latent(self, share: FloatArray, *, positive: bool) -> FloatArray:
        """The quantiles of a class."""
        d = self.parameter
        found: FloatArray
        if self.law == "binormal":
            found = ndtri(share) + (d if positive else 0.0)
        elif self.law == "exponential":
            found = -np.log1p(-share) * (d if positive else 1.0)
        else:
            found = share ** (1.0 / d) if positive else 1.0 - (1.0 - share) ** (1.0 / d)
        return found

    def above(self, latent: FloatArray, *, positive: bool) -> FloatArray:
        """The share of a class at or above latent scores."""
        d = self.parameter
        found: FloatArray
        if self.law == "binormal":
            found = ndtr((d if positive else 0.0) - latent)
        elif self.law == "exponential":
            found = np.exp(-np.maximum(latent, 0.0) / (d if positive else 1.0))
        else:
            inside = np.clip(latent, 0.0, 1.0)
            found = 1.0 - inside**d if positive else (1.0 - inside) ** d
        return found

    def score(self, latent: FloatArray) -> FloatArray:
        """The scores that a model shows."""
        if self.law == "beta":
            return latent
        intercept, slope = self.line
        found: FloatArray = expit(intercept + slope * latent)
        return found

    def rates(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """True and false-positive rate at thresholds."""
        latent = np.asarray(scores, dtype=np.float64)
        if self.law != "beta":
            intercept, slope = self.line
            latent = (logit(np.clip(latent, 0.0, 1.0)) - intercept) / slope
        return self.above(latent, positive=True), self.above(latent, positive=False)

    def draw(self, rows: int, rng: np.random.Generator) -> ScoreCounts:
        ours = np.arange(rows) < rng.binomial(rows, self.prevalence)
        share = rng.random(rows)
        latent = np.concatenate((self.latent(share[ours], positive=True), self.latent(share[~ours], positive=False)))
        return ScoreCounts.from_arrays(ours, self.score(latent))

    def curve(self) -> tuple[FloatArray, FloatArray]:
        """Points of the ROC curve, dense where either rate is near 0 or 1."""
        share = np.sin(np.pi / 2.0 * np.linspace(0.0, 1.0, 1_502)[1:-1]) ** 2
        latent = np.concatenate([self.latent(share, positive=positive) for positive in (True, False)])
        latent.sort()
        return self.above(latent[::-1], positive=False), self.above(latent[::-1], positive=True)

    def numbers(self) -> dict[str, float]:
        share = (np.arange(_STEPS) + 0.5) / _STEPS
        ours, theirs = (self.latent(share, positive=positive) for positive in (True, False))
        caught, false = self.prevalence * (1.0 - share), (1.0 - self.prevalence) * self.above(ours, positive=False)
        right, wrong = self.score(ours), self.score(theirs)
        expected = self.prevalence * right.mean() + (1.0 - self.prevalence) * wrong.mean()
        squares = self.prevalence * ((1.0 - right) ** 2).mean() + (1.0 - self.prevalence) * (wrong**2).mean()
        return {
            "auc": self.auc,
            "average_precision": float((caught / (caught + false)).mean()),
            "brier": float(squares),
            "observed_expected": float(self.prevalence / expected),
            "prevalence": self.prevalence,
        }


def _beta_auc(b: float) -> float:
    share = (np.arange(20_000) + 0.5) / 20_000
    return float(1.0 - ((1.0 - share ** (1.0 / b)) ** b).mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    population: Population
    rows: int
    epsilon: str
    relation: str
    repetitions: int
    level: float = 0.95
    grid: str | None = None
    seed: int = 0

    @property
    def low(self) -> float:
        """Coverage below this is marked."""
        return self.level - ALLOWED - 2.0 * math.sqrt(self.level * (1.0 - self.level) / self.repetitions)

    @property
    def name(self) -> str:
        population = self.population
        return (
            f"{self.rows:,}, {population.prevalence:g}, {population.auc:g}, {self.epsilon}, {self.relation}, "
            f"{population.law}{'' if self.grid is None else f', {self.grid}'}"
            f"{'' if self.level == 0.95 else f', level {self.level:g}'}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Coverage and mean width by measure (rows) for the sample and the population (columns)."""

    task: Task
    coverage: FloatArray
    width: FloatArray
    cells: float

    @property
    def lowest(self) -> float:
        """The least coverage, in the units in which it is marked."""
        return float(self.coverage.min()) - self.task.low

    @property
    def marked(self) -> list[str]:
        return [
            f"{name} {kind} {self.coverage[i, j]:.3f}"
            for i, name in enumerate(SHORT)
            for j, kind in enumerate(("sample", "population"))
            if self.coverage[i, j] < self.task.low
        ]


def run(*, quick: bool = False) -> None:
    repetitions, again = (5, 0) if quick else (160, 8)
    main, more = _settings(repetitions)
    if quick:
        main, more = main[4::17], more[:2]
    print("coverage in per cent, sample/population, of whole curves at once and of intervals; bins all at once,")
    print(f"recall and specificity at a threshold chosen afterwards for a recall of {CHOSEN_RECALL:g};")
    print(f"{repetitions} repetitions, standard error {100 * math.sqrt(0.95 * 0.05 / repetitions):.1f} % at level 0.95")
    print(f"! below level - {100 * ALLOWED:.0f} % by more than two standard errors")
    found = in_parallel(measure, [*main, *more])
    _print(found)
    _pooled([f for f in found if f.task.grid is None and f.task.level == 0.95])
    if again:
        worst = sorted(found, key=lambda f: f.lowest)[:again]
        print(f"\nthe {again} lowest again, {_RERUN:,} fresh repetitions:")
        fresh = in_parallel(measure, [replace(f.task, repetitions=_RERUN, seed=1) for f in worst])
        _print(fresh)
        found += fresh
    low = [f for f in found if f.marked]
    print(f"\n{len(low)} of {len(found)} settings are LOW in some measure")
    for f in low:
        print(f"  {f.task.name} ({f.task.repetitions:,}): {', '.join(f.marked)}")
    print(f"all settings: {shown(_written(found))}")


def _settings(repetitions: int) -> tuple[list[Task], list[Task]]:
    main = []
    for i, j, k, e in product(range(2), range(3), range(3), range(3)):
        main.append(
            Task(
                population=Population(law=LAWS[(i + j + 2 * k + e) % 3], auc=AUCS[k], prevalence=PREVALENCES[j]),
                rows=ROWS[i],
                epsilon=EPSILONS[e],
                relation=RELATIONS[(i + j + k + e) % 3],
                repetitions=repetitions,
            )
        )
    some = [
        Task(
            population=Population(law=law, auc=auc, prevalence=prevalence),
            rows=rows,
            epsilon="1",
            relation=relation,
            repetitions=repetitions,
        )
        for law, auc, prevalence, rows, relation in (
            ("binormal", 0.9, 0.24, 500, "add-remove-one"),
            ("beta", 0.7, 0.5, 5_000, "replace-one"),
            ("exponential", 0.98, 0.05, 5_000, "add-remove-one"),
        )
    ]
    more = [replace(task, grid=grid) for grid in GRIDS for task in some] + [replace(task, level=0.9) for task in some]
    return main, more


def measure(task: Task) -> Found:
    """Release again and again, and look what is held."""
    population = task.population
    place = [round(1_000 * population.auc), round(1_000 * population.prevalence), task.rows, round(float(task.epsilon))]
    rng = np.random.default_rng([task.seed, LAWS.index(population.law), *place])
    noise, numbers, curve = numpy_noise(rng), population.numbers(), population.curve()
    covered, widths, cells = [], [], []
    for _ in range(task.repetitions):
        counts = population.draw(task.rows, rng)
        curves = draw_curves(
            counts, epsilon=task.epsilon, neighbours=task.relation, grid=task.grid, level=task.level, noise=noise
        )
        held = list(_held(curves, counts, population, numbers, curve))
        covered.append([pair[0] for pair in held])
        widths.append([pair[1] for pair in held])
        cells.append(len(curves.grid))
    wide = np.array(widths, dtype=np.float64)
    return Found(
        task=task,
        coverage=np.array(covered, dtype=np.float64).mean(axis=0),
        width=np.nanmean(np.where(np.isfinite(wide), wide, np.nan), axis=0),
        cells=float(np.mean(cells)),
    )


Pair = tuple[tuple[bool, bool], tuple[float, float]]
"""Whether the sample's and the population's truths are held, and how wide what holds them is."""


def _held(
    curves: CurvesRelease,
    counts: ScoreCounts,
    population: Population,
    numbers: dict[str, float],
    curve: tuple[FloatArray, FloatArray],
) -> Iterator[Pair]:
    """In the order of the measures."""
    exact = roc_curve(counts)
    yield _bands_hold(curves, "roc", (exact.false_positive_rate, exact.true_positive_rate), curve)
    points = pr_curve(counts)
    alarm, recall = curve
    caught, false = population.prevalence * recall, (1.0 - population.prevalence) * alarm
    some = caught + false > 0.0
    yield _bands_hold(
        curves, "pr", (points.recall, points.precision), (recall[some], (caught / (caught + false))[some]), lines=False
    )
    of: dict[str, Callable[[ScoreCounts], float]] = {
        "auc": auc_score,
        "average_precision": average_precision_score,
        "brier": brier_score,
        "observed_expected": observed_expected_ratio,
        "prevalence": lambda rows: rows.prevalence,
    }
    for name in NUMBERS:
        yield _interval_holds(curves.intervals[name], of[name](counts), numbers[name])
    yield _bins_hold(curves, counts, population)
    point = curves.threshold_for(recall=CHOSEN_RECALL)
    matrix = confusion_matrix(counts, point.threshold)
    right, wrong = population.rates(np.array([point.threshold]))
    yield _interval_holds(point.recall_intervals, float(matrix.recall), float(right[0]))
    yield _interval_holds(point.specificity_intervals, float(matrix.specificity), 1.0 - float(wrong[0]))


def _interval_holds(intervals: PrivateIntervals, sample: float, population: float) -> Pair:
    pairs = (intervals.sample, sample), (intervals.population, population)
    held = tuple(interval.lower - _HAIR <= truth <= interval.upper + _HAIR for interval, truth in pairs)
    return (held[0], held[1]), (intervals.sample.width, intervals.population.width)


def _bands_hold(
    curves: CurvesRelease,
    name: str,
    sample: tuple[FloatArray, FloatArray],
    population: tuple[FloatArray, FloatArray],
    *,
    lines: bool = True,
) -> Pair:
    bands = curves.bands[name]
    return (
        (holds(bands.sample, *sample, lines=lines), holds(bands.population, *population, lines=lines)),
        (_mean_width(bands.sample), _mean_width(bands.population)),
    )


def holds(band: Band, x: FloatArray, y: FloatArray, *, lines: bool) -> bool:
    """Whether all vertices of a curve are in a band, and with `lines` what is between them as well.

    Two functions that are linear between their own places differ most at a place of one of them.
    """
    inside = _inside(band, x, y)
    if not (lines and inside):
        return inside
    between = ~np.isin(band.x, x)  # at a vertex, which may be an upright step, both of its ends were looked at
    return _inside(band, band.x[between], np.interp(band.x[between], x, y))


def _inside(band: Band, x: FloatArray, y: FloatArray) -> bool:
    lower, upper = np.interp(x, band.x, band.lower), np.interp(x, band.x, band.upper)
    return bool(((y >= lower - _HAIR) & (y <= upper + _HAIR)).all())


def _mean_width(band: Band) -> float:
    return float(np.trapezoid(band.upper - band.lower, band.x))


def _bins_hold(curves: CurvesRelease, counts: ScoreCounts, population: Population) -> Pair:
    """The share of positives in all bins at once; a bin without rows has no share that could be missed."""
    edges = curves.calibration_edges
    recall, alarm = population.rates(edges)
    recall[0] = alarm[0] = 1.0  # scores outside count to the outermost bins
    recall[-1] = alarm[-1] = 0.0
    ours, theirs = -population.prevalence * np.diff(recall), -(1.0 - population.prevalence) * np.diff(alarm)
    which = np.clip(np.searchsorted(edges, counts.scores, side="right") - 1, 0, edges.size - 2)
    positives = np.bincount(which, counts.positives, edges.size - 1)
    rows = np.bincount(which, counts.positives + counts.negatives, edges.size - 1)
    held, widths = [], []
    for (top, bottom), (low, high) in zip(
        ((positives, rows), (ours, ours + theirs)), curves.calibration_ends, strict=True
    ):
        some = bottom > 0.0
        share = top[some] / bottom[some]
        held.append(bool(((share >= low[some] - _HAIR) & (share <= high[some] + _HAIR)).all()))
        widths.append(float((high - low).mean()))
    return (held[0], held[1]), (widths[0], widths[1])


def _print(found: Sequence[Found]) -> None:
    head = ("rows, prevalence, AUC, epsilon, relation, scores", "cells", *SHORT)
    table(head, [(f.task.name, f"{f.cells:.0f}", *_coverages(f)) for f in found])


def _coverages(f: Found) -> list[str]:
    def shown_share(share: float) -> str:
        return f"{100.0 * share:.1f}{'!' if share < f.task.low else ''}"

    return ["/".join(shown_share(share) for share in pair) for pair in f.coverage]


def _pooled(found: Sequence[Found]) -> None:
    """Over all settings, default grid and level 0.95: coverage by measure and factor, and widths."""
    print("\npooled coverage in per cent, default grid, level 0.95:")
    factors: dict[str, Callable[[Task], object]] = {
        "rows": lambda task: task.rows,
        "prevalence": lambda task: task.population.prevalence,
        "AUC": lambda task: task.population.auc,
        "epsilon": lambda task: task.epsilon,
        "relation": lambda task: task.relation,
        "scores": lambda task: task.population.law,
    }
    groups: list[tuple[str, list[Found]]] = [("all", list(found))]
    for name, factor in factors.items():
        for value in dict.fromkeys(factor(f.task) for f in found):
            groups.append((f"{name} {value}", [f for f in found if factor(f.task) == value]))
    lines = []
    for name, group in groups:
        means = np.mean([f.coverage for f in group], axis=0)
        lines.append((name, *(f"{100.0 * a:.1f}/{100.0 * b:.1f}" for a, b in means)))
    table(("of", *SHORT), lines)
    print("\nmean width, sample/population (intervals of O/E without an upper end left out):")
    widths = []
    for rows, epsilon in dict.fromkeys((f.task.rows, f.task.epsilon) for f in found):
        means = np.mean([f.width for f in found if (f.task.rows, f.task.epsilon) == (rows, epsilon)], axis=0)
        widths.append((f"{rows:,} rows, epsilon {epsilon}", *(f"{a:.3f}/{b:.3f}" for a, b in means)))
    table(("of", *SHORT), widths)


def _written(found: Sequence[Found]) -> Path:
    file = output("curve-coverage.csv")
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(
            ("scores", "auc", "rows", "prevalence", "epsilon", "relation", "grid", "level", "repetitions", "cells",
             "measure", "of", "coverage", "width")
        )  # fmt: skip
        for f in found:
            task, population = f.task, f.task.population
            setting = (
                population.law, population.auc, task.rows, population.prevalence, task.epsilon, task.relation,
                task.grid or "auto", task.level, task.repetitions, round(f.cells, 1),
            )  # fmt: skip
            for i, name in enumerate(MEASURES):
                for j, kind in enumerate(("sample", "population")):
                    writer.writerow((*setting, name, kind, f.coverage[i, j], f.width[i, j]))
    return file
