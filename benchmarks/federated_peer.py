"""Private curves over five sites beside Xu & Cormode's fedcurve at equal epsilon, and how wide our intervals are.

The error is the mean area between the exact ROC curve of all rows and the private one, under add-remove-one. Theirs is
the best of their numbers of quantiles, which is chosen by looking at the answer. Ours is measured twice: `sum` has all
of epsilon and no colluders, as theirs has; `defaults` has half of epsilon for the sites' own results, and two of five
sites may collude. Noise comes from a seed; one draw of each setting is compared with what a coordinator makes of real
shares.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.fedcurve import QUANTILES, roc_points
from benchmarks.federated_laws import ADULT, LAWS, compared_settings, drawn, population_auc
from benchmarks.parallel import in_parallel
from benchmarks.timing import table
from confide.counts import FloatArray, ScoreCounts
from confide.curves.roc import Curve, area_between, roc_curve
from confide.federation.coordinator.answers import noise_parts, pooled_counts
from confide.federation.coordinator.performance import pooled_private
from confide.federation.coordinator.planning import noisy_table
from confide.federation.private_noise import noise_of
from confide.federation.question import Question
from confide.metrics.ranking import auc_score
from confide.privacy.mechanisms.noise_shares import shared_counts
from confide.privacy.mechanisms.private_counts import cells_on, private_counts
from confide.privacy.neighbours import Neighbours
from confide.privacy.noisy_counts import NoisyCells
from confide.privacy.queries import SYSTEM_NOISE
from confide.releases.curve_numbers import auc_intervals, table_auc
from confide.releases.curves import curves_of, drawn_counts
from confide.releases.release import Release
from confide.releases.shapes import fitting_shape, shaped

SITES = tuple("abcde")
EPSILONS = ("0.1", "1", "3")

WAYS = {"sum": {"site_share": 0, "colluders": 0}, "defaults": {}}
TARGETS = {"sum": 0.8, "defaults": 1.3}
"""The most that our error may be of theirs."""

WIDEST, LEAST_COVERED = 1.5, 0.94
"""Intervals may be so many times 3.92 root mean squared errors wide, and must cover so often."""

REPETITIONS = 40
LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """So many rows of a law at an epsilon."""

    law: str
    rows: int
    epsilon: str
    repetitions: int

    def question(self, way: str) -> Question:
        return Question.checked(
            study="benchmark",
            model="risk",
            mode="private",
            sites=SITES,
            epsilon=self.epsilon,
            rows=self.rows,
            **WAYS[way],  # type: ignore[arg-type]
        )

    def __str__(self) -> str:
        return f"{self.law}, {self.rows:,} rows, epsilon {self.epsilon}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """How often intervals covered, and their mean width in 3.92 root mean squared errors; NaN where unknown."""

    covered: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Mean areas and intervals in one setting, by way."""

    setting: Setting
    theirs: float
    quantiles: int
    cells: dict[str, int]
    ours: dict[str, float]
    sample: dict[str, Interval]
    population: dict[str, Interval]

    def ratio(self, way: str) -> float:
        return self.ours[way] / self.theirs

    def missed(self, way: str) -> list[str]:
        """Which aims were missed; coverage may fall short by two standard errors of its simulation.

        The width that is judged is that of the interval that a report shows, which is for the population; for census
        rows, whose population is not known, that of the interval for the rows themselves.
        """
        slack = 2.0 * math.sqrt(LEAST_COVERED * (1.0 - LEAST_COVERED) / self.setting.repetitions)
        both = [each for each in (self.population[way], self.sample[way]) if not math.isnan(each.width)]
        return [
            *(["ROC"] if self.ratio(way) > TARGETS[way] else []),
            *(["WIDE"] if both[0].width > WIDEST else []),
            *(["LOW"] if any(each.covered < LEAST_COVERED - slack for each in both) else []),
        ]


def run(*, quick: bool = False) -> None:
    repetitions = 3 if quick else REPETITIONS
    settings = [
        Setting(law=law, rows=rows, epsilon=epsilon, repetitions=repetitions)
        for law, rows, epsilon in compared_settings(EPSILONS, quick=quick)
    ]
    found = in_parallel(compared, settings)
    print(f"area between the exact and the private ROC curve, five sites, mean of {repetitions}; ratio: ours / theirs")
    print("intervals of the pooled AUC: how often they cover, and their width in 3.92 root mean squared errors")
    missed = _print(found)
    print(f"\naims missed in {missed} lines of {2 * len(found)}")


def _print(found: Sequence[Found]) -> int:
    lines, missed = [], 0
    for one in found:
        for way in WAYS:
            misses = one.missed(way)
            missed += bool(misses)
            lines.append(
                (
                    str(one.setting),
                    way,
                    f"{one.cells[way]}",
                    f"{one.theirs:.5f} (Q {one.quantiles})",
                    f"{one.ours[way]:.5f}",
                    f"{one.ratio(way):.2f}",
                    *_shown(one.sample[way]),
                    *_shown(one.population[way]),
                    " ".join(misses),
                )
            )
    head = ("", "epsilon for", "cells", "theirs", "ours", "ratio", "rows: covered", "width")
    table((*head, "population: covered", "width", "missed"), lines)
    return missed


def _shown(interval: Interval) -> tuple[str, str]:
    return ("", "") if math.isnan(interval.width) else (f"{interval.covered:.2f}", f"{interval.width:.2f}")


