"""Private ROC and PR curves of one data holder beside Xu & Cormode's fedcurve at equal epsilon, under add-remove-one.

The error of a ROC curve is the area between it and the exact one. That of a PR curve is the mean distance of its
precision over all recalls. Theirs is the best of their numbers of quantiles, chosen by looking at the answer, for each
kind of curve. Ours is what `release_curves` draws by default, with real noise. `even` has as many cells as
`worthwhile_cells` says, placed by arcsine whatever the scores are; this was the default once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.fedcurve import QUANTILES, roc_points_and_sizes
from benchmarks.federated_laws import ADULT, LAWS, compared_settings, drawn
from benchmarks.parallel import in_parallel
from benchmarks.private_curves import drawn_table
from benchmarks.timing import table
from confide.counts import FloatArray, ScoreCounts
from confide.curves.roc import Curve, area_between, roc_curve
from confide.privacy.neighbours import Neighbours
from confide.releases.curves import drawn_counts
from confide.releases.grids import worthwhile_cells

EPSILONS = ("0.1", "0.3", "1", "3")

KINDS = ("ROC", "PR")
TARGET = 0.5
"""The most that the median of our errors may be of theirs; none may be above theirs."""

REPETITIONS = 20
_RECALLS = (np.arange(1_000) + 0.5) / 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """So many rows of a law at an epsilon."""

    law: str
    rows: int
    epsilon: str
    repetitions: int

    def __str__(self) -> str:
        return f"{self.law}, {self.rows:,} rows, epsilon {self.epsilon}"

    def ways(self) -> dict[str, dict[str, Any]]:
        """Options of `release_curves`."""
        return {"ours": {}, "even": {"grid": f"arcsine:{worthwhile_cells(self.rows, Fraction(self.epsilon))}"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Mean errors in one setting: of ROC and PR curves, by method."""

    setting: Setting
    errors: dict[str, tuple[float, float]]

    def ratio(self, way: str, kind: int) -> float:
        return self.errors[way][kind] / self.errors["theirs"][kind]


def run(*, quick: bool = False) -> None:
    repetitions = 2 if quick else REPETITIONS
    settings = [
        Setting(law=law, rows=rows, epsilon=epsilon, repetitions=repetitions)
        for law, rows, epsilon in compared_settings(EPSILONS, quick=quick)
    ]
    found = in_parallel(compared, settings)
    print(f"error of private curves over that of the best of fedcurve's, mean of {repetitions} draws of real noise")
    _print(found)


def compared(setting: Setting) -> Found:
    """Measure all methods on the same rows, again and again."""
    law = (*LAWS, ADULT).index(setting.law)
    rng = np.random.default_rng([13, law, setting.rows, int(1000 * Fraction(setting.epsilon))])
    theirs: dict[int, list[tuple[float, float]]] = {number: [] for number in QUANTILES}
    ours: dict[str, list[tuple[float, float]]] = {way: [] for way in setting.ways()}
    for _ in range(setting.repetitions):
        labels, scores = drawn(setting.law, setting.rows, rng)
        counts = ScoreCounts.from_arrays(labels, scores)
        judge = errors_beside(counts)
        for number in QUANTILES:
            classes, epsilon = (scores[labels], scores[~labels]), float(Fraction(setting.epsilon))
            theirs[number].append(judge(*roc_points_and_sizes(*classes, epsilon, number, rng)))
        for way, options in setting.ways().items():
            grid, guess = drawn_table(counts, setting.epsilon, Neighbours.ADD_REMOVE_ONE, options)
            private = drawn_counts(guess, grid)
            ours[way].append(judge(_points(private), _class_sizes(private)))
    best = np.min([np.mean(errors, axis=0) for errors in theirs.values()], axis=0)
    means = {"theirs": best, **{way: np.mean(errors, axis=0) for way, errors in ours.items()}}
    return Found(setting=setting, errors={way: (float(one[0]), float(one[1])) for way, one in means.items()})


def errors_beside(counts: ScoreCounts) -> Callable[[Curve, tuple[float, float]], tuple[float, float]]:
    """Return a function from a private ROC curve and class sizes to the errors of both curves."""
    exact = _points(counts)
    precision = _precision(exact, _class_sizes(counts))

    def errors(curve: Curve, class_sizes: tuple[float, float]) -> tuple[float, float]:
        apart = np.abs(_precision(curve, class_sizes) - precision)
        return area_between(exact, curve), float(apart.mean())

    return errors


def _precision(curve: Curve, class_sizes: tuple[float, float]) -> FloatArray:
    """Precision at evenly spaced recalls."""
    alarm, recall = curve
    false = np.interp(_RECALLS, recall, alarm) * class_sizes[1]
    precision: FloatArray = _RECALLS * class_sizes[0] / (_RECALLS * class_sizes[0] + false)
    return precision


def _points(counts: ScoreCounts) -> Curve:
    curve = roc_curve(counts)
    return curve.false_positive_rate, curve.true_positive_rate


def _class_sizes(counts: ScoreCounts) -> tuple[float, float]:
    return float(counts.total_positives), float(counts.total_negatives)


def _print(found: Sequence[Found]) -> None:
    ways = tuple(found[0].setting.ways())
    columns = [(way, number) for number in range(len(KINDS)) for way in ways]
    head = ("", *(f"{KINDS[number]}: {way}" for way, number in columns))
    table(head, [(str(one.setting), *(f"{one.ratio(*column):.2f}" for column in columns)) for one in found])
    for way, number in columns:
        ratios = np.array([one.ratio(way, number) for one in found])
        lost, median = int((ratios > 1.0).sum()), float(np.median(ratios))
        mark = "" if way != "ours" or (median <= TARGET and not lost) else " MISS"
        print(
            f"{KINDS[number]}, {way}: median {median:.2f}, {ratios.min():.2f} to {ratios.max():.2f}, lost {lost}{mark}"
        )