def compared(setting: Setting) -> Found:
    """Measure both methods on fresh rows, again and again."""
    law = (*LAWS, ADULT).index(setting.law)
    rng = np.random.default_rng([11, law, setting.rows, int(1000 * Fraction(setting.epsilon))])
    theirs: dict[int, list[float]] = {number: [] for number in QUANTILES}
    answers: dict[str, list[Answer]] = {way: [] for way in WAYS}
    asked = {way: Asked(setting.question(way), rng) for way in WAYS}
    for repetition in range(setting.repetitions):
        labels, scores = drawn(setting.law, setting.rows, rng)
        counts = ScoreCounts.from_arrays(labels, scores)
        exact = _points(counts)
        for number in QUANTILES:
            curve = roc_points(scores[labels], scores[~labels], float(Fraction(setting.epsilon)), number, rng)
            theirs[number].append(area_between(exact, curve))
        for way, each in asked.items():
            answers[way].append(each.answer(counts, exact, rng))
            if repetition == 0:
                check_coordinator(each.question, labels, scores)
    areas = {number: float(np.mean(found)) for number, found in theirs.items()}
    best = min(areas, key=areas.__getitem__)
    truth = population_auc(setting.law)
    return Found(
        setting=setting,
        theirs=areas[best],
        quantiles=best,
        cells={way: len(each.question.public_grid) for way, each in asked.items()},
        ours={way: float(np.mean([answer.area for answer in found])) for way, found in answers.items()},
        sample={way: _judged(found, [one.exact for one in found], "sample") for way, found in answers.items()},
        population={
            way: _judged(found, [math.nan if truth is None else truth] * len(found), "population")
            for way, found in answers.items()
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One private answer: the area between its curve and the exact one, its AUC with both intervals, and the exact."""

    area: float
    auc: float
    sample: tuple[float, float]
    population: tuple[float, float]
    exact: float


class Asked:
    """A question, with plausible noise, whose law is the same for all rows."""

    def __init__(self, question: Question, rng: np.random.Generator) -> None:
        self.question = question
        self.parts, _ = noise_parts(question)
        integers = noise_of(question).strategy.measure(np.zeros((2, len(question.public_grid)), dtype=np.int64))
        self.noise = noisy_table(question, integers.astype(np.float64), self.parts).noise(rng)

    def answer(self, counts: ScoreCounts, exact: Curve, rng: np.random.Generator) -> Answer:
        noisy = self.noisy(counts, rng)
        found = shaped(noisy, fitting_shape(noisy, self.noise))
        grid = self.question.public_grid
        curve = _points(drawn_counts(found, grid))
        both = auc_intervals(
            agreed=noisy.agreed(), noise=self.noise, table=found, grid=grid, level=LEVEL, generator=rng
        )
        return Answer(
            area=area_between(exact, curve),
            auc=table_auc(found),
            sample=(both.sample.lower, both.sample.upper),
            population=(both.population.lower, both.population.upper),
            exact=auc_score(counts),
        )

    def noisy(self, counts: ScoreCounts, rng: np.random.Generator) -> NoisyCells:
        integers = (
            noise_of(self.question).strategy.measure(cells_on(counts, self.question.public_grid)).astype(np.float64)
        )
        added = sum(part.weight * part.draw(rng, integers.shape) for part in self.parts)
        return noisy_table(self.question, integers + added, self.parts)


def _judged(found: Sequence[Answer], truths: Sequence[float], which: str) -> Interval:
    ends = np.array([getattr(answer, which) for answer in found])
    target = np.array(truths)
    error = math.sqrt(float(np.mean((np.array([answer.auc for answer in found]) - target) ** 2)))
    if not error > 0.0:
        return Interval(covered=math.nan, width=math.nan)
    return Interval(
        covered=float(np.mean((ends[:, 0] <= target) & (target <= ends[:, 1]))),
        width=float(np.mean(ends[:, 1] - ends[:, 0])) / (3.92 * error),
    )


def check_coordinator(question: Question, labels: NDArray[np.bool_], scores: FloatArray) -> None:
    """Assert that a coordinator makes the same of real shares and the sites' own counts as the simulation would."""
    sites = [ScoreCounts.from_arrays(labels[site::5], scores[site::5], one_class=True) for site in range(5)]
    release = coordinator_release(question, sites)
    derived = pooled_private(curves_of(release, level=LEVEL), level=LEVEL)
    parts, _ = noise_parts(question)
    noisy = noisy_table(question, np.array(release.parts["noisy_integers"], dtype=np.float64), parts)
    guess = shaped(noisy, fitting_shape(noisy, noisy.noise(np.random.default_rng(0))))
    assert math.isclose(derived.auc.value, table_auc(guess), abs_tol=1e-9)


def coordinator_release(question: Question, sites: Sequence[ScoreCounts]) -> Release:
    """What a coordinator is sent by sites that draw real noise, put together as it does."""
    grid, strategy = question.public_grid, noise_of(question).strategy
    cells = [cells_on(site, grid) for site in sites]
    shares = [
        shared_counts(each, question.pooled_epsilon, honest=question.honest, strategy=strategy).draw(SYSTEM_NOISE)
        for each in cells
    ]
    own: dict[str, dict[str, list[int]]] = {}
    if question.own_epsilon:
        for site, each in zip(question.sites, cells, strict=True):
            query = private_counts(each, question.own_epsilon, Neighbours.ADD_REMOVE_ONE, strategy)
            own[site] = {"noisy_integers": list(query.draw(SYSTEM_NOISE))}
    total = base64.b64encode(np.sum(shares, axis=0).astype("<i8").tobytes()).decode("ascii")
    return pooled_counts(question, {"counts": total, "wide": []}, own)


def _points(counts: ScoreCounts) -> Curve:
    curve = roc_curve(counts)
    return curve.false_positive_rate, curve.true_positive_rate
